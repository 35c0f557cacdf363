"""Profiles and workloads → an ordered, seeded plan of runs with a time estimate. Pure.

Order: repetition by repetition, so that an interrupted campaign has whole rounds; within a round
the tiers of one workload follow each other, in an order that turns round in the next round (ABBA),
so that slow drift of the machine favours none.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from orchestrator.errors import UsageError
from orchestrator.model import Note, Plan, Profile, Run, Workload
from orchestrator.planning import disk_matrix, machines, node_disks
from orchestrator.tier import Tier
from orchestrator.units import counted

EXISTING = "existing"  # the database of a cluster that others run
CORES_PER_NODE = 2
RUN_OVERHEAD_S = 6.0  # attach and restore disks, start and stop database and client
GATE_S = 15.0
RENT_S = 60.0  # until a cloud has made and attached the disks of a claim; they differ widely
LOAD_S = 20.0
# Checking the consistency of more warehouses than are all checked, roughly: 1.5 s for each of the
# sample, measured on two cores; and three conditions read the whole table of payments, which has no
# key: 3 MB a warehouse at 125 MB/s, a usual limit. Fewer are checked within RUN_OVERHEAD_S or so.
SAMPLED_ABOVE = 20
SAMPLE_S = 1.5 * SAMPLED_ABOVE
PAYMENTS_S = 3 * 3 / 125


def fit_to_machines(
    profiles: Sequence[Profile], nodes: int | None, cores: Sequence[int]
) -> tuple[tuple[Profile, ...], tuple[Note, ...]]:
    """The profiles with the number of nodes that will be started, each with its disks, and what
    must be said about it. UsageError if a node has no disk.

    `nodes` is what the user asked for; without it, machines with fewer than two cores per node get
    one node. The replication factor follows the nodes down, never up. `cores`: of each machine;
    none if they are not known yet.
    """
    notes: list[Note] = []
    fitted: list[Profile] = []
    for profile in profiles:
        cluster = profile.cluster
        wanted = nodes or cluster.nodes
        if cluster.database == EXISTING:
            fitted.append(profile)  # not this machine's nodes
            continue
        if nodes is None and cores and sum(cores) < CORES_PER_NODE * wanted:
            wanted = 1
        if wanted != cluster.nodes:
            have = "this machine has" if len(cores) == 1 else f"the {len(cores)} machines have"
            why = "as asked" if nodes else f"{have} {sum(cores)} cores"
            text = (
                f"{counted(wanted, 'database node')} instead of the profile's "
                f"{cluster.nodes} ({why}): replication is not what the profile says"
            )
            notes.append(Note("nodes as asked" if nodes else "fewer nodes", text, profile.name))
        factor = min(cluster.replication_factor, wanted)
        cluster = replace(cluster, nodes=wanted, replication_factor=factor)
        fitted.append(replace(on_nodes(profile, wanted), cluster=cluster))
    return tuple(fitted), tuple(notes)


def on_nodes(profile: Profile, nodes: int) -> Profile:
    """The profile with its tier's disks of so many nodes. UsageError if one has none."""
    engines = [machines.known_as(engine) for engine in machines.named(profile)]
    return replace(profile, tier=node_disks.of_nodes(profile.tier, nodes, engines))


def with_clients(profiles: Sequence[Profile], clients: int | None) -> tuple[Profile, ...]:
    """The profiles with so many load clients; None: each with its own number."""
    if clients is None:
        return tuple(profiles)
    return tuple(replace(one, cluster=replace(one.cluster, clients=clients)) for one in profiles)


def as_used(profile: Profile, workload: Workload) -> Profile:
    """The profile as one workload uses it: without a database, where it measures the disk alone,
    and so on one node by one client, since each node's disk is like any other."""
    if workload.database is None:
        return profile
    alone = replace(profile.cluster, nodes=1, replication_factor=1, clients=1)
    cluster = replace(alone, database=workload.database)
    return replace(profile, cluster=cluster)


