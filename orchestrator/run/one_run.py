"""One run of a campaign: each thing is taken down in reverse order whatever happens.

The data set loaded (once, then copied), the tier's disks, which passed their gate, the database
cluster, the clients, warm-up, and the measured window, sampled all the while.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from orchestrator.analysis.doubts import noted
from orchestrator.errors import NodeError
from orchestrator.model import Cluster, Node
from orchestrator.parts import Disks, NodesData
from orchestrator.planning import paces
from orchestrator.powers import NETWORK_OF
from orchestrator.run.clients import several_clients
from orchestrator.run.data import datasets
from orchestrator.run.data.kept_data import disk_sizes
from orchestrator.run.disks import ended_disks
from orchestrator.run.disks.gate_refusals import require_passed
from orchestrator.run.measuring import lift_limits, measure
from orchestrator.run.progress.live_events import NodesWatched
from orchestrator.run.record import recording
from orchestrator.run.record.run_context import RunContext
from orchestrator.run.record.telemetry import machines_of, sampling, watched
from orchestrator.system import files


def carry_out(here: RunContext) -> None:
    """Does one run, from its data set to its record."""
    profile = here.profile
    world = here.world
    draft = here.draft
    here.begin_phase("load")
    with here.spending("data set"):
        snapshots = datasets.ensure(
            profile, here.workload, here.plan.repeats.seed, here.parts, world
        )
    here.begin_phase("prepare")
    with here.spending(paces.GATES):
        draft.gate = here.gates.of(profile.tier)
        # The gate comes before anything starts. Figures of another disk say nothing of the tier.
        require_passed(draft.gate)
    with (
        _started(here, snapshots) as started,
        ended_disks.ends_told(started.disks.servers, world),
        _clients(here, started.cluster) as clients,
        # Entered last and left first, so that nothing is sampled that is gone.
        _sampled(here, started.disks, started.cluster, clients),
    ):
        try:
            # Each run loads by itself if there is no copy to start from.
            if not started.is_loaded:
                _load(here, started.cluster, clients[0])
            here.begin_phase("prepare")
            _warm(here, started.cluster)
            here.database.begin_measuring(started.cluster, world)
            measure(here, started.disks, started.cluster, clients)
            recording.done(here)
        finally:
            # The phase also begins after a failure. The phase that failed would seem to go on
            # otherwise.
            here.begin_phase("teardown")


class _StartedRun(NamedTuple):
    """The disks, the cluster on them, and whether it has its data."""

    disks: Disks
    cluster: Cluster
    is_loaded: bool


@contextmanager
def _started(
    here: RunContext, snapshots: Sequence[Path] | None
) -> Iterator[_StartedRun]:
    """Nodes that do not start from a copy, as of some releases, start on empty disks instead,
    and so do those of later runs."""
    data_set: Path | None = None
    if snapshots:
        data_set = snapshots[0].parent
    if data_set in here.forgone:
        # It failed in an earlier run; trying again would cost each run the time of a
        # failed start.
        snapshots = None
    with ExitStack() as taken_down:
        try:
            started = _start(here, snapshots, taken_down)
        except NodeError as error:
            # Any other error would come on empty disks too.
            if data_set is None or data_set in here.forgone:
                raise
            # Frees disks and network, which the second start needs.
            taken_down.close()
            here.world.progress.warn(
                f"nodes do not start from the copied data: {error.what}"
            )
            files.keep(here.raw / "start-from-copy.txt", error.evidence)
            here.forgone[data_set] = error.what
            started = _start(here, None, taken_down)
        if data_set in here.forgone:
            why = here.forgone[data_set]
            here.draft.doubts.append(noted.not_restored(here.run.number, why))
        yield started


def _start(
    here: RunContext, copies: Sequence[Path] | None, taken_down: ExitStack
) -> _StartedRun:
    """Attaches the disks, from `copies` if there are any, and starts the cluster on them.

    `taken_down`: gets what is started, and ends it.
    """
    tier = here.profile.tier
    restoring: AbstractContextManager[None] = nullcontext()
    if copies:
        restoring = here.spending(paces.RESTORE)
    with restoring:
        here.world.progress.step(f"attaching {tier.title}")
        data = NodesData(disk_sizes(here.profile.cluster), copies or ())
        attached = here.mechanism.attached(tier, data, here.world)
        disks = taken_down.enter_context(attached)
    # Logs are kept before the database starts. If its disk fails then, the server's log says why.
    taken_down.enter_context(recording.logs_kept(disks.servers, here))
    # A start that failed is told here: `_started` would blame the copied data for it.
    with ended_disks.ends_told(disks.servers, here.world):
        # Starting is not measured, and takes longer on a slow disk.
        lift_limits(here, disks)
        cluster = taken_down.enter_context(_cluster(here, disks, copies))
    return _StartedRun(disks, cluster, is_loaded=copies is not None)


def _clients(
    here: RunContext, cluster: Cluster
) -> AbstractContextManager[Sequence[Node]]:
    return several_clients.running(
        here.generator,
        here.profile.cluster.clients,
        _client_network(here, cluster),
        here.raw,
        here.world,
        cluster.tls,
    )


def _client_network(here: RunContext, cluster: Cluster) -> str:
    """The network of the clients: the cluster's, or that of its first node with data."""
    if here.profile.cluster.client != "beside":
        return cluster.network
    first = next((node for node in cluster.nodes if node.role == "database"), None)
    if first is None or not first.container:
        return cluster.network
    # The client reaches this node without a link in between.
    return f"{NETWORK_OF}{first.container}"


