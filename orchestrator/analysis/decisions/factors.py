"""What a factor does beside the tier: steps, laws, causes, and how far a tier is enough. Pure.

A law is a power of the value: least squares of logarithms over the repetitions that have all
values, each with a level of its own, as a slow hour slows all of them. It holds unless the means
are off the line by more than the margin and by more than chance: the test for lack of fit, against
the spread of repetitions (Draper and Smith, Applied Regression Analysis, 1998, section 2.1). Where
it does not hold there is a knee: between the two values that leave the best pair of lines.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import numpy as np
from scipy import special

from orchestrator.analysis import comparability, comparisons, overload, results
from orchestrator.analysis.comparisons import Pair
from orchestrator.analysis.conclusions import (
    Bottleneck,
    Decision,
    Delta,
    FactorOnTier,
    Law,
    VariedFactor,
)
from orchestrator.analysis.results import Key, Results, RunData
from orchestrator.analysis.statistics import stats
from orchestrator.analysis.telemetry import resources
from orchestrator.facts import BottleneckCause
from orchestrator.metrics import METRICS
from orchestrator.model import Workload
from orchestrator.planning import factors
from orchestrator.planning.plan import as_used
from orchestrator.units import format_bytes, format_number, gathered

LEVEL = 0.05  # of the test for lack of fit; and each end of a law's interval
_READS, _MORE_READS = 0.1, 1.5  # from the disk, a transaction; and times as many as before
_RATE = "throughput_per_s", "all"
Causes = Mapping[tuple[str, str], BottleneckCause]  # of each cell


@dataclass(frozen=True)
class _Values:
    """A workload at the values of a factor, on one tier."""

    campaign: Results
    tier: str
    loads: Sequence[Workload]

    @cached_property
    def runs(self) -> tuple[tuple[RunData, ...], ...]:
        return tuple(results.finished(self.campaign, self.tier, load.name) for load in self.loads)

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        profile = self.campaign.plan.profile(self.tier)
        return tuple(as_used(profile, load).cluster.nodes for load in self.loads)

    @cached_property
    def numbers(self) -> tuple[float, ...]:
        """None unless all values are numbers."""
        numbers = [load.varied.number for load in self.loads if load.varied]
        return tuple(n for n in numbers if n is not None) if None not in numbers else ()

    def mean(self, place: int, key: Key) -> float | None:
        every = [results.value_of(run.record, *key) for run in self.runs[place]]
        known = [value for value in every if value is not None]
        return fmean(known) if known else None

    def disk_reads(self, place: int) -> float:
        """From all disks, a transaction; 0 if not known."""
        seen = [resources.total(run, None).get("disk_read_iops") for run in self.runs[place]]
        known, rate = [reads for reads in seen if reads], self.mean(place, _RATE)
        return fmean(known) / rate if known and rate else 0.0

    @property
    def keys(self) -> tuple[Key, ...]:
        """Throughput, average latency and p99, of New-Orders if they are counted."""
        every = [run.record for runs in self.runs for run in runs]
        counted = any(results.value_of(record, "nopm") is not None for record in every)
        scope = "new_order" if counted else "all"
        rate = "nopm" if counted else "throughput_per_s"
        return (rate, "all"), ("latency_avg_s", scope), ("latency_p99_s", scope)


def of_plan(campaign: Results) -> dict[str, tuple[Workload, ...]]:
    """Name of the workload varied → itself at each value, in their order."""
    pairs = ((load.varied.of, load) for load in campaign.plan.workloads if load.varied)
    return {of: tuple(loads) for of, loads in gathered(pairs).items()}


def varied(
    campaign: Results, of_cells: Sequence[Bottleneck], decisions: Sequence[Decision]
) -> tuple[VariedFactor, ...]:
    """What the factor of the plan does to each workload."""
    causes = {(cell.profile, cell.workload): cell.cause for cell in of_cells}
    every = []
    for name, loads in of_plan(campaign).items():
        tiers = [_Values(campaign, tier.name, loads) for tier in campaign.plan.tiers]
        own = {of.workload: of for of in decisions}
        at_values = [own[load.name] for load in loads if load.name in own]
        points = [load.varied for load in loads if load.varied]
        every.append(
            VariedFactor(
                workload=name,
                factor=points[0].factor,
                values=tuple(map(factors.in_words, points)),
                numbers=tiers[0].numbers,
                workloads=tuple(load.name for load in loads),
                tiers=tuple(_on_tier(values, causes) for values in tiers),
                horizons=tuple(_horizons(tiers, at_values, causes)),
            )
        )
    return tuple(every)


def _on_tier(values: _Values, causes: Causes) -> FactorOnTier:
    rate = values.keys[0]
    means = {place: values.mean(place, rate) for place in range(len(values.loads))}
    each = {place: mean / values.nodes[place] for place, mean in means.items() if mean}
    first = each.get(0)
    return FactorOnTier(
        tier=values.tier,
        steps=_steps(values),
        per_node={values.loads[place].name: rate for place, rate in each.items()},
        efficiency_pct={
            values.loads[place].name: 100 * rate / first for place, rate in each.items() if first
        },
        laws=tuple(_laws(values)),
        causes={
            load.name: causes[values.tier, load.name]
            for load in values.loads
            if (values.tier, load.name) in causes
        },
    )


def _steps(values: _Values) -> tuple[Delta, ...]:
    """Each value against the first: but for the factor, their runs must be alike."""
    (first, *others), plan = values.loads, values.campaign.plan
    pairs: list[Pair] = []
    for load, runs in zip(others, values.runs[1:], strict=True):
        every = [*values.runs[0], *runs]
        if not runs or not values.runs[0]:
            continue
        why = comparability.obstacle(every, first.varied.factor if first.varied else "")
        if any(overload.overloaded(run.record) for run in every):
            why = why or "a rate that was asked for is not served"
        pairs += comparisons.of_runs(load.name, load.name, (values.runs[0], runs), why)
    return comparisons.deltas(first.name, pairs, plan.margin_pct, plan.p99_margin_pct)


# ------------------------------------------------------------------ laws


def _laws(values: _Values) -> Iterator[Law]:
    if not values.numbers or any(number <= 0 for number in values.numbers):
        return
    for key in values.keys:
        by_repetition: dict[int, list[float]] = {}
        for run in (run for runs in values.runs for run in runs):
            if value := results.value_of(run.record, *key):
                by_repetition.setdefault(run.record.run.repetition, []).append(value)
        rows = [row for row in by_repetition.values() if len(row) == len(values.loads)]
        if len(rows) < 2:
            continue
        yield law(key, values.numbers, rows, values.campaign.plan.margin_pct)
        if len(set(values.nodes)) > 1 and METRICS[key[0]].direction == "higher":
            per_node = np.asarray(rows) / np.asarray(values.nodes)
            yield law(key, values.numbers, per_node, values.campaign.plan.margin_pct, True)


def law(
    key: Key,
    numbers: Sequence[float],
    rows: Sequence[Sequence[float]] | np.ndarray,
    margin_pct: float,
    per_node: bool = False,
) -> Law:
    """How figures follow the numbers; `rows`: a repetition each, in the order of the numbers."""
    x = np.log(np.asarray(numbers, dtype=float))
    logs = np.log(np.asarray(rows, dtype=float))
    x, own = x - x.mean(), logs - logs.mean(axis=1, keepdims=True)
    repetitions, count = own.shape
    means, weight = own.mean(axis=0), repetitions * float((x**2).sum())
    slope = float((own * x).sum()) / weight
    off = means - slope * x
    chance, lack = float(((own - means) ** 2).sum()), repetitions * float((off**2).sum())
    freedom = (repetitions - 1) * (count - 1), count - 2
    spread = max(math.sqrt((chance + lack) / sum(freedom)), stats.NOISE_FLOOR)
    half = stats.t_quantile(1 - LEVEL, sum(freedom)) * spread / math.sqrt(weight)
    knee = None
    if freedom[1] and float(np.abs(off).max()) > math.log1p(margin_pct / 100):
        ratio = lack / freedom[1] / max(chance / freedom[0], stats.NOISE_FLOOR**2)
        if float(special.fdtrc(freedom[1], freedom[0], ratio)) <= LEVEL:
            knee = _knee(x, means)
    return Law(*key, per_node, slope, slope - half, slope + half, count, knee)


def _knee(x: np.ndarray, means: np.ndarray) -> int:
    """Place of the value behind which figures follow another line. Where two pairs of lines fit
    within 3 %, the step between which is most unlike its own line; of equals the steepest."""

    def line(part: slice) -> tuple[float, float]:
        own_x, own = x[part] - x[part].mean(), means[part] - means[part].mean()
        slope = float((own * own_x).sum()) / max(float((own_x**2).sum()), 1e-12)
        return slope, float(((own - slope * own_x) ** 2).sum())

    def misfit(place: int) -> tuple[float, float, float]:
        (left, off), (right, more) = line(slice(0, place + 1)), line(slice(place + 1, None))
        step = float((means[place + 1] - means[place]) / (x[place + 1] - x[place]))
        return round(off + more, 3), -round(abs(step - (left if place else right)), 2), -abs(step)

    return min(range(len(x) - 1), key=misfit)


# ------------------------------------------------------------------ the growth horizon


def _horizons(
    tiers: Sequence[_Values], decisions: Sequence[Decision], causes: Causes
) -> Iterator[str]:
    """Of each tier but the dearest, or of all with an SLO: how far it is proven enough. Values are
    tested from the least upwards, as loads of a sweep are, so each at the level of one."""
    of_all = [{offer.tier: offer.standing for offer in of.offers} for of in decisions]
    names = next((list(of) for of in of_all if of), [])
    with_slo = any(of.slo for of in decisions)
    own = {values.tier: values for values in tiers}
    for name in names if with_slo else names[:-1]:
        values = own[name]
        if not values.numbers:
            return
        words = [factors.in_words(load.varied) for load in values.loads if load.varied]
        standings = [of.get(name, "open") for of in of_all]
        ends = next((at for at, word in enumerate(standings) if word != "enough"), len(words))
        if ends == len(words):
            yield f"{name} is proven enough at every value, up to {words[-1]}{_size(values, -1)}"
            continue
        not_so = "it is not" if standings[ends] == "not enough" else "that is open"
        up_to = (
            f"{name} is enough up to {words[ends - 1]}{_size(values, ends - 1)}; at {words[ends]}"
        )
        if not ends:
            up_to, not_so = f"at {words[0]} already, {name}", "is not enough"
            if standings[0] != "not enough":
                up_to, not_so = f"whether {name} is enough at {words[0]} already", "is open"
        why = _change(values, ends, causes)
        yield f"{up_to} {not_so}{_size(values, ends)}{f': {why}' if why else ''}"


def _size(values: _Values, place: int) -> str:
    """` (4.6 GB a node, 1.1 × memory)`, where the factor is the size of the data."""
    if len({str(load.dataset) for load in values.loads}) < 2:
        return ""
    sizes = [results.database_before(run.record).data_bytes for run in values.runs[place]]
    known = [size for size in sizes if size]
    if not known:
        return ""
    node = values.runs[place][0].record.profile.cluster.node
    times = f", {format_number(fmean(known) / node.memory_bytes)} × memory" if node else ""
    return f" ({format_bytes(fmean(known))} a node{times})"


def _change(values: _Values, place: int, causes: Causes) -> str:
    """What is another at this value than at the one before: reads from the disk, and the cause."""
    said, places = list[str](), (max(0, place - 1), place)
    reads = [values.disk_reads(at) for at in places]
    if reads[1] > max(_READS, _MORE_READS * reads[0]):
        few, many = map(format_number, reads)
        said.append(f"reads leave the cache ({few} → {many} disk reads a transaction)")
    names = [str(causes.get((values.tier, values.loads[at].name), "")) for at in places]
    before, after = (name.replace("_", " ") for name in names)
    if before and after and before != after:
        said.append(f"the cause changes from {before} to {after}")
    return "; ".join(said) or after
