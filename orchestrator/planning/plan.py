"""Profiles and workloads → an ordered, seeded plan of runs with a time estimate. Pure.

`orders` has the order of the runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

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
from orchestrator.planning.orders import in_order
from orchestrator.planning.owners import is_of_others
from orchestrator.units import counted

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


def make_plan(
    name: str,
    profiles: Sequence[Profile],
    workloads: Sequence[Workload],
    *,
    repetitions: int,
    seed: int,
    scale: str,
    margin_pct: float,
    p99_margin_pct: float = 20.0,
    baseline: str | None = None,
    aa: bool = False,
    probes: Sequence[Workload] = (),
    notes: Sequence[Note] = (),
    gate_every: int | None = None,
    drain: bool = False,
    latency_at_pct: float | None = None,
    looks: Mapping[int, float] | None = None,
    overrides: Sequence[str] = (),
    platform: str = "",
    retry_failed: int = 0,
    question: str = "",
    weights: Mapping[str, float] | None = None,
) -> Plan:
    """The baseline is the first profile unless named. UsageError for an unknown one.

    `aa`: the baseline is measured under a second name too, in the same rounds as all
    others; UsageError if another profile has that name. `probes` come first, once on
    each tier. All else is as in `Plan`.
    """
    names = [profile.name for profile in profiles]
    if baseline is not None and baseline not in names:
        raise _unknown_baseline(baseline, names)
    baseline = baseline or names[0]
    runs: list[Run] = []
    # Probes come before the second of the baseline has a name here. It needs no probe of its own.
    for probe in probes:
        for profile in names:
            runs.append(Run(0, profile, probe.name, 1))
    all_profiles = list(profiles)
    twin: str | None = None
    if aa:
        second = _second(profiles, baseline)
        twin = second.name
        all_profiles.append(second)
        names.append(twin)
    runs += in_order(names, workloads, repetitions, seed)
    return Plan(
        name=name,
        seed=seed,
        baseline=baseline,
        repetitions=repetitions,
        profiles=tuple(all_profiles),
        workloads=tuple(workloads),
        probes=tuple(probes),
        runs=numbered(runs),
        estimate_s=0.0,  # `durations.timed` sets it
        twin=twin,
        scale=scale,
        margin_pct=margin_pct,
        p99_margin_pct=p99_margin_pct,
        notes=tuple(notes),
        gate_every=gate_every,
        drain=drain,
        latency_at_pct=latency_at_pct,
        looks=looks or {},
        overrides=tuple(overrides),
        platform=platform,
        retry_failed=retry_failed,
        question=question,
        weights=weights or {},
    )


def _second(profiles: Sequence[Profile], baseline: str) -> Profile:
    """The baseline under a second name. UsageError if another profile has that name."""
    by_name = {profile.name: profile for profile in profiles}
    name = f"{baseline}-again"
    if name in by_name:
        raise _name_of_the_second(name, baseline)
    # Runs are told apart by the names of their profiles, so a copy needs another one.
    return replace(by_name[baseline], name=name)


def _unknown_baseline(baseline: str, profiles: Sequence[str]) -> UsageError:
    names = ", ".join(profiles)
    return UsageError(
        f"the baseline {baseline!r} is not among the profiles compared: {names}",
        advice="name it in --profiles too",
    )


def _name_of_the_second(name: str, baseline: str) -> UsageError:
    return UsageError(
        f"{name!r} is the name of a profile, but --aa needs it as the name "
        f"of the second {baseline}",
        advice="give that profile's file another name",
    )


def grown(plan: Plan, workloads: Sequence[str]) -> Plan:
    """The plan with one more repetition of these workloads on every tier behind its runs, in
    the order in which it would have been planned at once."""
    done = _repetitions_done(plan)
    profiles = [profile.name for profile in plan.profiles]
    runs = list(plan.runs)
    repetitions = max(done.values(), default=0) + 1
    # Planned anew as a whole, because its place in the order follows from all rounds.
    for run in in_order(profiles, plan.workloads, repetitions, plan.seed):
        if run.workload in workloads and run.repetition == done[run.workload] + 1:
            runs.append(run)
    # The added repetitions may be fewer: workloads may have unlike numbers of repetitions.
    repetitions = max(run.repetition for run in runs)
    return replace(plan, repetitions=repetitions, runs=numbered(runs))


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
    for run in in_order(names, added, plan.repetitions, plan.seed):
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