def make_plan(
    name: str,
    profiles: Sequence[Profile],
    workloads: Sequence[Workload],
    *,
    repetitions: int,
    seed: int,
    scale: str,
    margin_pct: float,
    baseline: str | None = None,
    notes: Sequence[Note] = (),
    gate_every: int | None = None,
    drain: bool = False,
    latency_at_pct: float | None = None,
    aa: bool = False,
    looks: Mapping[int, float] | None = None,
    platform: str = "",
) -> Plan:
    """The baseline is the first profile unless named. UsageError for an unknown one.

    `aa`: it is measured under a second name too, in the same rounds as all others. `looks`: as in
    `Plan`, of a campaign that may grow from so many `repetitions`.
    """
    names = [profile.name for profile in profiles]
    if baseline is not None and baseline not in names:
        raise UsageError(
            f"the baseline {baseline!r} is not among the profiles compared: {', '.join(names)}",
            advice="name it in --profiles too",
        )
    stages = 1 if latency_at_pct is None else 2  # as many runs follow at the rate that they find
    twin = _twin(profiles, baseline or names[0]) if aa else None
    if twin is not None:
        profiles = (*profiles, twin)
        names.append(twin.name)
    rounds = _rounds(names, [workload.name for workload in workloads], repetitions, seed)
    runs = tuple(
        Run(number, profile, workload, repetition)
        for number, (repetition, workload, profile) in enumerate(rounds, start=1)
    )
    return Plan(
        name=name,
        seed=seed,
        scale=scale,
        baseline=baseline or names[0],
        repetitions=repetitions,
        margin_pct=margin_pct,
        profiles=tuple(profiles),
        workloads=tuple(workloads),
        runs=runs,
        estimate_s=_estimate_s(profiles, workloads, repetitions * stages)
        + _gates_s(profiles, len(runs), gate_every, drain),
        notes=tuple(notes),
        gate_every=gate_every,
        drain=drain,
        latency_at_pct=latency_at_pct,
        twin=twin.name if twin else None,
        looks=looks or {},
        platform=platform,
    )


def grown(plan: Plan, workloads: Sequence[str]) -> Plan:
    """The plan with one more repetition of these workloads on every tier behind its runs, in the
    order in which it would have been planned at once."""
    number = len(plan.runs)
    done = {run.workload: run.repetition for run in plan.runs}  # the last, in order of numbers
    most = max(done.values(), default=0) + 1
    profiles = [profile.name for profile in plan.profiles]
    loads = [workload.name for workload in plan.workloads]
    added = [
        Run(number := number + 1, profile, workload, repetition)
        for repetition, workload, profile in _rounds(profiles, loads, most, plan.seed)
        if workload in workloads and repetition == done[workload] + 1
    ]
    chosen = [workload for workload in plan.workloads if workload.name in workloads]
    return replace(
        plan,
        repetitions=max(run.repetition for run in (*plan.runs, *added)),
        runs=(*plan.runs, *added),
        estimate_s=plan.estimate_s + _runs_s(plan.profiles, chosen, 1),
    )


def followed_by(
    plan: Plan, cells: Sequence[tuple[Workload, Sequence[Profile]]], notes: Sequence[Note] = ()
) -> Plan:
    """The plan with more workloads behind its own, each on some of its tiers, in blocks as ever."""
    tiers_of = {workload.name: {one.name for one in tiers} for workload, tiers in cells}
    names = [profile.name for profile in plan.profiles]
    rounds = _rounds(names, list(tiers_of), plan.repetitions, plan.seed)
    wanted = [one for one in rounds if one[2] in tiers_of[one[1]]]
    more = (
        Run(number, profile, workload, repetition)
        for number, (repetition, workload, profile) in enumerate(wanted, len(plan.runs) + 1)
    )
    return replace(
        plan,
        workloads=(*plan.workloads, *(workload for workload, _ in cells)),
        runs=(*plan.runs, *more),
        notes=(*plan.notes, *notes),
    )


def _twin(profiles: Sequence[Profile], baseline: str) -> Profile:
    """The baseline under a second name. UsageError if another profile has that name."""
    name = f"{baseline}-again"
    if any(profile.name == name for profile in profiles):
        raise UsageError(
            f"{name!r} is the name of a profile, and --aa needs it for the second {baseline}",
            advice="give that profile's file another name",
        )
    return replace(next(one for one in profiles if one.name == baseline), name=name)


def tier_notes(profiles: Sequence[Profile]) -> tuple[Note, ...]:
    """What about a tier differs from the disk one buys."""
    notes: list[Note] = []
    for profile in profiles:
        tier = profile.tier
        if tier.kind == "cgroup":
            text = (
                "limits by control group, approximate: no latency, no burst, reads and writes "
                "capped apart"
            )
            notes.append(Note("approximate limits", text, profile.name))
        if tier.burst_time_scale != 1:
            text = f"burst times are divided by {tier.burst_time_scale:g}"
            notes.append(Note("burst scaled", text, profile.name))
    return tuple(notes)


def scale_notes(workloads: Sequence[Workload], scale: str) -> tuple[Note, ...]:
    """Workloads that have no sizes of their own at `scale`."""
    return tuple(
        Note(
            "other scale",
            f"{workload.name} runs at scale {workload.scale}, which is its {scale}",
        )
        for workload in workloads
        if workload.scale != scale
    )


def is_real(tier: Tier) -> bool:
    """Whether the tier is a disk that is not of our making, which may change in a campaign."""
    return tier.is_real or (tier.kind == "cgroup" and tier.path is not None)


