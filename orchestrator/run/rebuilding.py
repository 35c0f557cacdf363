"""The last node of a cluster is lost while a load runs, and rebuilt (`lost_after` of a workload).

So long after the window's begin it is killed, its disk is emptied, and it is started again; the
load goes on, on the other nodes, to the window's end, which is the deadline. The times are kept
among the raw files, from which figures are made (`analysis/figures/rebuilt.py`)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from orchestrator.analysis.figures import rebuilt
from orchestrator.databases.common.container_nodes import Rebuilds
from orchestrator.errors import RunError, TierbenchError, UsageError, VoidError
from orchestrator.kernel import block_devices
from orchestrator.keys.messages import failure
from orchestrator.model import Cluster, Node, Profile, Workload
from orchestrator.parts import Parts, Splits
from orchestrator.platforms.common.machines import is_here
from orchestrator.powers import World
from orchestrator.run.recording import RunContext
from orchestrator.run.window import Follower, followed
from orchestrator.system import files


def check(workload: Workload, profile: Profile, parts: Parts, world: World) -> None:
    """UsageError if no node of this cluster can be lost and rebuilt under this load."""
    spec, after_s = profile.cluster, workload.lost_after_s or 0.0
    database, generator = (
        parts.databases[spec.member],
        parts.load_generators[workload.generator],
    )
    problems = {
        f"`database: {database.name}` cannot rebuild one": not isinstance(
            database, Rebuilds
        ),
        "of fewer than 3 nodes those left could not commit": spec.nodes < 3,
        "that needs nodes in containers of this computer": not is_here(world),
        "`network` shapes links, which end with a node": spec.network_bytes_per_s
        is not None,
        "its load keeps no record of each transaction": not isinstance(
            generator, Splits
        ),
        "`--confirm` changes limits meanwhile": workload.confirm_s > 0,
        "it is to come within `measure`": not 0 < after_s < workload.measure_s,
    }
    for why in (why for why, holds in problems.items() if holds):
        raise failure(UsageError, "no node lost", workload=workload.name, why=why)


@contextmanager
def losing(
    here: RunContext, cluster: Cluster, world: World
) -> Iterator[tuple[Cluster, World]]:
    """Yields what to give to the load generator: the nodes that stay, and the world. VoidError at
    the end of the block if the node that was lost was not back by the window's end."""
    load = here.workload
    if (after_s := load.lost_after_s) is None:
        yield cluster, world
        return
    follower, errors = Follower(world.clock), list[Exception]()

    def follow(begin_s: float) -> None:
        try:
            if follower.wait_until(begin_s + after_s):
                _rebuild(here, cluster, begin_s + load.measure_s)
        except Exception as error:  # raised when the load has ended
            errors.append(error)

    with followed(follow, "rebuild", follower, world) as telling:
        yield replace(cluster, nodes=cluster.nodes[:-1]), telling
    if not (here.raw / rebuilt.FILE).is_file():
        why = errors[0] if errors else RunError("its rebuild was not over")
        evidence = why.evidence if isinstance(why, TierbenchError) else ""
        node = cluster.nodes[-1].name
        raise failure(
            VoidError, "not rebuilt", evidence=evidence, node=node, why=why
        ) from why


def _rebuild(here: RunContext, cluster: Cluster, deadline_s: float) -> None:
    node, world, database = cluster.nodes[-1], here.world, here.database
    assert isinstance(database, Rebuilds), "it was checked"
    world.progress.note(f"{node.name} is lost, and rebuilt on its emptied disk")
    lost_s, before_bytes = world.clock.now(), _written_bytes(cluster.nodes, world)
    new = database.start_anew(node, cluster, world)
    sampled, last = here.draft.nodes, len(cluster.nodes) - 1  # which the sampler reads
    sampled[last] = replace(new, machine=sampled[last].machine)
    database.await_rebuilt(cluster, world, deadline_s - world.clock.now())
    times = {"lost_s": lost_s, "back_s": world.clock.now()}
    times["written_bytes"] = _written_bytes(cluster.nodes, world) - before_bytes
    files.write_json(here.raw / rebuilt.FILE, times)


def _written_bytes(nodes: Sequence[Node], world: World) -> float:
    """To the disks of the last node so far; 0 if not known, or if others use them too."""
    *others, own = ({node.device, node.wal_device} - {None} for node in nodes)
    if not own or own & set().union(*others):
        return 0.0
    counters = block_devices.counters_by_device(world.machine)
    return sum(counters[str(device)]["disk_written_bytes_total"] for device in own)
