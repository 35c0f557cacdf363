"""The last node of a cluster is lost while a load runs, and rebuilt (`lost_after` of a workload).

`lost_after` after the window's begin, the node is killed, its disk is emptied, and it is started
again. The load goes on with the other nodes until the window ends, which is the deadline of the
rebuild. The times are kept among the raw files, and `analysis/figures/rebuilt.py` makes figures of
them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from orchestrator.analysis.figures import rebuilt
from orchestrator.errors import RunError, TierbenchError, UsageError, VoidError
from orchestrator.kernel import block_devices
from orchestrator.model import Cluster, Node, Profile, Workload
from orchestrator.parts import ClientLoad, Parts
from orchestrator.powers import World
from orchestrator.run.record.run_context import RunContext
from orchestrator.run.window.window_followers import Follower, followed
from orchestrator.system import files


def check(workload: Workload, profile: Profile, parts: Parts, world: World) -> None:
    """UsageError if no node of this cluster can be lost and rebuilt under this load."""
    obstacle = next(_obstacles(workload, profile, parts, world), None)
    if obstacle is not None:
        raise UsageError(
            f"{workload.name}: no node can be lost and rebuilt (`lost_after`): {obstacle}",
            advice="see docs/WORKLOADS.md, or leave `lost_after` out",
        )


def _obstacles(
    workload: Workload, profile: Profile, parts: Parts, world: World
) -> Iterator[str]:
    """The reasons why no node can be lost and rebuilt."""
    spec = profile.cluster
    database = parts.databases[spec.member]
    if database.abilities.rebuilt_nodes is None:
        yield f"`database: {database.name}` cannot rebuild a node"
    if spec.nodes < 3:
        yield "with fewer than 3 nodes, those that are left could not commit"
    if not world.is_here:
        yield "only nodes in containers of this computer can be rebuilt"
    if spec.network_bytes_per_s is not None:
        yield "`network` shapes links, which end with a node"
    generator = parts.load_generators[workload.generator]
    if generator.abilities.split_load is None:
        yield "its load keeps no record of each transaction"
    if workload.confirm_s > 0:
        yield "`--confirm` changes limits meanwhile"
    after_s = workload.lost_after_s or 0.0
    if not 0 < after_s < workload.measure_s:
        yield "`lost_after` must be shorter than `measure`, and above zero"


@contextmanager
def losing(here: RunContext, load: ClientLoad) -> Iterator[ClientLoad]:
    """Loses and rebuilds the last node while the load runs in the block, if the workload says so.

    Yields the load to carry: on the nodes that stay. VoidError at the end of the block if the
    lost node was not back by the window's end.
    """
    after_s = here.workload.lost_after_s
    if after_s is None:
        yield load
        return
    cluster = load.cluster
    staying = replace(cluster, nodes=cluster.nodes[:-1])
    follower = Follower(load.world.clock)
    failures: list[Exception] = []

    def lose_and_rebuild(begin_s: float) -> None:
        try:
            if follower.wait_until(begin_s + after_s):
                _rebuild(here, cluster, begin_s + here.workload.measure_s)
        except Exception as error:
            # It is on a thread, so it is raised below, when the load has ended.
            failures.append(error)

    with followed(lose_and_rebuild, "rebuild", follower, load.world) as telling:
        yield replace(load, cluster=staying, world=telling)
    # It is written last, so it is there only if the node was back.
    if not (here.raw / rebuilt.FILE).is_file():
        why: Exception = RunError("its rebuild was not over")
        if failures:
            why = failures[0]
        raise _not_rebuilt(cluster.nodes[-1].name, why) from why


def _not_rebuilt(node: str, why: Exception) -> VoidError:
    evidence = ""
    if isinstance(why, TierbenchError):
        evidence = why.evidence
    return VoidError(
        f"{node} was lost, and was not back when the window ended: {why}",
        advice=(
            "look at the end of the node's log among the raw files of the run: it says "
            "what the node waited for. The report shows its disk. If the rebuild was only "
            "slow, give it a longer `measure`"
        ),
        evidence=evidence,
    )


def _rebuild(here: RunContext, cluster: Cluster, deadline_s: float) -> None:
    """Kills the last node, starts it on its emptied disk, and waits until it is rebuilt."""
    node = cluster.nodes[-1]
    world = here.world
    rebuilt_nodes = here.database.abilities.rebuilt_nodes
    assert rebuilt_nodes is not None, "it was checked"
    world.progress.note(f"{node.name} is lost, and rebuilt on its emptied disk")
    lost_s = world.clock.now()
    # Counters are of the device and go on while its container is another.
    before_bytes = _written_bytes(cluster.nodes, world)
    new = rebuilt_nodes.start_anew(node, cluster, world)
    _sample_new_container(here, len(cluster.nodes) - 1, new)
    rebuilt_nodes.await_rebuilt(cluster, world, deadline_s - world.clock.now())
    back_s = world.clock.now()
    written_bytes = _written_bytes(cluster.nodes, world) - before_bytes
    times = {"lost_s": lost_s, "back_s": back_s, "written_bytes": written_bytes}
    files.write_json(here.raw / rebuilt.FILE, times)


def _sample_new_container(here: RunContext, place: int, node: Node) -> None:
    """Has the sampler read the node's new container: it reads the nodes in `draft`."""
    sampled = here.draft.nodes
    sampled[place] = replace(node, machine=sampled[place].machine)


def _written_bytes(nodes: Sequence[Node], world: World) -> float:
    """How many bytes were written so far to the disks of the last node.

    0 if its disks are not known, or if other nodes use them too.
    """
    *others, last = nodes
    devices = _devices(last)
    if not devices:
        return 0.0
    for other in others:
        # Then nobody can tell what of it the rebuilt node wrote.
        if devices & _devices(other):
            return 0.0
    counters = block_devices.counters_by_device(world.machine)
    return sum(counters[device]["disk_written_bytes_total"] for device in devices)


def _devices(node: Node) -> set[str]:
    return {device for device in (node.device, node.wal_device) if device is not None}