def _warm(here: RunContext, cluster: Cluster) -> None:
    """Reads data into memory, if the workload is to begin so."""
    if not here.workload.warm:
        return
    here.world.progress.step("warming the cache")
    with here.spending("warm"):
        here.database.warm(cluster, here.world)


@contextmanager
def _cluster(
    here: RunContext, disks: Disks, snapshots: Sequence[Path] | None
) -> Iterator[Cluster]:
    spec = here.profile.cluster
    world = here.world
    loaded_at = datasets.addresses_of(snapshots, world)
    with world.platform.network(world.scope, spec.nodes, loaded_at) as network:
        # Some databases keep their addresses in their data and start at no others.
        if loaded_at and loaded_at != network.addresses:
            world.progress.warn(_other_addresses(loaded_at, network.addresses))
        world.progress.step(f"starting {here.database.name}, {spec.nodes} node(s)")
        # A database that reads its log again at its start takes as long as the disk's rate
        # allows.
        declared = here.profile.tier.limits.bytes_per_s
        volumes = [replace(volume, bytes_per_s=declared) for volume in disks.volumes]
        starting = here.database.running(spec, volumes, network, world)
        with starting as cluster, recording.logs_kept(cluster.nodes, here):
            yield cluster


def _other_addresses(loaded_at: Sequence[str], used: Sequence[str]) -> str:
    addresses = ", ".join(loaded_at)
    instead = ", ".join(used)
    return (
        f"the addresses of the data set, {addresses}, are in use; "
        f"{instead} are used instead"
    )


@contextmanager
def _sampled(
    here: RunContext, disks: Disks, cluster: Cluster, clients: Sequence[Node]
) -> Iterator[None]:
    platform = here.world.platform
    nodes = list(watched(cluster, disks, clients, platform))
    here.draft.nodes = nodes
    here.hear(NodesWatched(nodes))
    machines = machines_of(nodes, platform.machines())
    with here.parts.connected(cluster) as connected:
        collectors = (*here.parts.collectors, *connected)
        with sampling(
            nodes,
            collectors,
            here.world.clock,
            machines,
            folder=here.folder / ".samples",
            hear=here.hear,
        ) as here.draft.readings:
            yield


def _load(here: RunContext, cluster: Cluster, client: Node) -> None:
    here.begin_phase("load")
    with here.spending(paces.load_of(here.workload)):
        here.world.progress.step(f"loading {here.workload.dataset.family}")
        here.generator.load(here.workload, cluster, client, here.world)
        here.database.settle(cluster, here.world)
