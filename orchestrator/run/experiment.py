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
(`Setbacks` says how far); an interrupt is recorded and passed on."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.analysis.doubts import noted
from orchestrator.errors import NodeError, RunError, TierbenchError
from orchestrator.load_generators.common import several
from orchestrator.model import Cluster, Node, Plan, Run, Sample
from orchestrator.parts import ClientLoad, Disks, LiftsLimits, NodesData, Parts, Shared
from orchestrator.planning import disk_matrix, durations, paces
from orchestrator.planning.plan import TimeLeft
from orchestrator.platforms.common.machines import LiftsItsLimits
from orchestrator.powers import NETWORK_OF, World
from orchestrator.run import (
    checks,
    confirming,
    datasets,
    observed,
    recording,
    status,
    window,
)
from orchestrator.run.credit import COUNTERS
from orchestrator.run.gates import Gates, require_passed
from orchestrator.run.links import links_in_force
from orchestrator.run.rebuilding import losing
from orchestrator.run.recording import Draft, RunContext
from orchestrator.run.resuming import Resumption, images
from orchestrator.run.schedule import Following, Schedule, Setbacks
from orchestrator.run.telemetry import machines_of, sampling, watched
from orchestrator.system import files, store


def execute(
    plan: Plan,
    parts: Parts,
    world: World,
    results: Path,
    fingerprint: Mapping[str, Any],
    following: Sequence[Following] = (),
    begun: Resumption | None = None,
    after_run: Callable[[Path], None] = lambda _: None,
) -> Path:
    """Carries out `plan`, and what `following` adds to it; returns the campaign's folder, of which
    `after_run` is told after each run but the last planned one. Raises only what ends the campaign.
    `begun`: that which goes on in its own folder."""
    left_behind: RunError | None = None
    try:
        for line in world.platform.sweep():
            world.progress.note(f"removed a leftover: {line}")
    except (
        RunError
    ) as error:  # what is in the way is found by the checks, and by the runs
        left_behind = error
        world.progress.warn(f"{error.what}; the campaign goes on beside it")
    checks.check(plan, parts, world)
    with ExitStack() as up:
        for profile in plan.profiles:
            database = parts.databases[profile.cluster.member]
            if isinstance(database, Shared):  # other campaigns are kept off it
                up.enter_context(database.reserved(profile.cluster, world))
        facts = {**fingerprint, "images": images(plan, parts, world)}
        now_s = world.clock.now()
        if begun is None:
            campaign = store.create(results, plan, facts, now_s)
        else:
            campaign = begun.folder
            plan = begun.begin(facts, now_s, parts)
        if begun:
            taken = begun.before.gates
        else:
            taken = ()
        if begun:
            finished = set(begun.finished)
        else:
            finished = set()
        schedule = Schedule(plan, campaign, following, world.progress.warn, finished)
        keep = partial(store.save_gates, campaign)
        gates = Gates(parts.tiers, world, schedule, keep, before=taken)
        setbacks = Setbacks(schedule, world, left_behind)
        for run in _all_runs(schedule, parts, world, gates, setbacks):
            if run is not schedule.plan.runs[-1]:
                after_run(campaign)
        if begun is not None:
            gates.complete(begun.ended_s)
    return campaign


def _all_runs(
    schedule: Schedule, parts: Parts, world: World, gates: Gates, setbacks: Setbacks
) -> Iterator[Run]:
    left = TimeLeft()
    forgone = dict[Path, str]()
    for run in schedule:
        plan = schedule.plan
        left_s = left.before(schedule.left, plan)
        world.progress.run(run.slug, run.number, len(plan.runs), left_s)
        started_s = world.clock.monotonic()
        # One seed for all runs of a repetition: a slow epoch hits every tier at the same time.
        seed = plan.seed * 1000 + run.repetition
        own = replace(world, scope=f"{world.scope}-{run.number}", seed=seed)
        draft = Draft(doubts=setbacks.doubts(run))
        here = RunContext(plan, run, parts, gates, schedule.folder, own, draft, forgone)
        with recording.recorded(here):
            carry_out(here)
        took_s = world.clock.monotonic() - started_s
        status.announce(schedule.folder, run, world)
        left.took(plan.workload(run.workload), took_s)
        _learn(here, took_s)
        schedule.after(run)
        setbacks.after(run, draft.failure, draft.trouble)
        gates.after(run)
        yield run


