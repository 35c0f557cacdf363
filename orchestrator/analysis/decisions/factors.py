"""What a factor does beside the tier: steps, laws, causes, and how far a tier is enough. Pure.

A law is a power of the value: least squares of logarithms over the repetitions that have all
values, each with a level of its own, as a slow hour slows all of them. It holds unless the means
are off the line by more than the margin and by more than chance: the test for lack of fit, against
the spread of repetitions (Draper and Smith, Applied Regression Analysis, 1998, section 2.1). Where
it does not hold there is a knee: between the two values that leave the best pair of lines.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import numpy as np
from scipy import special

from orchestrator import facts, metrics, model
from orchestrator.analysis import comparability, comparisons, conclusions, overload, results
from orchestrator.analysis.conclusions import Bottleneck, Decision, Law
from orchestrator.analysis.results import Key, Results, RunData
from orchestrator.analysis.statistics import stats
from orchestrator.analysis.telemetry import resources
from orchestrator.planning import factors
from orchestrator.planning.plan import as_used
from orchestrator.units import format_bytes, format_number, gathered

LEVEL = 0.05  # of the test for lack of fit; and each end of a law's interval
_READS, _MORE_READS = 0.1, 1.5  # from the disk, a transaction; and times as many as before


@dataclass(frozen=True)
class _Values:
    """A workload at the values of a factor, on one tier; `causes`: value by value, if known."""

    campaign: Results
    profile: model.Profile
    loads: Sequence[tuple[facts.Varied, model.Workload]]
    causes: Sequence[facts.BottleneckCause | None]

    @cached_property
    def runs(self) -> tuple[tuple[RunData, ...], ...]:
        name = self.profile.name
        return tuple(results.finished(self.campaign, name, load.name) for _, load in self.loads)

    @cached_property
    def nodes(self) -> list[int]:
        return [as_used(self.profile, load).cluster.nodes for _, load in self.loads]

    @property
    def numbers(self) -> tuple[float, ...]:
        """None unless all values are numbers."""
        known = tuple(value.number for value, _ in self.loads if value.number is not None)
        return known if len(known) == len(self.loads) else ()

    @property
    def keys(self) -> tuple[Key, Key, Key]:
        """Throughput, average latency and p99, of New-Orders if they are counted."""
        every = (run.record for runs in self.runs for run in runs)
        counted = any(results.value_of(record, "nopm") is not None for record in every)
        rate, scope = ("nopm", "new_order") if counted else ("throughput_per_s", "all")
        return (rate, "all"), ("latency_avg_s", scope), ("latency_p99_s", scope)

    def mean(self, place: int, metric: str) -> float:
        """Of the runs at one value; 0 where none has it."""
        every = (results.value_of(run.record, metric) for run in self.runs[place])
        return fmean([value for value in every if value is not None] or [0.0])

    def disk_reads(self, place: int) -> float:
        """From all disks, a transaction; 0 if not known."""
        reads = [resources.total(run, None).get("disk_read_iops") or 0 for run in self.runs[place]]
        rate = self.mean(place, "throughput_per_s")
        return fmean(reads) / rate if rate else 0.0


def varied(
    campaign: Results, of_cells: Sequence[Bottleneck], decisions: Sequence[Decision]
) -> tuple[conclusions.VariedFactor, ...]:
    """What the factor of the plan does to each workload."""
    causes = {(cell.profile, cell.workload): cell.cause for cell in of_cells}
    loads_of = campaign.plan.workloads
    pairs = ((load.varied.of, (load.varied, load)) for load in loads_of if load.varied)
    every = []
    for name, loads in gathered(pairs).items():
        tiers = []
        for tier in campaign.plan.tiers:
            own = [causes.get((tier.name, load.name)) for _, load in loads]
            tiers.append(_Values(campaign, tier, loads, own))
        names = [load.name for _, load in loads]
        at_values = [of for load in names for of in decisions if of.workload == load]
        every.append(
            conclusions.VariedFactor(
                workload=name,
                factor=loads[0][0].factor,
                values=tuple(factors.in_words(value) for value, _ in loads),
                numbers=tiers[0].numbers,
                workloads=tuple(names),
                tiers=tuple(map(_on_tier, tiers)),
                horizons=tuple(_horizons(tiers, at_values)),
            )
        )
    return tuple(every)


def _on_tier(values: _Values) -> conclusions.FactorOnTier:
    names, (rate, _) = [load.name for _, load in values.loads], values.keys[0]
    each = (values.mean(at, rate) / nodes for at, nodes in enumerate(values.nodes))
    return conclusions.FactorOnTier(
        tier=values.profile.name,
        steps=_steps(values),
        per_node={name: mean for name, mean in zip(names, each, strict=True) if mean},
        laws=tuple(_laws(values)),
        causes={name: of for name, of in zip(names, values.causes, strict=True) if of},
    )


def _steps(values: _Values) -> tuple[conclusions.Delta, ...]:
    """Each value against the first: but for the factor, their runs must be alike."""
    ((value, first), *others), pairs = values.loads, list[comparisons.Pair]()
    for (_, load), runs in zip(others, values.runs[1:], strict=True):
        both = values.runs[0], runs
        if all(both):
            why = comparability.obstacle([*values.runs[0], *runs], value.factor)
            if _behind([*values.runs[0], *runs]):
                why = why or "a rate that was asked for is not served"
            pairs += comparisons.of_runs(load.name, load.name, both, why)
    plan = values.campaign.plan
    return comparisons.deltas(first.name, pairs, plan.margin_pct, plan.p99_margin_pct)


def _behind(runs: Sequence[RunData]) -> bool:
    """Whether a rate that was asked for is not served."""
    return any(overload.overloaded(run.record) for run in runs)


# ------------------------------------------------------------------ laws


def _laws(values: _Values) -> Iterator[Law]:
    numbers, margin_pct = values.numbers, values.campaign.plan.margin_pct
    for key in values.keys if min(numbers, default=0) > 0 else ():
        figures = (
            (run.record.run.repetition, results.value_of(run.record, *key))
            for runs in values.runs
            for run in runs
        )
        every = gathered((repetition, figure) for repetition, figure in figures if figure)
        rows = np.array([row for row in every.values() if len(row) == len(numbers)])
        if len(rows) > 1:
            yield law(key, numbers, rows, margin_pct)
            if len(set(values.nodes)) > 1 and metrics.METRICS[key[0]].direction == "higher":
                yield law(key, numbers, rows / np.array(values.nodes), margin_pct, True)


def law(
    key: Key, numbers: Sequence[float], rows: np.ndarray, margin_pct: float, per_node: bool = False
) -> Law:
    """How figures follow the numbers; `rows`: a repetition each, in the order of the numbers."""
    x, own = np.log(np.asarray(numbers, dtype=float)), np.log(rows)
    x, own = x - x.mean(), own - own.mean(axis=1, keepdims=True)
    repetitions, count = own.shape
    means, weight = own.mean(axis=0), repetitions * float((x**2).sum())
    slope = float((own * x).sum()) / weight
    off = means - slope * x
    chance, lack = float(((own - means) ** 2).sum()), repetitions * float((off**2).sum())
    freedom, lacking = (repetitions - 1) * (count - 1), count - 2
    spread = max(math.sqrt((chance + lack) / (freedom + lacking)), stats.NOISE_FLOOR)
    half = stats.t_quantile(1 - LEVEL, freedom + lacking) * spread / math.sqrt(weight)
    knee = None
    if lacking and float(np.abs(off).max()) > math.log1p(margin_pct / 100):
        ratio = lack / lacking / max(chance / freedom, stats.NOISE_FLOOR**2)
        knee = _knee(x, means) if special.fdtrc(lacking, freedom, ratio) <= LEVEL else None
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


def _horizons(tiers: Sequence[_Values], decisions: Sequence[Decision]) -> Iterator[str]:
    """Of each tier but the dearest, or of all with an SLO: how far it is proven enough. Values are
    tested from the least upwards, as loads of a sweep are, so each at the level of one."""
    of_all = [{offer.tier: offer.standing for offer in of.offers} for of in decisions]
    names = next((list(of) for of in of_all if of), [])
    own = {values.profile.name: values for values in tiers if values.numbers}
    for name in names if any(of.slo for of in decisions) else names[:-1]:
        if name in own:
            standings = (of.get(name, "open") for of in of_all)
            pairs = zip(standings, own[name].runs, strict=True)
            yield _horizon(own[name], ["not enough" if _behind(of) else word for word, of in pairs])


def _horizon(values: _Values, standings: Sequence[str]) -> str:
    name, words = values.profile.name, [factors.in_words(value) for value, _ in values.loads]
    sized = [f"{text}{_size(values, place)}" for place, text in enumerate(words)]
    ends = next((at for at, word in enumerate(standings) if word != "enough"), len(words))
    if ends == len(words):
        return f"{name} is proven enough at every value, up to {sized[-1]}"
    is_not = standings[ends] == "not enough"
    if ends:
        then = "it is not" if is_not else "that is open"
        size = sized[ends].removeprefix(words[ends])
        text = f"{name} is enough up to {sized[ends - 1]}; at {words[ends]} {then}{size}"
    elif is_not:
        text = f"{name} is not enough at {sized[0]} already"
    else:
        text = f"{name} is not proven enough at {sized[0]} already"
    why = _change(values, max(0, ends - 1), ends)
    return f"{text}: {why}" if why else text


def _size(values: _Values, place: int) -> str:
    """` (4.6 GB a node, 1.1 × memory)`, where the factor is the size of the data."""
    runs = values.runs[place]
    sizes = [results.database_before(run.record).data_bytes for run in runs]
    known = [size for size in sizes if size]
    if len({str(load.dataset) for _, load in values.loads}) < 2 or not known:
        return ""
    node, size = runs[0].record.profile.cluster.node, fmean(known)
    times = f", {format_number(size / node.memory_bytes)} × memory" if node else ""
    return f" ({format_bytes(size)} a node{times})"


def _change(values: _Values, before: int, after: int) -> str:
    """What is another at one value than at the other: reads from the disk, and the cause."""
    few, many = values.disk_reads(before), values.disk_reads(after)
    names = ((values.causes[at] or "unattributed").replace("_", " ") for at in (before, after))
    first, then = ("" if name == "unattributed" else name for name in names)
    said = [f"limited by {then}, at {factors.in_words(values.loads[before][0])} by {first}"]
    said = said if first and then and first != then else [f"limited by {then}"] if then else []
    if many > max(_READS, _MORE_READS * few):
        reads = f"{format_number(few)} → {format_number(many)} disk reads a transaction"
        said.insert(0, f"reads leave the cache ({reads})")
    return "; ".join(said)
