"""Profiles and workloads → an ordered, seeded plan of runs with a time estimate. Pure.

Order: repetition by repetition, so that an interrupted campaign has whole rounds; within a
round the tiers of one workload follow each other in an order that is balanced over the rounds
(`balanced_orders`), and so do the values of a factor, so that neither their places nor a slow
drift of the machine favour any.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from orchestrator.design import (
    boxed_work,
    disk_matrix,
    machines,
)
from orchestrator.design.factors import EXISTING
from orchestrator.design.used_profiles import on_nodes
from orchestrator.errors import UsageError
from orchestrator.facts import NoteKind
from orchestrator.model import (
    ClusterSpec,
    Note,
    Plan,
    Profile,
    Run,
    Workload,
)
from orchestrator.planning.files_or_rows import FileMembers
from orchestrator.units import counted, gathered

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
            fitted.append(profile)  # not this machine's nodes
            continue
        wanted = nodes or cluster.nodes
        if nodes is None:
            wanted = _nodes_that_fit(wanted, cores)
        if wanted != cluster.nodes:
            notes.append(_other_nodes(profile, wanted, bool(nodes), cores))
        copies = min(cluster.replication_factor, wanted)
        if wanted != cluster.nodes:
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
    for probe in probes:
        runs += [Run(0, name, probe.name, 1) for name in names]
    all_profiles = list(profiles)
    twin: str | None = None
    if aa:
        second = _second(profiles, baseline)
        twin = second.name
        all_profiles.append(second)
        names.append(twin)
    runs += _runs(names, workloads, repetitions, seed)
    return Plan(
        name=name,
        seed=seed,
        baseline=baseline,
        repetitions=repetitions,
        profiles=tuple(all_profiles),
        workloads=tuple(workloads),
        probes=tuple(probes),
        runs=numbered(runs),
        estimate_s=0.0,  # `durations.timed` says it
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
    most = max(done.values(), default=0) + 1
    profiles = [profile.name for profile in plan.profiles]
    runs = list(plan.runs)
    for run in _runs(profiles, plan.workloads, most, plan.seed):
        if run.workload in workloads and run.repetition == done[run.workload] + 1:
            runs.append(run)
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
    for run in _runs(names, added, plan.repetitions, plan.seed):
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


def is_of_others(cluster: ClusterSpec) -> bool:
    """Whether others run it: then no option changes what its nodes run."""
    return cluster.database == EXISTING


def check_owners(
    profiles: Sequence[Profile],
    workloads: Sequence[Workload],
    database: str,
    on_files: FileMembers,
) -> None:
    """UsageError where something is asked of a cluster that others run which it cannot give,
    or of a cluster of ours which only theirs can.

    `database`: of the nodes that are started here, as asked for, or auto. `on_files`: the
    members that take no rows.
    """
    alone = [load.name for load in workloads if load.database is not None]
    if database not in ("auto", EXISTING) and not _started(profiles):
        raise _not_started_here(profiles[0].name, database)
    for profile in profiles:
        is_others = is_of_others(profile.cluster)
        if database == EXISTING and not is_others:
            raise _no_running_cluster(profile.name)
        if is_others and alone:
            raise _disks_elsewhere(alone, profile.name)
        runs_on = database
        if is_others or database == "auto":
            runs_on = profile.cluster.member
        unfit = _unfit(workloads, runs_on in on_files.databases, on_files)
        if unfit:
            raise _not_for_this_database(unfit, runs_on, on_files)
        if runs_on in on_files.on_one_engine and machines.named(profile):
            raise _not_on_several_engines(profile.name, runs_on)


def _started(profiles: Sequence[Profile]) -> int:
    """How many of them have nodes that are started here."""
    count = 0
    for profile in profiles:
        if not is_of_others(profile.cluster):
            count += 1
    return count


def _unfit(
    workloads: Sequence[Workload], takes_files: bool, on_files: FileMembers
) -> list[str]:
    """Workloads on files where a database takes rows, or on rows where it takes files."""
    names: list[str] = []
    for load in workloads:
        loads_files = load.generator in on_files.load_generators
        if load.database is None and loads_files != takes_files:
            names.append(load.name)
    return names


def _no_running_cluster(profile: str) -> UsageError:
    return UsageError(
        f"{profile} names no running cluster to attach to",
        advice="docs/YUGABYTEDB.md shows a profile that has one (`existing:`)",
    )


def _not_started_here(profile: str, database: str) -> UsageError:
    return UsageError(
        f"{profile} is an existing cluster: it cannot be started as {database}",
        advice="leave out --db: tierbench finds out which database answers there",
    )


def _disks_elsewhere(workloads: Sequence[str], profile: str) -> UsageError:
    return UsageError(
        f"{', '.join(workloads)} measures a disk by itself, and those of {profile} are "
        "not here",
        advice="name workloads on a database, or run fio on the cluster's nodes",
    )


def _not_for_this_database(
    workloads: Sequence[str], database: str, on_files: FileMembers
) -> UsageError:
    databases = " and ".join(sorted(on_files.databases))
    what = f"{', '.join(workloads)} cannot run on {database}"
    if not on_files.databases:
        return UsageError(what, advice="name workloads that load rows")
    return UsageError(
        what,
        advice=(
            f"loads of files (hdfs-…) run on {databases} alone, and these take "
            "no other loads. Give --db hdfs (DB=hdfs) with such loads, and "
            "leave it out with others. It can also be given with stores, which "
            "stay what they are"
        ),
    )


def _not_on_several_engines(profile: str, database: str) -> UsageError:
    return UsageError(
        f"{database} runs on one Docker engine or on Kubernetes, and "
        f"{profile} names `machines`",
        advice="take `machines` out of the profile, or name a Kubernetes cluster in it",
    )


def _runs(
    profiles: Sequence[str], workloads: Sequence[Workload], repetitions: int, seed: int
) -> list[Run]:
    """The runs in their order, without numbers."""
    dice = random.Random(seed)

    def balanced(names: Sequence[str]) -> list[list[str]]:
        return balanced_orders(dice.sample(names, len(names)), repetitions)

    # The dice are thrown for all tiers first, then for all values: results repeat a plan.
    tiers = {workload.name: balanced(profiles) for workload in workloads}
    groups = gathered((_file_of(workload), workload.name) for workload in workloads)
    values = [balanced(names) for names in groups.values()]
    runs: list[Run] = []
    for round_ in range(repetitions):
        for rounds in values:
            for workload in rounds[round_]:
                for profile in tiers[workload][round_]:
                    runs.append(Run(0, profile, workload, round_ + 1))
    return runs


def _file_of(workload: Workload) -> str:
    """The name of its file, which all values of a factor have together."""
    if workload.varied:
        return workload.varied.of
    return workload.name


def numbered(runs: Iterable[Run]) -> tuple[Run, ...]:
    """The runs of a plan, counted from 1 in their order."""
    in_order: list[Run] = []
    for number, run in enumerate(runs, start=1):
        in_order.append(replace(run, number=number))
    return tuple(in_order)


def interruptions(plan: Plan) -> int:
    """How often a campaign with this plan was ended and resumed."""
    return sum(note.kind == "interrupted" for note in plan.notes)


def run_s(workload: Workload) -> float:
    """The windows of one run, at least."""
    each_s = workload.warmup_s + workload.measure_s + workload.confirm_s
    return each_s * disk_matrix.stretches(workload.options)


class TimeLeft:
    """How long the rest will take: the windows planned, and what a run was seen to take beside."""

    def __init__(self) -> None:
        self._seen_s: list[float] = []
        # Workload that ends with its work → what its runs took, windows included.
        self._whole_s: dict[str, list[float]] = {}

    def before(self, runs: Sequence[Run], plan: Plan) -> float:
        """Seconds that the `runs` take which are not made yet."""
        if not self._seen_s and not self._whole_s:
            return plan.estimate_s * len(runs) / len(plan.runs)
        left_s = 0.0
        for run in runs:
            left_s += self._run_s(plan.workload(run.workload))
        return left_s

    def _run_s(self, workload: Workload) -> float:
        """The median of what was seen, because first runs also load data and take the gates."""
        whole_s = self._whole_s.get(workload.name)
        if whole_s:
            return median(whole_s)
        around_s = 0.0
        if self._seen_s:
            around_s = median(self._seen_s)
        return run_s(workload) + around_s

    def took(self, workload: Workload, seconds: float) -> None:
        if boxed_work.ends_with_work(workload):
            self._whole_s.setdefault(workload.name, []).append(seconds)
            return
        self._seen_s.append(max(0.0, seconds - run_s(workload)))


# ------------------------------------------------------------------ orders


def balanced_orders(names: Sequence[str], rounds: int) -> list[list[str]]:
    """The order of each round.

    The first run of a round may meet another machine than those behind it: caches, clock
    speed, what the round before left. So rounds go through a Williams design: each tier
    stands at each place, and follows each other tier, equally often (E. J. Williams, Aust.
    J. Sci. Res. A 2, 149-168, 1949); each order is turned round in the next round, so that
    a steady drift favours none after every two.

    All is balanced after as many rounds as there are names, or twice as many if that is
    odd; before that how often each is first differs by one.
    """
    count = len(names)
    if not count:
        return [[] for _ in range(rounds)]
    steps = [_step(place) for place in range(count)]
    shifts = count
    if count % 2 == 0:  # turned round, they are the other half
        shifts = count // 2
    orders: list[list[str]] = []
    for shift in range(shifts):
        order = [names[(shift + step) % count] for step in steps]
        orders += [order, order[::-1]]
    return [orders[number % len(orders)] for number in range(rounds)]


def _step(place: int) -> int:
    """0, 1, −1, 2, −2, …: neighbours differ by each amount once."""
    amount = (place + 1) // 2
    if place % 2:
        return amount
    return -amount