def _learn(here: RunContext, took_s: float) -> None:
    """Keeps what the run took, for later estimates, if nothing failed in it."""
    draft = here.draft
    profile = here.profile
    if draft.outcome != "done" or draft.trouble is not None:
        return
    under_load = ("warm-up", "measure", "confirm")
    windows_s = sum(
        phase.duration_s for phase in draft.phases if phase.name in under_load
    )
    around_s = took_s - windows_s - sum(draft.spent.values())
    restored = durations.restored_bytes(profile, here.workload)
    load = paces.load_of(here.workload)
    for what, spent_s, amount in (
        (paces.AROUND_RUN, around_s, 1.0),
        (paces.RESTORE, draft.spent.get(paces.RESTORE, 0.0), restored),
        (load, draft.spent.get(load, 0.0), durations.data_bytes(here.workload)),
    ):
        name = paces.kept_as(
            what, profile.tier, here.world.platform.name, profile.cluster
        )
        observed.note(name, spent_s, here.world, amount)


def carry_out(here: RunContext) -> None:
    """Does one run: steps 4 and 5."""
    profile = here.profile
    world = here.world
    draft = here.draft
    spec = profile.cluster
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
        _started(here, snapshots) as (disks, cluster, is_loaded),
        several.running(
            here.generator,
            spec.clients,
            _place(here, cluster),
            here.raw,
            world,
            cluster.tls,
        ) as clients,
        _sampled(here, disks, cluster, clients),
    ):
        try:
            if not is_loaded:
                _load(here, cluster, clients[0])
            here.begin_phase("prepare")
            if here.workload.warm:
                world.progress.step("warming the cache")
                with here.spending("warm"):
                    here.database.warm(cluster, world)
            here.database.begin_measuring(cluster, world)
            _measure(here, disks, cluster, clients)
            recording.done(here)
        finally:
            here.begin_phase("teardown")


@contextmanager
def _started(
    here: RunContext, snapshots: Sequence[Path] | None
) -> Iterator[tuple[Disks, Cluster, bool]]:
    """The disks, the cluster on them, and whether the data are loaded. Nodes that do not start from
    a copy, as of some releases, start on empty disks instead, and so do those of later runs."""
    place = None
    if snapshots:
        place = snapshots[0].parent
    world = here.world
    tier = here.profile.tier
    spec = here.profile.cluster
    # others' are not attached
    if spec.node:
        sizes = [spec.node.disk_bytes] * spec.nodes
    else:
        sizes = []
    with ExitStack() as up:

        def start(copies: Sequence[Path] | None) -> tuple[Disks, Cluster, bool]:
            with here.spending(paces.RESTORE) if copies else nullcontext():
                world.progress.step(f"attaching {tier.title}")
                data = NodesData(sizes, copies or ())
                disks = up.enter_context(here.mechanism.attached(tier, data, world))
            servers = [
                volume.server for volume in disks.volumes if volume.server is not None
            ]
            up.enter_context(recording.logs_kept(servers, here))
            _lift_limits(here, disks)
            return (
                disks,
                up.enter_context(_cluster(here, disks, copies)),
                copies is not None,
            )

        try:
            started = start(None if place in here.forgone else snapshots)
        except NodeError as error:
            if place is None or place in here.forgone:
                raise
            up.close()
            world.progress.warn(
                f"nodes do not start from the copied data: {error.what}"
            )
            files.keep(here.raw / "start-from-copy.txt", error.evidence)
            here.forgone[place] = error.what
            started = start(None)
        if place in here.forgone:
            why = here.forgone[place]
            here.draft.doubts.append(noted.not_restored(here.run.number, why))
        yield started


def _place(here: RunContext, cluster: Cluster) -> str:
    """The network of the clients: the cluster's, or that of its first node with data."""
    beside = here.profile.cluster.client == "beside"
    first = next(
        (node.container for node in cluster.nodes if node.role == "database"), None
    )
    if first and beside:
        return f"{NETWORK_OF}{first}"
    return cluster.network


def _lift_limits(here: RunContext, disks: Disks, nodes: Sequence[Node] = ()) -> None:
    """For what is not measured, loads of the run included: those of a data set have none either.
    `nodes` may then take all processors and memory too, for the check of all data."""
    with suppress(TierbenchError):  # what keeps its limits only takes longer
        if isinstance(here.mechanism, LiftsLimits):
            here.mechanism.lift(here.profile.tier, disks, here.world)
        for node in nodes:
            container = here.world.platform.container(node.container or node.name)
            if isinstance(container, LiftsItsLimits):
                container.lift_limits()


@contextmanager
def _limits_in_force(
    here: RunContext, disks: Disks, nodes: Sequence[Node]
) -> Iterator[None]:
    """The limits are as the tier declares them, read back at both ends of the block, and lifted,
    with those of `nodes`, when it has ended well. What a person changed is a doubt of its own."""
    tier = here.profile.tier
    world = here.world
    mechanism = here.mechanism
    if isinstance(mechanism, LiftsLimits):
        mechanism.enforce(tier, disks, world)
    yield
    if isinstance(mechanism, LiftsLimits) and not store.limit_changes(here.folder):
        mechanism.require_enforced(tier, disks, world)
    _lift_limits(here, disks, nodes)


