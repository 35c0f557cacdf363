"""Profiles and workloads → an ordered, seeded plan of runs with a time estimate. Pure.

`orders` has the order of the runs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from orchestrator.design.factors import is_of_others
from orchestrator.design.used_profiles import on_nodes
from orchestrator.errors import UsageError
from orchestrator.facts import NoteKind
from orchestrator.model import (
    Note,
    Plan,
    Profile,
    Run,
    Workload,
)
from orchestrator.plan_parts import NO_FURTHER_CHECKS, DiskChecks, Judging, Repeats
from orchestrator.planning.orders import in_order
from orchestrator.texts.prose import counted
from orchestrator.units import gathered

CORES_PER_NODE = 2


def fit_to_machines(
    profiles: Sequence[Profile], nodes: int | None, cores: Sequence[int]
) -> tuple[tuple[Profile, ...], tuple[Note, ...]]:
    """The profiles with the number of nodes that will be started, each with its disks, and
    what must be said about it.

    `nodes` is what the user asked for; without it, machines with fewer than two cores per
    node get one node. `cores`: of each machine; none if they are not known yet. The
    replication factor follows the nodes down, never up. UsageError if a node has no disk.
    """
    notes: list[Note] = []
    fitted: list[Profile] = []
    for profile in profiles:
        cluster = profile.cluster
        if is_of_others(cluster):
            # The cluster's nodes run elsewhere already, whatever this machine has.
            fitted.append(profile)
            continue
        wanted = nodes or cluster.nodes
        # Who asks for a number gets it, however small the machine is.
        if nodes is None:
            wanted = _nodes_that_fit(wanted, cores)
        if wanted != cluster.nodes:
            notes.append(_other_nodes(profile, wanted, bool(nodes), cores))
        # Each copy is on a node of its own.
        copies = min(cluster.replication_factor, wanted)
        if wanted != cluster.nodes:
            # The profile's number of nodes is what is bought, however few were measured.
            cluster = replace(cluster, profile_nodes=cluster.nodes)
        cluster = replace(cluster, nodes=wanted, replication_factor=copies)
        fitted.append(replace(on_nodes(profile, wanted), cluster=cluster))
    return tuple(fitted), tuple(notes)


def _nodes_that_fit(nodes: int, cores: Sequence[int]) -> int:
    if cores and sum(cores) < CORES_PER_NODE * nodes:
        return 1
    return nodes


def _other_nodes(
    profile: Profile, nodes: int, are_asked_for: bool, cores: Sequence[int]
) -> Note:
    kind: NoteKind = "nodes as asked"
    why = "as asked"
    if not are_asked_for:
        kind = "fewer nodes"
        machines_have = f"the {len(cores)} machines have"
        if len(cores) == 1:
            machines_have = "this machine has"
        why = f"{machines_have} {sum(cores)} cores"
    text = (
        f"{counted(nodes, 'database node')} instead of the profile's "
        f"{profile.cluster.nodes} ({why}): replication is not what the profile says"
    )
    return Note(kind, text, profile.name)


@dataclass(frozen=True)
class RunMatrix:
    """What is measured: each workload on each tier, at one scale.

    `probes` come first, once on each tier. `baseline`: the name of a profile, the first if None.
    `aa`: the baseline is measured under a second name too, in the same rounds as all others.
    The other fields are as in `Plan`.
    """

    profiles: Sequence[Profile]
    workloads: Sequence[Workload]
    scale: str
    aa: bool
    probes: Sequence[Workload] = ()
    baseline: str | None = None
    overrides: Sequence[str] = ()
    latency_at_pct: float | None = None


def make_plan(
    name: str,
    matrix: RunMatrix,
    repeats: Repeats,
    judging: Judging,
    disk_checks: DiskChecks = NO_FURTHER_CHECKS,
    platform: str = "",
    notes: Sequence[Note] = (),
) -> Plan:
    """The runs of a campaign in their order, and all that was decided for them; no time yet.

    UsageError if the baseline is no profile, or if another profile has the name of its second.
    """
    profiles, twin = _with_twin(matrix)
    return Plan(
        name=name,
        baseline=_baseline(matrix),
        profiles=profiles,
        workloads=tuple(matrix.workloads),
        probes=tuple(matrix.probes),
        runs=numbered(_runs(matrix, profiles, repeats)),
        estimate_s=0.0,  # `durations.timed` sets it
        twin=twin,
        scale=matrix.scale,
        repeats=repeats,
        judging=judging,
        disk_checks=disk_checks,
        notes=tuple(notes),
        latency_at_pct=matrix.latency_at_pct,
        overrides=tuple(matrix.overrides),
        platform=platform,
    )


def _baseline(matrix: RunMatrix) -> str:
    """The name of the profile that others are compared with. UsageError for an unknown one."""
    names = [profile.name for profile in matrix.profiles]
    if matrix.baseline is None:
        return names[0]
    if matrix.baseline not in names:
        raise _unknown_baseline(matrix.baseline, names)
    return matrix.baseline


def _with_twin(matrix: RunMatrix) -> tuple[tuple[Profile, ...], str | None]:
    """All profiles that are measured, and the name of the baseline's second if there is one."""
    profiles = tuple(matrix.profiles)
    baseline = _baseline(matrix)
    if not matrix.aa:
        return profiles, None
    second = _second(matrix.profiles, baseline)
    return (*profiles, second), second.name


