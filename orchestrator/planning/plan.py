"""Profiles and workloads → an ordered, seeded plan of runs with a time estimate. Pure.

Order: repetition by repetition, so that an interrupted campaign has whole rounds; within a round
the tiers of one workload follow each other in an order that is balanced over the rounds
(`balanced_orders`), and so do the values of a factor, so that neither their places nor a slow drift
of the machine favour one."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from orchestrator.errors import UsageError
from orchestrator.model import STORE, Note, Plan, Profile, Run, Workload
from orchestrator.planning import (
    disk_matrix,
    factors,
    machines,
    node_disks,
    varied_profiles,
)
from orchestrator.planning.factors import EXISTING as EXISTING
from orchestrator.units import counted, gathered

FULL_SCALES = ("study", "study-20")  # with the sizes of the published study
CORES_PER_NODE = 2
# which runs on these alone, and they take no other
HDFS = "hdfs"
TERA = "tera"


def fit_to_machines(
    profiles: Sequence[Profile], nodes: int | None, cores: Sequence[int]
) -> tuple[tuple[Profile, ...], tuple[Note, ...]]:
    """The profiles with the number of nodes that will be started, each with its disks, and what
    must be said about it. UsageError if a node has no disk. `nodes` is what the user asked for;
    without it, machines with fewer than two cores per node get one node. The replication factor
    follows the nodes down, never up. `cores`: of each machine; none if they are not known yet."""
    notes = list[Note]()
    fitted = list[Profile]()
    for profile in profiles:
        cluster = profile.cluster
        wanted = nodes or cluster.nodes
        if cluster.database == EXISTING:
            fitted.append(profile)  # not this machine's nodes
            continue
        if nodes is None and cores and sum(cores) < CORES_PER_NODE * wanted:
            wanted = 1
        if wanted != cluster.nodes:
            if len(cores) == 1:
                have = "this machine has"
            else:
                have = f"the {len(cores)} machines have"
            if nodes:
                why = "as asked"
            else:
                why = f"{have} {sum(cores)} cores"
            text = f"{counted(wanted, 'database node')} instead of the profile's {cluster.nodes} "
            text += f"({why}): replication is not what the profile says"
            notes.append(
                Note("nodes as asked" if nodes else "fewer nodes", text, profile.name)
            )
        factor = min(cluster.replication_factor, wanted)
        cluster = replace(cluster, nodes=wanted, replication_factor=factor)
        fitted.append(replace(on_nodes(profile, wanted), cluster=cluster))
    return tuple(fitted), tuple(notes)


def on_nodes(profile: Profile, nodes: int) -> Profile:
    """The profile with its tier's disks of so many nodes. UsageError if one has none."""
    engines = [machines.known_as(engine) for engine in machines.named(profile)]
    return replace(profile, tier=node_disks.of_nodes(profile.tier, nodes, engines))


def as_used(profile: Profile, workload: Workload) -> Profile:
    """The profile as one workload uses it: at its value of a factor; without a database, where it
    measures the disk alone, and so on the first node by one client."""
    if workload.database is None:
        return _at_value(profile, workload)
    alone = replace(profile.cluster, nodes=1, replication_factor=1, clients=1)
    cluster = replace(alone, database=workload.database, network_bytes_per_s=None)
    return replace(profile, cluster=cluster)


def _at_value(profile: Profile, workload: Workload) -> Profile:
    value = workload.varied
    if value is None:
        return profile
    tier = profile.tier_of.get(value.value)
    if tier is not None:
        name = f"{tier.name}, {factors.in_words(value)}"  # each has a gate
        return replace(profile, tier=replace(tier, name=name), tier_of={})
    if value.factor == factors.WITHOUT:
        return varied_profiles.taken_away(profile, factors.STAGES[value.value])
    if value.factor == factors.NODES:
        profile = on_nodes(profile, value.count)
    return replace(profile, cluster=varied_profiles.on_cluster(profile.cluster, value))


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
    twin = f"{baseline}-again"
    if aa and twin in names:
        raise _name_of_the_second(twin, baseline)
    twins = [replace(p, name=twin) for p in profiles if aa and p.name == baseline]
    names += [twin] * aa
    quiet = [
        Run(0, profile.name, probe.name, 1) for probe in probes for profile in profiles
    ]
    runs = [*quiet, *_runs(names, workloads, repetitions, seed)]
    return Plan(
        name=name,
        seed=seed,
        baseline=baseline,
        repetitions=repetitions,
        profiles=(*profiles, *twins),
        workloads=tuple(workloads),
        probes=tuple(probes),
        runs=numbered(runs),
        estimate_s=0.0,  # `durations.timed` says it
        twin=twin if aa else None,
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
        weights=weights or {},
    )


