"""Two stored campaigns, the later one against the earlier: what changed from A to B. Pure.

The rule is that of a campaign's own comparisons (docs/METHOD.md): four words, an interval, chance
among all comparisons, and inconclusive where more than the time differs. But they were not measured
in turns, so drift of the machine between them is in every change, and is stated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.analysis import comparisons, results
from orchestrator.analysis.campaigns import campaign_comparability
from orchestrator.analysis.comparisons import COMPARED, Pair
from orchestrator.analysis.conclusions import Delta, VerdictWord
from orchestrator.analysis.results import Key, Measured, Results
from orchestrator.analysis.statistics import stats, unpaired
from orchestrator.metrics import METRICS
from orchestrator.units import format_seconds

_DAY_S = 86_400.0


@dataclass(frozen=True)
class ProfileDelta:
    """A change of one profile × workload; `delta` has the campaigns as baseline and contender."""

    profile: str
    delta: Delta


@dataclass(frozen=True)
class Comparison:
    """Campaign `after` against `before`, by their folders' names. `only_before`, `only_after`:
    profile × workload that have finished runs in one of them alone. `doubts`: a sentence each."""

    before: str
    after: str
    margin_pct: float
    deltas: tuple[ProfileDelta, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    doubts: tuple[str, ...]

    def has(self, word: VerdictWord) -> bool:
        return any(one.delta.verdict == word for one in self.deltas)


def compare(
    before: Results, after: Results, margin_pct: float | None = None, across_machines: bool = False
) -> Comparison:
    """Every profile × workload that both have finished runs of. `margin_pct`: that of `after`, if
    not given; `across_machines`: see `campaign_comparability.obstacle`."""
    margin = after.plan.margin_pct if margin_pct is None else margin_pct
    titles = _measured(before), _measured(after)
    pairs = [
        (profile, pair)
        for profile, workload in titles[0]
        if (profile, workload) in titles[1]
        for pair in _pairs(before, after, profile, workload, across_machines)
    ]
    deltas = comparisons.deltas(before.name, [pair for _, pair in pairs], margin)
    return Comparison(
        before.name,
        after.name,
        margin,
        tuple(
            ProfileDelta(profile, delta) for (profile, _), delta in zip(pairs, deltas, strict=True)
        ),
        tuple(f"{p} × {w}" for p, w in titles[0] if (p, w) not in titles[1]),
        tuple(f"{p} × {w}" for p, w in titles[1] if (p, w) not in titles[0]),
        (*_apart(before, after), *campaign_comparability.remarks(before, after)),
    )


def _measured(campaign: Results) -> tuple[tuple[str, str], ...]:
    """Profile and workload of every cell with finished runs."""
    every = results.cells(campaign)
    return tuple((cell.profile.name, cell.workload.name) for cell in every if cell.finished)


def _apart(before: Results, after: Results) -> Iterator[str]:
    begins = [results.began_s(campaign) for campaign in (before, after)]
    if before.name == after.name:
        yield "this is one campaign, compared with itself"
        return
    far = ""
    if begins[0] is not None and begins[1] is not None:
        apart_s = abs(begins[1] - begins[0])
        days = f"{apart_s / _DAY_S:.0f} days"
        far = f" ({days if apart_s >= 2 * _DAY_S else format_seconds(apart_s)} apart)"
    yield (
        f"they were measured at different times{far} and not in turns: drift of the machine is in "
        "every difference"
    )


def _pairs(
    before: Results, after: Results, profile: str, workload: str, across: bool
) -> Iterator[Pair]:
    runs = tuple(results.finished(campaign, profile, workload) for campaign in (before, after))
    obstacle = campaign_comparability.obstacle(before, after, (runs[0], runs[1]), across)
    left, right = ([results.sound(run.record.measurements) for run in side] for side in runs)
    for key in COMPARED:
        one, two = _values(left, key), _values(right, key)
        if not comparisons.can_change(one, two):
            continue
        hindered = obstacle or comparisons.obstacle(one, two, len(left) + len(right))
        try:
            ratio = unpaired.ratio(one, two)
        except ValueError:  # a figure of zero
            ratio = stats.ratio_of_all(one, two)
        metric = METRICS[key[0]]
        yield Pair(after.name, workload, metric, key[1], one, two, ratio, hindered, in_blocks=False)


def _values(runs: Sequence[Measured], key: Key) -> tuple[float, ...]:
    return tuple(run[key].value for run in runs if key in run)
