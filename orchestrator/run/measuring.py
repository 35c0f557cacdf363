"""A run between its start and its end: warm-up, the measured window, and the checks behind it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial

from orchestrator.design import disk_matrix
from orchestrator.errors import TierbenchError
from orchestrator.model import Cluster, Node, Phase, Sample, Workload
from orchestrator.parts import ClientLoad, Disks, ServedDisk
from orchestrator.run.clients import several_clients
from orchestrator.run.disks.credit import COUNTERS
from orchestrator.run.record import recording
from orchestrator.run.record.identity import identity_of
from orchestrator.run.record.run_context import RunContext
from orchestrator.run.window import (
    clock_steps,
    confirming,
    disk_counts,
    window_questions,
)
from orchestrator.run.window.links import links_in_force
from orchestrator.run.window.rebuilding import losing
from orchestrator.run.window.slowing import slowing
from orchestrator.system import unfinished_runs


def measure(
    here: RunContext, disks: Disks, cluster: Cluster, clients: Sequence[Node]
) -> None:
    """Warm-up, window and checks. What was measured is saved before it is read (`recording`)."""
    draft = here.draft
    world = here.world
    workload = here.workload
    # Known before the run, so that a run that fails has it too.
    draft.facts |= {
        "tier": dict(disks.facts),
        "database_before": here.database.facts(cluster, world).recorded(),
        "identity": identity_of(here).recorded(),
    }
    with (
        _limits_in_force(here, disks, cluster.nodes),
        links_in_force(here, cluster, clients),
    ):
        here.begin_phase("warm-up")
        windows_s = workload.warmup_s + workload.measure_s + workload.confirm_s
        world.progress.step("warm-up, then measuring", windows_s)
        measured = _under_load(here, disks, cluster, clients)
        # `--confirm` has noted it already, before it changed limits.
        if "database" not in draft.facts:
            _note_database(here, cluster)
        if workload.settle:
            world.progress.step("waiting until the disks are quiet")
            here.database.begin_measuring(cluster, world)
            here.begin_phase("check")
        _note_credit(here, measured.start_s)
    with here.spending("check"):
        checked = here.generator.verify(workload, cluster, world)
        draft.facts["checked"] = dict(checked)
    here.begin_phase("read")
    world.platform.guard.beats.renew()  # it may be lost since this machine slept
    recording.measured(here)
    draft.result = several_clients.read(
        here.generator,
        workload,
        here.raw,
        measured.start_s,
        measured.end_s,
    )


def _under_load(
    here: RunContext, disks: Disks, cluster: Cluster, clients: Sequence[Node]
) -> Phase:
    """Warm-up and window; returns the window."""
    asked = ClientLoad(
        workload=here.workload,
        cluster=cluster,
        client=clients[0],
        out=here.raw,
        world=here.world,
    )
    with _accompanied(here, disks, clients, asked) as load:
        warmup, measure = several_clients.run(here.generator, load, clients)
    # The window was longer by the time in which limits were changed, if any could be.
    confirm_s = load.workload.measure_s - here.workload.measure_s
    return here.windows(warmup, measure, confirm_s)


@contextmanager
def _accompanied(
    here: RunContext, disks: Disks, clients: Sequence[Node], asked: ClientLoad
) -> Iterator[ClientLoad]:
    """What is done while the load that was asked for runs; yields the load to carry.

    Each step wraps the world of the one before, so that all hear when the window begins.
    """
    cluster = asked.cluster
    nodes = (*cluster.nodes, *clients)
    window_over = partial(_note_database, here, cluster)
    with (
        clock_steps.clock_watched(here.world.clock, here.run, here.draft.doubts),
        _noting_disks(here, disks, asked) as load,
        confirming.changing(here, disks, nodes, load, window_over) as load,
        # The load gets only the nodes that stay: sessions on the lost one would fail.
        losing(here, load) as load,
        slowing(here, disks, load) as load,
        window_questions.statements_counted(here, cluster, load) as load,
        window_questions.waits_sampled(here, cluster, load) as load,
    ):
        yield load


@contextmanager
def _noting_disks(
    here: RunContext, disks: Disks, load: ClientLoad
) -> Iterator[ClientLoad]:
    """What servers of ours count of the window goes to the facts "disks"."""
    served_disks = _served_disks(here, disks)
    window_s = _window_s(load.workload)
    counted_disks = disk_counts.disks_counted(served_disks, window_s, load.world)
    with counted_disks as (world, counted):
        yield replace(load, world=world)
    here.draft.facts["disks"] = counted


def _served_disks(here: RunContext, disks: Disks) -> Sequence[ServedDisk]:
    served_disks = here.mechanism.abilities.served_disks
    if served_disks is None:
        return ()
    return served_disks(here.profile.tier, disks.volumes, here.world)


def _window_s(workload: Workload) -> float | None:
    """The points of a disk matrix are one window, whose end is known when it has come."""
    if disk_matrix.stretches(workload.options) != 1:
        return None
    return workload.measure_s


def _note_database(here: RunContext, cluster: Cluster) -> None:
    """What the database says of itself when the window is over."""
    facts = here.database.facts(cluster, here.world)
    here.draft.facts["database"] = facts.recorded()


def _note_credit(here: RunContext, start_s: float) -> None:
    """The disks' burst credit, as far as it was seen. `start_s`: of the window."""
    draft = here.draft
    samples: Iterable[Sample] = ()
    if draft.readings is not None:
        samples = draft.readings.samples(COUNTERS)
    tier = here.profile.tier
    credit = here.gates.credit.of_run(tier, draft.nodes, samples, start_s)
    if credit:
        draft.facts["burst_credit"] = credit


# ------------------------------------------------------------------ limits


def lift_limits(here: RunContext, disks: Disks, nodes: Sequence[Node] = ()) -> None:
    """Lifts limits for what is not measured, also for loads of the run, as for those of a data set.

    `nodes` may then take all processors and memory too, for the check of all data.
    """
    # A disk that keeps its limits only takes longer.
    with suppress(TierbenchError):
        limits = here.mechanism.abilities.limits
        if limits is not None:
            limits.lift(here.profile.tier, disks, here.world)
        for node in nodes:
            container = here.world.platform.container(node.container or node.name)
            if container.limits is not None:
                container.limits.lift()


@contextmanager
def _limits_in_force(
    here: RunContext, disks: Disks, nodes: Sequence[Node]
) -> Iterator[None]:
    """The limits are as the tier declares them, read back at both ends of the block, and lifted,
    with those of `nodes`, when it has ended well. What a person changed is a doubt of its own."""
    tier = here.profile.tier
    world = here.world
    limits = here.mechanism.abilities.limits
    if limits is not None:
        # Limits hold from now on. Loading and starting are not measured and would be as slow as the
        # tier.
        limits.enforce(tier, disks, world)
    yield
    # Limits that a person changed are not as declared, and the run is left out for that alone.
    if limits is not None and not unfinished_runs.limit_changes(here.folder):
        limits.require_enforced(tier, disks, world)
    lift_limits(here, disks, nodes)