def check_owners(profiles: Sequence[Profile], workloads: Sequence[Workload], database: str) -> None:
    """UsageError where something is asked of a cluster that others run which it cannot give, or of
    one of ours which only theirs can. `database`: as asked for, or auto."""
    for profile in profiles:
        theirs = profile.cluster.database == EXISTING
        if theirs and database not in ("auto", EXISTING):
            raise UsageError(
                f"{profile.name} is a cluster that others run: it cannot be started as {database}",
                advice="leave out --db: tierbench finds out which database answers there",
            )
        if database == EXISTING and not theirs:
            raise UsageError(
                f"{profile.name} names no running cluster to attach to",
                advice="docs/YUGABYTEDB.md shows a profile that has one (`existing:`)",
            )
        alone = [one.name for one in workloads if one.database is not None]
        if theirs and alone:
            raise UsageError(
                f"{', '.join(alone)} measures a disk by itself, and those of {profile.name} are "
                "not here",
                advice="name workloads on a database, or run fio on the cluster's nodes",
            )


def _rounds(
    profiles: Sequence[str], workloads: Sequence[str], repetitions: int, seed: int
) -> list[tuple[int, str, str]]:
    dice = random.Random(seed)
    order = {workload: dice.sample(profiles, len(profiles)) for workload in workloads}
    rounds: list[tuple[int, str, str]] = []
    for repetition in range(1, repetitions + 1):
        for workload in workloads:
            turned = order[workload] if repetition % 2 else order[workload][::-1]
            rounds.extend((repetition, workload, profile) for profile in turned)
    return rounds


def _window_s(workload: Workload) -> float:
    each_s = workload.warmup_s + workload.measure_s
    return each_s * disk_matrix.stretches(workload.options)


def _checking_s(workload: Workload) -> float:
    warehouses = workload.dataset.parameters.get("warehouses", 0)
    if not isinstance(warehouses, int) or warehouses <= SAMPLED_ABOVE:
        return 0.0
    return SAMPLE_S + PAYMENTS_S * warehouses


def run_s(workload: Workload) -> float:
    """How long one run of it takes, roughly, once its data are loaded and its tier is verified."""
    return _window_s(workload) + RUN_OVERHEAD_S + _checking_s(workload)


class TimeLeft:
    """How long the rest will take: the windows planned, and what a run was seen to take beside."""

    def __init__(self) -> None:
        self._seen_s: list[float] = []

    def before(self, run: Run, plan: Plan) -> float:
        """Seconds from the start of `run` to the end of all that is planned."""
        if not self._seen_s:
            return plan.estimate_s
        rest = [plan.workload(one.workload) for one in plan.runs[run.number - 1 :]]
        # The median, because the first runs also load data and take the gates.
        return sum(_window_s(one) + median(self._seen_s) for one in rest)

    def took(self, workload: Workload, seconds: float) -> None:
        self._seen_s.append(max(0.0, seconds - _window_s(workload)))


def most_s(plan: Plan) -> float:
    """How long it all may take, with the repetitions that may be added to the plan."""
    runs_s = sum(run_s(plan.workload(run.workload)) for run in plan.runs)
    more = max(plan.looks) / plan.repetitions - 1 if plan.looks else 0.0
    return plan.estimate_s + more * runs_s


def _estimate_s(
    profiles: Sequence[Profile], workloads: Sequence[Workload], repetitions: int
) -> float:
    datasets = {(w.dataset.family, tuple(w.dataset.parameters.items())) for w in workloads}
    return _runs_s(profiles, workloads, repetitions) + LOAD_S * len(datasets)


def _runs_s(profiles: Sequence[Profile], workloads: Sequence[Workload], repetitions: int) -> float:
    rented = sum(profile.tier.storage_class is not None for profile in profiles)
    rents_s = RENT_S * rented * len(workloads) * repetitions
    return sum(run_s(one) for one in workloads) * len(profiles) * repetitions + rents_s


def _gates_s(profiles: Sequence[Profile], runs: int, gate_every: int | None, drain: bool) -> float:
    """Gates of all tiers, disk after disk. Those of real disks are taken again, without draining
    after the last."""
    between = (runs - 1) // gate_every if gate_every else 0
    total_s = 0.0
    for tier in {profile.tier.name: profile.tier for profile in profiles}.values():
        drained_s = tier.burst.duration_s if drain and tier.burst and is_real(tier) else 0.0
        again = between if is_real(tier) else 0
        gate_s = GATE_S + (RENT_S if tier.storage_class else 0.0)
        one_s = (gate_s + drained_s) * (1 + again) + (gate_s if is_real(tier) else 0.0)
        total_s += one_s * max(1, node_disks.count(tier))
    return total_s