def _runs(
    matrix: RunMatrix, profiles: Sequence[Profile], repeats: Repeats
) -> list[Run]:
    """The probes, and behind them all runs in rounds. `profiles`: with the baseline's second."""
    runs: list[Run] = []
    for probe in matrix.probes:
        # The second of the baseline is the same disk, and needs no probe.
        for profile in matrix.profiles:
            runs.append(Run(0, profile.name, probe.name, 1))
    names = [profile.name for profile in profiles]
    runs += in_order(names, matrix.workloads, repeats.repetitions, repeats.seed)
    return runs


def _second(profiles: Sequence[Profile], baseline: str) -> Profile:
    """The baseline under a second name. UsageError if another profile has that name."""
    by_name = {profile.name: profile for profile in profiles}
    name = f"{baseline}-again"
    if name in by_name:
        raise UsageError(
            f"{name!r} is the name of a profile, but --aa needs it as the name "
            f"of the second {baseline}",
            advice="give that profile's file another name",
        )
    # Runs are told apart by the names of their profiles, so a copy needs another one.
    return replace(by_name[baseline], name=name)


def _unknown_baseline(baseline: str, profiles: Sequence[str]) -> UsageError:
    names = ", ".join(profiles)
    return UsageError(
        f"the baseline {baseline!r} is not among the profiles compared: {names}",
        advice="name it in --profiles too",
    )


def grown(plan: Plan, workloads: Sequence[str]) -> Plan:
    """The plan with one more repetition of these workloads on every tier, behind its runs.

    The new runs are in the order in which one plan of all runs would have had them.
    """
    done = _repetitions_done(plan)
    profiles = [profile.name for profile in plan.profiles]
    runs = list(plan.runs)
    repetitions = max(done.values(), default=0) + 1
    # Planned anew as a whole, because its place in the order follows from all rounds.
    for run in in_order(profiles, plan.workloads, repetitions, plan.repeats.seed):
        if run.workload in workloads and run.repetition == done[run.workload] + 1:
            runs.append(run)
    # The added repetitions may be fewer: workloads may have unlike numbers of repetitions.
    repetitions = max(run.repetition for run in runs)
    repeats = replace(plan.repeats, repetitions=repetitions)
    return replace(plan, repeats=repeats, runs=numbered(runs))


def attempts(plan: Plan) -> list[list[Run]]:
    """The runs of a plan, in order. Each run stands together with the runs that repeat it after a
    failure."""
    # Attempts at one run differ in nothing but their number.
    alike = gathered((replace(run, number=0), run) for run in plan.runs)
    return list(alike.values())


def _repetitions_done(plan: Plan) -> dict[str, int]:
    """Workload → its last repetition; runs that repeat a failed run stand behind all others."""
    done: dict[str, int] = {}
    for run in plan.runs:
        before = done.get(run.workload, 0)
        done[run.workload] = max(run.repetition, before)
    return done


def followed_by(
    plan: Plan,
    cells: Sequence[tuple[Workload, Sequence[Profile]]],
    notes: Sequence[Note] = (),
) -> Plan:
    """The plan with more workloads behind its own, each on some of its tiers, in blocks as
    ever."""
    names = [profile.name for profile in plan.profiles]
    added = [workload for workload, _ in cells]
    wanted = _names_of(cells)
    runs = list(plan.runs)
    for run in in_order(names, added, plan.repeats.repetitions, plan.repeats.seed):
        if (run.workload, run.profile) in wanted:
            runs.append(run)
    return replace(
        plan,
        workloads=(*plan.workloads, *added),
        runs=numbered(runs),
        notes=(*plan.notes, *notes),
    )


def _names_of(
    cells: Sequence[tuple[Workload, Sequence[Profile]]],
) -> set[tuple[str, str]]:
    """The names of each workload and each of its tiers."""
    names: set[tuple[str, str]] = set()
    for workload, tiers in cells:
        names.update((workload.name, tier.name) for tier in tiers)
    return names


def numbered(runs: Iterable[Run]) -> tuple[Run, ...]:
    """The runs of a plan, counted from 1 in their order."""
    in_order: list[Run] = []
    for number, run in enumerate(runs, start=1):
        in_order.append(replace(run, number=number))
    return tuple(in_order)


def interruptions(plan: Plan) -> int:
    """How often a campaign with this plan was ended and resumed."""
    return sum(note.kind == "interrupted" for note in plan.notes)