def _unknown_baseline(baseline: str, profiles: Sequence[str]) -> UsageError:
    names = ", ".join(profiles)
    return UsageError(
        f"the baseline {baseline!r} is not among the profiles compared: {names}",
        advice="name it in --profiles too",
    )


def _name_of_the_second(name: str, baseline: str) -> UsageError:
    return UsageError(
        f"{name!r} is the name of a profile, and --aa needs it for the second {baseline}",
        advice="give that profile's file another name",
    )


def grown(plan: Plan, workloads: Sequence[str]) -> Plan:
    """The plan with one more repetition of these workloads on every tier behind its runs, in the
    order in which it would have been planned at once."""
    done: dict[
        str, int
    ] = {}  # runs that repeat a failed one come behind the last repetition
    for run in plan.runs:
        done[run.workload] = max(run.repetition, done.get(run.workload, 0))
    most = max(done.values(), default=0) + 1
    profiles = [profile.name for profile in plan.profiles]
    added = (
        run
        for run in _runs(profiles, plan.workloads, most, plan.seed)
        if run.workload in workloads and run.repetition == done[run.workload] + 1
    )
    runs = numbered((*plan.runs, *added))
    return replace(plan, repetitions=max(run.repetition for run in runs), runs=runs)


def followed_by(
    plan: Plan,
    cells: Sequence[tuple[Workload, Sequence[Profile]]],
    notes: Sequence[Note] = (),
) -> Plan:
    """The plan with more workloads behind its own, each on some of its tiers, in blocks as ever."""
    tiers_of = {
        workload.name: {tier.name for tier in tiers} for workload, tiers in cells
    }
    names = [profile.name for profile in plan.profiles]
    runs = _runs(names, [load for load, _ in cells], plan.repetitions, plan.seed)
    more = (run for run in runs if run.profile in tiers_of[run.workload])
    return replace(
        plan,
        workloads=(*plan.workloads, *(workload for workload, _ in cells)),
        runs=numbered((*plan.runs, *more)),
        notes=(*plan.notes, *notes),
    )


def check_owners(
    profiles: Sequence[Profile], workloads: Sequence[Workload], database: str
) -> None:
    """UsageError where something is asked of a cluster that others run which it cannot give, or of
    one of ours which only theirs can. `database`: as asked for, or auto."""
    for profile in profiles:
        is_others = profile.cluster.database == EXISTING
        if is_others and database not in ("auto", EXISTING):
            raise _not_started_here(profile.name, database)
        if database == EXISTING and not is_others:
            raise UsageError(
                f"{profile.name} names no running cluster to attach to",
                advice="docs/YUGABYTEDB.md shows a profile that has one (`existing:`)",
            )
        alone = [load.name for load in workloads if load.database is not None]
        if is_others and alone:
            raise _disks_elsewhere(alone, profile.name)
        runs_on = database
        if database in ("auto", EXISTING):
            runs_on = profile.cluster.member
        of_sql = [load for load in workloads if load.database is None]
        of_files = runs_on in (HDFS, STORE)
        unlike = [w.name for w in of_sql if (w.generator == TERA) != of_files]
        if unlike:
            raise _not_for_this_database(unlike, runs_on)
        if runs_on == HDFS and machines.named(profile):
            raise _not_on_several_engines(profile.name)


def _not_started_here(profile: str, database: str) -> UsageError:
    return UsageError(
        f"{profile} is a cluster that others run: it cannot be started as {database}",
        advice="leave out --db: tierbench finds out which database answers there",
    )