@contextmanager
def _cluster(
    here: RunContext, disks: Disks, snapshots: Sequence[Path] | None
) -> Iterator[Cluster]:
    spec = here.profile.cluster
    world = here.world
    own = datasets.addresses_of(snapshots, world)
    with world.platform.network(world.scope, spec.nodes, own) as network:
        if own and own != network.addresses:
            taken = ", ".join(own)
            used = ", ".join(network.addresses)
            world.progress.warn(
                f"the data set's own addresses {taken} are taken; {used} are used"
            )
        world.progress.step(f"starting {here.database.name}, {spec.nodes} node(s)")
        declared = here.profile.tier.limits.bytes_per_s
        volumes = [replace(volume, bytes_per_s=declared) for volume in disks.volumes]
        starting = here.database.running(spec, volumes, network, world)
        with starting as cluster, recording.logs_kept(cluster.nodes, here):
            yield cluster


@contextmanager
def _sampled(
    here: RunContext, disks: Disks, cluster: Cluster, clients: Sequence[Node]
) -> Iterator[None]:
    platform = here.world.platform
    clock = here.world.clock
    folder = here.folder / ".samples"
    here.draft.nodes = nodes = [*watched(cluster, disks, clients, platform)]
    machines = machines_of(nodes, platform.machines())
    with here.parts.connected(cluster) as connected:
        collectors = (*here.parts.collectors, *connected)
        with sampling(
            nodes, collectors, clock, machines, folder=folder
        ) as here.draft.readings:
            yield


def _load(here: RunContext, cluster: Cluster, client: Node) -> None:
    here.begin_phase("load")
    with here.spending(paces.load_of(here.workload)):
        here.world.progress.step(f"loading {here.workload.dataset.family}")
        here.generator.load(here.workload, cluster, client, here.world)
        here.database.settle(cluster, here.world)


def _measure(
    here: RunContext, disks: Disks, cluster: Cluster, clients: Sequence[Node]
) -> None:
    draft = here.draft
    world = here.world
    workload = here.workload
    generator = here.generator
    # Known before the run, so that a run that fails has it too.
    tier = here.profile.tier
    facts = draft.facts
    facts |= {
        "tier": dict(disks.facts),
        "database_before": here.database.facts(cluster, world).recorded(),
        "identity": recording.identity_of(here).recorded(),
    }

    def window_over() -> None:
        facts["database"] = here.database.facts(cluster, world).recorded()

    # The points of a disk matrix are one window, whose end is known when it has come.
    window_s = None
    if disk_matrix.stretches(workload.options) == 1:
        window_s = workload.measure_s
    with (
        _limits_in_force(here, disks, cluster.nodes),
        links_in_force(here, cluster, clients),
    ):
        here.begin_phase("warm-up")
        windows_s = workload.warmup_s + workload.measure_s + workload.confirm_s
        world.progress.step("warm-up, then measuring", windows_s)
        with (
            window.clock_watched(world.clock, here.run, draft.doubts),
            window.watched(tier, disks.volumes, window_s, world) as (watching, served),
            confirming.changing(
                here, disks, (*cluster.nodes, *clients), watching, window_over
            ) as (
                load,
                telling,
            ),
            losing(here, cluster, telling) as (stay, telling),
            window.statements_counted(here, cluster, facts, telling) as telling,
        ):
            whole = ClientLoad(load, stay, clients[0], here.raw, telling)
            warmup, measure = several.run(generator, whole, clients)
        measure = here.windows(warmup, measure, load.measure_s - workload.measure_s)
        facts["disks"] = served
        if "database" not in facts:
            window_over()
        if workload.settle:
            world.progress.step("waiting until the disks are quiet")
            here.database.begin_measuring(cluster, world)
            here.begin_phase("check")
        samples: Iterable[Sample] = ()
        if draft.readings is not None:
            samples = draft.readings.samples(COUNTERS)
        credit = here.gates.credit.of_run(tier, draft.nodes, samples, measure.start_s)
        if credit:
            facts["burst_credit"] = credit
    with here.spending("check"):
        facts["checked"] = dict(generator.verify(workload, cluster, world))
    here.begin_phase("read")
    world.platform.guard.beats.renew()  # it may be lost since this machine slept
    recording.measured(here)
    draft.result = several.read(
        generator, workload, here.raw, measure.start_s, measure.end_s
    )
