"""What a factor does beside the tier: steps, laws, causes, and how far a tier is enough. Pure.

A law is a power of the value: least squares of logarithms over the repetitions that have all
values, each with a level of its own, as a slow hour slows all of them. It holds unless the means
are off the line by more than the margin and by more than chance: the test for lack of fit, against
the spread of repetitions (Draper and Smith, Applied Regression Analysis, 1998, section 2.1). Where
it does not hold there is a knee: between the two values that leave the best pair of lines."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
from scipy import special

from orchestrator import facts, metrics
from orchestrator.analysis import (
    comparability,
    comparisons,
    conclusions,
    overload,
    results,
)
from orchestrator.analysis.conclusions import (
    Bottleneck,
    Decision,
    Delta,
    Law,
    VariedWorkload,
)
from orchestrator.analysis.decisions.load_sweeps import Loads
from orchestrator.analysis.decisions.values import Causes, Values, causes_of
from orchestrator.analysis.results import Key, RunData
from orchestrator.analysis.statistics import stats
from orchestrator.analysis.telemetry import resources
from orchestrator.planning.slo import format_objective
from orchestrator.units import format_bytes, format_number, gathered

LEVEL = 0.05  # of the test for lack of fit; and each end of a law's interval
_READS, _MORE_READS = (
    0.1,
    1.5,
)  # from the disk, a transaction; and times as many as before


def concluded(
    campaign: results.Results,
    of_cells: Sequence[Bottleneck],
    decisions: Sequence[Decision],
) -> dict[facts.Question, tuple[VariedWorkload, ...]]:
    """What each factor of the plan does to each workload, and which loads of a sweep tiers take."""
    causes = causes_of(of_cells)
    asked: dict[facts.Question, type[Values]] = {"factor": Values, "load": Loads}
    every = {
        question: kind.of_plan(campaign, question) for question, kind in asked.items()
    }
    return {
        question: tuple(
            _concluded(values, causes, decisions) for values in of_each.values()
        )
        for question, of_each in every.items()
    }


def _concluded(
    values: Values, causes: Causes, decisions: Sequence[Decision]
) -> VariedWorkload:
    tiers = [tier.name for tier in values.campaign.plan.tiers]
    return VariedWorkload(
        workload=values.name,
        factor=values.loads[0][0].factor,
        values=values.words,
        numbers=values.numbers,
        workloads=values.workloads,
        tiers=tuple(_on_tier(values, tier, causes) for tier in tiers),
        horizons=tuple(_horizons(values, causes, decisions)),
        slo=tuple(map(format_objective, values.latencies))
        if isinstance(values, Loads)
        else (),
    )


def _on_tier(values: Values, tier: str, causes: Causes) -> conclusions.TierValues:
    own = {
        load: causes[tier, load] for load in values.workloads if (tier, load) in causes
    }
    at_values = conclusions.TierValues(tier, _steps(values, tier), own)
    if isinstance(values, Loads):
        return values.taken(at_values)
    nodes, means = values.nodes(tier), values.means(tier, values.keys[0][0])
    each = {
        values.workloads[at]: mean / nodes[at] for at, mean in means.items() if mean
    }
    return replace(at_values, per_node=each, laws=tuple(_laws(values, tier)))


def _steps(values: Values, tier: str) -> tuple[Delta, ...]:
    """Each value against the first: but for the factor, their runs must be alike."""
    (first, *others), pairs = values.runs(tier), list[comparisons.Pair]()
    for load, runs in zip(values.workloads[1:], others, strict=True):
        if first and runs:
            every = [*first, *runs]
            why = comparability.obstacle(every, values.loads[0][0].factor)
            if _behind(every):
                why = why or "a rate that was asked for is not served"
            pairs += comparisons.of_runs(load, load, (first, runs), why)
    plan = values.campaign.plan
    return comparisons.deltas(
        values.workloads[0], pairs, plan.margin_pct, plan.p99_margin_pct
    )


def _behind(runs: Sequence[RunData]) -> bool:
    """Whether a rate that was asked for is not served."""
    return any(overload.overloaded(run.record) for run in runs)


# ------------------------------------------------------------------ laws


def _laws(values: Values, tier: str) -> Iterator[Law]:
    numbers, nodes = values.numbers, values.nodes(tier)
    margin_pct = values.campaign.plan.margin_pct
    for key in values.keys if min(numbers, default=0) > 0 else ():
        figures = (
            (run.record.run.repetition, results.value_of(run.record, *key))
            for runs in values.runs(tier)
            for run in runs
        )
        every = gathered(
            (repetition, figure) for repetition, figure in figures if figure
        )
        rows = np.array([row for row in every.values() if len(row) == len(numbers)])
        if len(rows) > 1:
            yield law(key, numbers, rows, margin_pct)
            if len(set(nodes)) > 1 and metrics.METRICS[key[0]].direction == "higher":
                yield law(key, numbers, rows / np.array(nodes), margin_pct, True)


def law(
    key: Key,
    numbers: Sequence[float],
    rows: np.ndarray,
    margin_pct: float,
    per_node: bool = False,
) -> Law:
    """How figures follow the numbers; `rows`: a repetition each, in the order of the numbers."""
    x, own = np.log(np.asarray(numbers, dtype=float)), np.log(rows)
    x, own = x - x.mean(), own - own.mean(axis=1, keepdims=True)
    repetitions, count = own.shape
    means, weight = own.mean(axis=0), repetitions * float((x**2).sum())
    slope = float((own * x).sum()) / weight
    off = means - slope * x
    chance, lack = (
        float(((own - means) ** 2).sum()),
        repetitions * float((off**2).sum()),
    )
    freedom, lacking = (repetitions - 1) * (count - 1), count - 2
    spread = max(math.sqrt((chance + lack) / (freedom + lacking)), stats.NOISE_FLOOR)
    half = stats.t_quantile(1 - LEVEL, freedom + lacking) * spread / math.sqrt(weight)
    knee = None
    if lacking and float(np.abs(off).max()) > math.log1p(margin_pct / 100):
        ratio = lack / lacking / max(chance / freedom, stats.NOISE_FLOOR**2)
        knee = (
            _knee(x, means) if special.fdtrc(lacking, freedom, ratio) <= LEVEL else None
        )
    return Law(*key, per_node, slope, slope - half, slope + half, count, knee)


def _knee(x: np.ndarray, means: np.ndarray) -> int:
    """Place of the value behind which figures follow another line. Where two pairs of lines fit
    within 3 %, the step between which is most unlike its own line; of equals the steepest."""

    def line(part: slice) -> tuple[float, float]:
        own_x, own = x[part] - x[part].mean(), means[part] - means[part].mean()
        slope = float((own * own_x).sum()) / max(float((own_x**2).sum()), 1e-12)
        return slope, float(((own - slope * own_x) ** 2).sum())

    def misfit(place: int) -> tuple[float, float, float]:
        (left, off), (right, more) = (
            line(slice(0, place + 1)),
            line(slice(place + 1, None)),
        )
        step = float((means[place + 1] - means[place]) / (x[place + 1] - x[place]))
        return (
            round(off + more, 3),
            -round(abs(step - (left if place else right)), 2),
            -abs(step),
        )

    return min(range(len(x) - 1), key=misfit)


# ------------------------------------------------------------------ the growth horizon


def _horizons(
    values: Values, causes: Causes, decisions: Sequence[Decision]
) -> Iterator[str]:
    """Of each tier but the dearest, or of all with an SLO: how far it is proven enough. Values are
    tested from the least upwards, as loads of a sweep are, so each at the level of one."""
    own = [of for load in values.workloads for of in decisions if of.workload == load]
    of_all = [{offer.tier: offer.standing for offer in of.offers} for of in own]
    names = next((list(of) for of in of_all if of), []) if values.numbers else []
    for name in names if any(of.slo for of in own) else names[:-1]:
        standings = (of.get(name, "open") for of in of_all)
        pairs = zip(standings, values.runs(name), strict=True)
        proven = ["not enough" if _behind(of) else word for word, of in pairs]
        yield _horizon(values, name, causes, proven)


def _horizon(
    values: Values, tier: str, causes: Causes, standings: Sequence[str]
) -> str:
    words, runs = values.words, values.runs(tier)
    ends = next(
        (at for at, word in enumerate(standings) if word != "enough"), len(words)
    )
    if ends == len(words):
        last = f"{words[-1]}{_size(values, runs[-1])}"
        return f"{tier} is proven enough at every value, up to {last}"
    is_not, size = standings[ends] == "not enough", _size(values, runs[ends])
    if ends:
        then = "it is not" if is_not else "that is open"
        last = f"{words[ends - 1]}{_size(values, runs[ends - 1])}"
        text = f"{tier} is enough up to {last}; at {words[ends]} {then}{size}"
    else:
        proven = "not enough" if is_not else "not proven enough"
        text = f"{tier} is {proven} at {words[0]}{size} already"
    why = _change(values, tier, causes, max(0, ends - 1), ends)
    return f"{text}: {why}" if why else text


def _size(values: Values, runs: Sequence[RunData]) -> str:
    """` (4.6 GB a node, 1.1 × memory)`, where the factor is the size of the data."""
    sizes = [
        size for run in runs if (size := results.database_before(run.record).data_bytes)
    ]
    if len({str(load.dataset) for _, load in values.loads}) < 2 or not sizes:
        return ""
    node, size = runs[0].record.profile.cluster.node, fmean(sizes)
    times = f", {format_number(size / node.memory_bytes)} × memory" if node else ""
    return f" ({format_bytes(size)} a node{times})"


def _change(values: Values, tier: str, causes: Causes, before: int, after: int) -> str:
    """What is another at one value than at the other: reads from the disk, and the cause."""
    few, many = (_disk_reads(values, tier, place) for place in (before, after))
    cells = ((tier, values.workloads[place]) for place in (before, after))
    names = (causes.get(cell, "unattributed").replace("_", " ") for cell in cells)
    first, then = ("" if name == "unattributed" else name for name in names)
    said = [f"limited by {then}, at {values.words[before]} by {first}"]
    said = (
        said
        if first and then and first != then
        else [f"limited by {then}"]
        if then
        else []
    )
    if many > max(_READS, _MORE_READS * few):
        reads = f"{format_number(few)} → {format_number(many)} disk reads a transaction"
        said.insert(0, f"reads leave the cache ({reads})")
    return "; ".join(said)


def _disk_reads(values: Values, tier: str, place: int) -> float:
    """From all disks, a transaction; 0 if not known."""
    runs = values.runs(tier)[place]
    reads = [resources.total(run, None).get("disk_read_iops") or 0 for run in runs]
    rate = values.means(tier, "throughput_per_s").get(place)
    return fmean(reads) / rate if rate else 0.0
