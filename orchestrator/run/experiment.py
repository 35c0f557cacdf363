"""The flow: a plan becomes runs, runs leave records. No part is named here.

`execute` does, in this order:
 1. remove what an earlier, killed campaign left behind
 2. check everything that could fail late: databases, generators, tiers, space; nothing starts
 3. reserve clusters that others run, for the whole campaign; write plan and fingerprint
 4. for each run, nested so that each thing is taken down in reverse order whatever happens:
    the data set loaded (once, then copied) → the tier's disks, which passed their gate → the
    database cluster → the clients → warm-up → measured window, sampled all the while
 5. read what was measured and write the run's record, then take everything down
 6. when all planned runs are made, ask whether what they found wants more of them (`schedule`)
 7. after the last run, and as often between as the plan says: the gates of real disks again

A run that fails, whatever the error, is recorded as failed (`recording`) and the plan goes on
(`Setbacks` says how far); an interrupt is recorded and passed on.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
)
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from orchestrator.analysis.doubts import noted
from orchestrator.errors import NodeError, RunError
from orchestrator.model import Cluster, Node, Plan, Run
from orchestrator.parts import Disks, NodesData, Parts
from orchestrator.planning import durations, paces
from orchestrator.planning.plan import TimeLeft
from orchestrator.powers import NETWORK_OF, World
from orchestrator.run import (
    checks,
    datasets,
    judging,
    observed,
    recording,
    several_clients,
)
from orchestrator.run.gates import Gates, require_passed
from orchestrator.run.kept_data import disk_sizes
from orchestrator.run.live_events import (
    CampaignBegins,
    Hear,
    NodesWatched,
    RunBegins,
    heard_by_nobody,
)
from orchestrator.run.measuring import lift_limits, measure
from orchestrator.run.recording import Draft, RunContext
from orchestrator.run.resuming import Resumption, images
from orchestrator.run.schedule import Following, Schedule, Setbacks
from orchestrator.run.telemetry import machines_of, sampling, watched
from orchestrator.system import files, store
from orchestrator.tier import Gate

# Phases that are as long as planned; what comes around them is learnt.
_UNDER_LOAD = ("warm-up", "measure", "confirm")


def _say_nothing(_campaign: Path) -> None:
    """An `after_run` for nobody."""


def execute(
    plan: Plan,
    parts: Parts,
    world: World,
    results: Path,
    fingerprint: Mapping[str, Any],
    following: Sequence[Following] = (),
    begun: Resumption | None = None,
    after_run: Callable[[Path], None] = _say_nothing,
    hear: Hear = heard_by_nobody,
) -> Path:
    """Carries out `plan`, and what `following` adds to it; returns the campaign's folder.

    `begun`: the campaign which goes on in its own folder. `after_run` is told of the
    folder after each run but the last planned one, `hear` of what happens. Raises only what
    ends the campaign.
    """
    left_behind = _swept(world)
    checks.check(plan, parts, world)
    with _reserved(plan, parts, world):
        databases = images(plan, parts, world)
        facts = {
            **fingerprint,
            "images": databases,
            "packages": parts.packages(databases, world),
        }
        now_s = world.clock.now()
        taken: Sequence[Gate] = ()
        finished: set[int] = set()
        if begun is None:
            campaign = store.create(results, plan, facts, now_s)
        else:
            campaign = begun.folder
            begun = begun.read_again(plan)
            plan = begun.begin(facts, now_s, parts)
            taken = begun.before.gates
            finished = set(begun.finished)
        hear(CampaignBegins(campaign, plan))
        schedule = Schedule(plan, campaign, following, world.progress.warn, finished)
        keep = partial(store.save_gates, campaign)
        gates = Gates(parts.tiers, world, schedule, keep, before=taken)
        setbacks = Setbacks(schedule, world, left_behind)
        for run in _all_runs(schedule, parts, world, gates, setbacks, hear):
            if run is not schedule.plan.runs[-1]:
                after_run(campaign)
        if begun is not None:
            gates.complete(begun.ended_s)
    return campaign


def _swept(world: World) -> RunError | None:
    """Removes leftovers; why not all, if so: what is in the way is found by the checks, and
    by the runs."""
    try:
        for line in world.platform.sweep():
            world.progress.note(f"removed a leftover: {line}")
    except RunError as error:
        world.progress.warn(f"{error.what}; the campaign goes on without removing it")
        return error
    return None


@contextmanager
def _reserved(plan: Plan, parts: Parts, world: World) -> Iterator[None]:
    """Other campaigns are kept off clusters that others run."""
    with ExitStack() as up:
        for profile in plan.profiles:
            abilities = parts.databases[profile.cluster.member].abilities
            if abilities.reserved is not None:
                up.enter_context(abilities.reserved(profile.cluster, world))
        yield


def _all_runs(
    schedule: Schedule,
    parts: Parts,
    world: World,
    gates: Gates,
    setbacks: Setbacks,
    hear: Hear,
) -> Iterator[Run]:
    left = TimeLeft()
    forgone: dict[Path, str] = {}
    for run in schedule:
        plan = schedule.plan
        left_s = left.before(schedule.left, plan)
        world.progress.run(run.slug, run.number, len(plan.runs), left_s)
        started_s = world.clock.monotonic()
        # One seed for all runs of a repetition: a slow epoch hits every tier at the same time.
        seed = plan.seed * 1000 + run.repetition
        here = RunContext(
            plan=plan,
            run=run,
            parts=parts,
            gates=gates,
            campaign=schedule.folder,
            world=replace(world, scope=f"{world.scope}-{run.number}", seed=seed),
            draft=Draft(doubts=setbacks.doubts(run)),
            forgone=forgone,
            hear=hear,
        )
        hear(RunBegins(plan, run, here.profile, left_s))
        with recording.recorded(here):
            carry_out(here)
        took_s = world.clock.monotonic() - started_s
        judging.announce(schedule.folder, run, world, hear)
        left.took(plan.workload(run.workload), took_s)
        _learn(here, took_s)
        schedule.after(run)
        setbacks.after(run, here.draft.failure, here.draft.trouble)
        gates.after(run)
        yield run


def _learn(here: RunContext, took_s: float) -> None:
    """Keeps what the run took, for later estimates, if nothing failed in it."""
    draft = here.draft
    if draft.outcome != "done" or draft.trouble is not None:
        return
    around_s = took_s - _under_load_s(draft) - sum(draft.spent.values())
    _note_spent(here, paces.AROUND_RUN, around_s, 1.0)
    restored_bytes = durations.restored_bytes(here.profile, here.workload)
    restore_s = draft.spent.get(paces.RESTORE, 0.0)
    _note_spent(here, paces.RESTORE, restore_s, restored_bytes)
    load = paces.load_of(here.workload)
    load_s = draft.spent.get(load, 0.0)
    _note_spent(here, load, load_s, durations.data_bytes(here.workload))


def _under_load_s(draft: Draft) -> float:
    total_s = 0.0
    for phase in draft.phases:
        if phase.name in _UNDER_LOAD:
            total_s += phase.duration_s
    return total_s


def _note_spent(
    here: RunContext, what: str, spent_s: float, amount: float | None
) -> None:
    profile = here.profile
    platform = here.world.platform.name
    name = paces.kept_as(what, profile.tier, platform, profile.cluster)
    observed.note(name, spent_s, here.world, amount)


def carry_out(here: RunContext) -> None:
    """Does one run: steps 4 and 5."""
    profile = here.profile
    world = here.world
    draft = here.draft
    here.begin_phase("load")
    with here.spending("data set"):
        snapshots = datasets.ensure(
            profile, here.workload, here.plan.seed, here.parts, world
        )
    here.begin_phase("prepare")
    with here.spending(paces.GATES):
        draft.gate = here.gates.of(profile.tier)
        require_passed(draft.gate)
    with (
        _started(here, snapshots) as started,
        _clients(here, started.cluster) as clients,
        _sampled(here, started.disks, started.cluster, clients),
    ):
        try:
            if not started.is_loaded:
                _load(here, started.cluster, clients[0])
            here.begin_phase("prepare")
            _warm(here, started.cluster)
            here.database.begin_measuring(started.cluster, world)
            measure(here, started.disks, started.cluster, clients)
            recording.done(here)
        finally:
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
    place: Path | None = None
    if snapshots:
        place = snapshots[0].parent
    if place in here.forgone:
        snapshots = None
    with ExitStack() as up:
        try:
            started = _start(here, snapshots, up)
        except NodeError as error:
            if place is None or place in here.forgone:
                raise
            up.close()
            here.world.progress.warn(
                f"nodes do not start from the copied data: {error.what}"
            )
            files.keep(here.raw / "start-from-copy.txt", error.evidence)
            here.forgone[place] = error.what
            started = _start(here, None, up)
        if place in here.forgone:
            why = here.forgone[place]
            here.draft.doubts.append(noted.not_restored(here.run.number, why))
        yield started


def _start(
    here: RunContext, copies: Sequence[Path] | None, up: ExitStack
) -> _StartedRun:
    """`up`: takes down what is started."""
    tier = here.profile.tier
    restoring: AbstractContextManager[None] = nullcontext()
    if copies:
        restoring = here.spending(paces.RESTORE)
    with restoring:
        here.world.progress.step(f"attaching {tier.title}")
        data = NodesData(disk_sizes(here.profile.cluster), copies or ())
        attached = here.mechanism.attached(tier, data, here.world)
        disks = up.enter_context(attached)
    up.enter_context(recording.logs_kept(disks.servers, here))
    lift_limits(here, disks)
    cluster = up.enter_context(_cluster(here, disks, copies))
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
    for node in cluster.nodes:
        if node.role == "database":
            if node.container:
                return f"{NETWORK_OF}{node.container}"
            break
    return cluster.network


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
        if loaded_at and loaded_at != network.addresses:
            world.progress.warn(_other_addresses(loaded_at, network.addresses))
        world.progress.step(f"starting {here.database.name}, {spec.nodes} node(s)")
        declared = here.profile.tier.limits.bytes_per_s
        volumes = [replace(volume, bytes_per_s=declared) for volume in disks.volumes]
        starting = here.database.running(spec, volumes, network, world)
        with starting as cluster, recording.logs_kept(cluster.nodes, here):
            yield cluster


def _other_addresses(loaded_at: Sequence[str], used: Sequence[str]) -> str:
    taken = ", ".join(loaded_at)
    return (
        f"the addresses of the data set, {taken}, are in use; "
        f"{', '.join(used)} are used instead"
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