def _disks_elsewhere(workloads: Sequence[str], profile: str) -> UsageError:
    return UsageError(
        f"{', '.join(workloads)} measures a disk by itself, and those of {profile} are "
        "not here",
        advice="name workloads on a database, or run fio on the cluster's nodes",
    )


def _not_for_this_database(workloads: Sequence[str], database: str) -> UsageError:
    return UsageError(
        f"{', '.join(workloads)} cannot run on {database}",
        advice="workloads hdfs-… run on `hdfs` and on stores by URL alone, and these "
        "take no others: say --db hdfs (DB=hdfs) with them, and leave it out with others",
    )


def _not_on_several_engines(profile: str) -> UsageError:
    return UsageError(
        "HDFS runs on one Docker engine or on Kubernetes, and "
        f"{profile} names `machines`",
        advice="take `machines` out of the profile, or name a Kubernetes cluster in it",
    )


def _runs(
    profiles: Sequence[str], workloads: Sequence[Workload], repetitions: int, seed: int
) -> list[Run]:
    """In their order, without numbers."""
    dice = random.Random(seed)

    def balanced(names: Sequence[str]) -> list[list[str]]:
        return balanced_orders(dice.sample(names, len(names)), repetitions)

    tiers = {workload.name: balanced(profiles) for workload in workloads}
    groups = gathered((w.varied.of if w.varied else w.name, w.name) for w in workloads)
    values = {of: balanced(names) for of, names in groups.items()}
    return [
        Run(0, profile, workload, repetition)
        for repetition in range(1, repetitions + 1)
        for of in groups
        for workload in values[of][repetition - 1]
        for profile in tiers[workload][repetition - 1]
    ]


def numbered(runs: Iterable[Run]) -> tuple[Run, ...]:
    """The runs of a plan, counted from 1 in their order."""
    return tuple(
        replace(run, number=number) for number, run in enumerate(runs, start=1)
    )


def interruptions(plan: Plan) -> int:
    """How often a campaign with this plan was ended and gone on with."""
    return sum(note.kind == "interrupted" for note in plan.notes)


def run_s(workload: Workload) -> float:
    """The windows of one run, at least."""
    each_s = workload.warmup_s + workload.measure_s + workload.confirm_s
    return each_s * disk_matrix.stretches(workload.options)


class TimeLeft:
    """How long the rest will take: the windows planned, and what a run was seen to take beside."""

    def __init__(self) -> None:
        self._seen_s: list[float] = []

    def before(self, runs: Sequence[Run], plan: Plan) -> float:
        """Seconds that the `runs` take which are not made yet."""
        if not self._seen_s:
            return plan.estimate_s * len(runs) / len(plan.runs)
        # The median, because the first runs also load data and take the gates.
        around_s = median(self._seen_s)
        return sum(run_s(plan.workload(run.workload)) + around_s for run in runs)

    def took(self, workload: Workload, seconds: float) -> None:
        self._seen_s.append(max(0.0, seconds - run_s(workload)))


# ------------------------------------------------------------------ orders


def balanced_orders(names: Sequence[str], rounds: int) -> list[list[str]]:
    """The order of each round. The first run of a round may meet another machine than those behind
    it: caches, clock speed, what the round before left. So rounds go through a Williams design:
    each tier stands at each place, and follows each other tier, equally often (E. J. Williams,
    Aust. J. Sci. Res. A 2, 149-168, 1949); each order is turned round in the next round, so that a
    steady drift favours none after every two. All is balanced after as many rounds as there are
    names, or twice as many if that is odd; before that how often each is first differs by one."""
    count = len(names)
    if not count:
        return [[] for _ in range(rounds)]
    # 0, 1, −1, 2, −2, …: neighbours differ by each amount once.
    steps = [(place + 1) // 2 * (1 if place % 2 else -1) for place in range(count)]
    # even: turned, they are the others
    if count % 2:
        shifts = range(count)
    else:
        shifts = range(count // 2)
    orders: list[list[str]] = []
    for shift in shifts:
        order = [names[(shift + step) % count] for step in steps]
        orders += [order, order[::-1]]
    return [orders[number % len(orders)] for number in range(rounds)]
