"""How often decisions and words are wrong, silent, or name a dearer tier than needed: simulated.

    make bench NAME=decisions ARGS="--repeats 40 --shapes normal,drift"

Goal: error rates under noise of ten shapes, most of which are not normal. Method: values of whole
campaigns are drawn around true figures, with the noise of the shape in the order in which the runs
are planned, put into records, and judged by the package's own `decisions` and `deltas`; `--until
decided` repeats that at each of its looks. Throughput and average latency are one figure, as in a
closed loop; p99 has noise of its own. Prices are those of an example list.

- wrong tier: the tier named is worse than the best by more than the margin;
- refused: a tier within the margin in everything is "not enough";
- false word: better or worse where nothing differs, or same where more than the margin does;
- direction: better where it is worse, or the other way round;
- dearer: a dearer tier is named than needed; "a month more": on average of all answers; "not said":
  and the decision does not list the one that is needed among those still open;
- none: no tier is named.

Exit 1 if wrong tier, false word or direction is above 5 % in any cell by more than chance makes
likely among all cells (one-sided binomial, 5 % ÷ cells). Cells above the bound of one cell alone
are marked with *.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from orchestrator.analysis import verdicts
from orchestrator.analysis.conclusions import Decision, Delta
from orchestrator.analysis.decisions import decision
from orchestrator.analysis.results import Results, RunData
from orchestrator.analysis.statistics import looks
from orchestrator.metrics import measured
from orchestrator.model import Run
from orchestrator.tier import LatencyModel
from tests.bench.noise_shapes import SHAPES, Shape
from tests.campaigns import build_campaign
from tests.decision_scenarios import SCENARIOS, answer
from tests.plans import a_plan, changed_plan
from tests.tiers import changed

MARGIN_PCT, P99_MARGIN_PCT = 5.0, 20.0
MOST_WRONG_PCT, CHANCE = 5.0, 0.05
TIERS = ("premium", "premium-v2", "ultra")  # from cheap to dear
WORKLOADS = ("point-select", "insert", "tpcc")  # in the plan; the second is judged
WORKLOAD = WORKLOADS[1]
RATE_PER_S, THREADS, P99_S, WINDOW_S = 600.0, 24, 0.096, 60.0
P99_NOISE = 0.03


def _margin_pct(metric: str) -> float:
    return P99_MARGIN_PCT if metric == "latency_p99_s" else MARGIN_PCT


@dataclass(frozen=True)
class Truth:
    """Rates of the tiers, from cheap to dear, and how many times as long their p99 is besides."""

    rates: tuple[float, ...]
    p99: tuple[float, ...] = (1.0, 1.0, 1.0)

    @property
    def latencies(self) -> dict[str, np.ndarray]:
        average = 1 / np.asarray(self.rates)
        return {
            "latency_avg_s": average,
            "latency_p99_s": average * self.p99[: len(average)],
        }

    def enough(self) -> list[bool]:
        """Of each tier, whether it is within the margin of the best in everything."""
        kept = np.asarray(self.rates) >= (1 - MARGIN_PCT / 100) * max(self.rates)
        for metric, values in self.latencies.items():
            kept &= values <= (1 + _margin_pct(metric) / 100) * values.min()
        return list(map(bool, kept))

    def change_pct(self, metric: str, tier: int) -> float:
        """Of a tier against the cheapest, positive if more."""
        values = self.latencies.get(metric, np.asarray(self.rates))
        return float(100 * (values[tier] / values[0] - 1))


TRUTHS: Mapping[str, Truth] = {
    "two equal": Truth((1.0, 1.0)),
    "three equal": Truth((1.0, 1.0, 1.0)),
    "cheapest of two 3 % below": Truth((0.97, 1.0)),
    "cheapest of two 7 % below": Truth((0.93, 1.0)),
    "cheapest of two 10 % below": Truth((0.9, 1.0)),
    "cheapest of three 10 % below": Truth((0.9, 1.0, 1.0)),
    "cheapest of two, p99 alone 25 % worse": Truth((1.0, 1.0), (1.25, 1.0)),
    "cheapest of two 50 % below": Truth((0.5, 1.0)),
    "cheaper of three 50 and 25 % below": Truth((0.5, 0.75, 1.0)),
    "cheaper of three just below": Truth((0.9499, 0.9499, 1.0)),
}
# First and most repetitions; a single number is a campaign that is judged once.
LOOKS: Mapping[str, tuple[int, int]] = {
    **{f"n = {n}": (n, n) for n in (2, 3, 5, 10)},
    "until 2–6": (2, 6),
    "until 5–10": (5, 10),
}

# ------------------------------------------------------------------ campaigns


def draw(
    shape: Shape, truth: Truth, n: int, campaigns: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rates and p99 latencies, campaigns × tiers × repetitions."""
    tiers = TIERS[: len(truth.rates)]
    order = np.zeros((len(tiers), n), dtype=int)
    for run in a_plan(tiers, WORKLOADS, n).runs:
        if run.workload == WORKLOAD:
            order[tiers.index(run.profile), run.repetition - 1] = run.number - 1
    rates = np.asarray(truth.rates)[:, None] * np.exp(shape(order, campaigns, random))
    own = np.exp(random.normal(0, P99_NOISE, rates.shape))
    p99 = np.asarray(truth.p99)[: len(tiers), None] * own / rates
    return RATE_PER_S * rates, P99_S * p99


def _in_planned_order(made: Results, tiers: Sequence[str], most: int) -> Results:
    """With the runs of a repetition in the order in which `draw` has them."""
    numbers = {
        (run.profile, run.repetition): run.number
        for run in a_plan(tuple(tiers), WORKLOADS, most).runs
        if run.workload == WORKLOAD
    }

    def renumbered(run: Run) -> Run:
        return replace(run, number=numbers[run.profile, run.repetition])

    planned = sorted(map(renumbered, made.plan.runs), key=attrgetter("number"))
    runs = tuple(
        replace(one, record=replace(one.record, run=renumbered(one.record.run)))
        for one in made.runs
    )
    return replace(made, plan=replace(made.plan, runs=tuple(planned)), runs=runs)


class Judge:
    """The campaigns of one cell: records of one plan into which values are put."""

    def __init__(self, tiers: int, first: int, most: int) -> None:
        made = build_campaign(
            profiles=TIERS[:tiers],
            workloads=[WORKLOAD],
            repetitions=most,
            measure_s=WINDOW_S,
            margin_pct=MARGIN_PCT,
            frames=False,
        )
        ends = ((0.0, 5e-4), (1.0, 5e-3))
        model = LatencyModel(
            ends, ends, "a table", "2026"
        )  # with a tail, so p99 is comparable
        profiles = tuple(
            replace(profile, tier=changed(profile.tier, latency_model=model))
            for profile in made.plan.profiles
        )
        made = _in_planned_order(made, TIERS[:tiers], most)
        shares = looks.shares(first, most) if most > first else {}
        self._looks = range(first, most + 1)
        # Without facts: comparing those of runs would be half of the time.
        bare = tuple(
            replace(run, record=replace(run.record, facts={})) for run in made.runs
        )
        self._campaign = replace(
            made,
            runs=bare,
            plan=changed_plan(made.plan, profiles=profiles, looks=shares),
        )

    def outcome(
        self, rates: np.ndarray, p99: np.ndarray
    ) -> tuple[Decision, tuple[Delta, ...]]:
        """The decision and the words of a campaign; tiers × repetitions. With several looks, those
        of the first that leaves nothing open."""
        for n in self._looks:
            campaign = self._filled(rates[:, :n], p99[:, :n])
            made = decision.decide_all(campaign, [])[0][0]
            if not made.is_open:
                break
        return made, verdicts.deltas(campaign)

    def _filled(self, rates: np.ndarray, p99: np.ndarray) -> Results:
        template, tiers = (
            self._campaign,
            [one.name for one in self._campaign.plan.profiles],
        )
        runs: list[RunData] = []
        for run in template.runs:
            place = tiers.index(run.record.run.profile), run.record.run.repetition - 1
            if place[1] >= rates.shape[1]:
                continue
            rate = float(rates[place])
            measurements = (
                measured("throughput_per_s", rate),
                measured("transactions", rate * WINDOW_S),
                measured("failures", 0.0),
                measured("latency_avg_s", THREADS / rate),
                measured("latency_p99_s", float(p99[place])),
            )
            runs.append(
                replace(run, record=replace(run.record, measurements=measurements))
            )
        numbers = {run.record.run.number for run in runs}
        planned = tuple(run for run in template.plan.runs if run.number in numbers)
        plan = changed_plan(template.plan, runs=planned, repetitions=rates.shape[1])
        return replace(template, plan=plan, runs=tuple(runs))


# ------------------------------------------------------------------ counting


@dataclass(frozen=True)
class Cell:
    """What became of the campaigns of one cell; counts, but `more_a_month` and `used`, which are
    means: of what answers cost more than needed, and of repetitions."""

    shape: str
    truth: str
    looks: str
    campaigns: int
    wrong: int
    refused: int
    false_word: int
    direction: int
    dearer: int
    not_said: int
    none: int
    more_a_month: float
    used: float

    @property
    def errors(self) -> tuple[int, int, int]:
        """Those that may not be above 5 %."""
        return self.wrong, self.false_word, self.direction


def simulate(shape: str, truth: str, sizes: str, campaigns: int, seed: int) -> Cell:
    """Its own random numbers, whichever other cells are asked for."""
    true, (first, most) = TRUTHS[truth], LOOKS[sizes]
    name = zlib.crc32(f"{shape}/{truth}/{sizes}".encode())
    random = np.random.default_rng([seed, name])
    judge, enough = Judge(len(true.rates), first, most), true.enough()
    counts = dict.fromkeys(
        ("wrong", "refused", "false_word", "direction", "dearer", "not_said", "none"), 0
    )
    more: list[float] = []
    used = 0
    for rates, p99 in zip(
        *draw(SHAPES[shape], true, most, campaigns, random), strict=True
    ):
        made, deltas = judge.outcome(rates, p99)
        used += deltas[0].n_baseline
        costs = {offer.tier: offer.monthly_cost or 0.0 for offer in made.offers}
        standings = {offer.tier: offer.standing for offer in made.offers}
        needed = TIERS[enough.index(True)]
        counts["none"] += made.tier is None
        counts["wrong"] += made.tier is not None and not enough[TIERS.index(made.tier)]
        counts["refused"] += any(
            standings.get(tier) == "not enough"
            for tier, kept in zip(TIERS, enough, strict=False)
            if kept
        )
        if made.tier is not None:
            more.append(max(0.0, costs[made.tier] - costs[needed]))
            counts["dearer"] += more[-1] > 0
            # Older trees, on which this bench can be run, lack the field: all was conclusive.
            counts["not_said"] += more[-1] > 0 and needed not in getattr(
                made, "cheaper_open", ()
            )
        words = [_judged(delta, true) for delta in deltas]
        counts["false_word"] += "false" in words
        counts["direction"] += "direction" in words
    mean = float(np.mean(more)) if more else 0.0
    return Cell(
        shape,
        truth,
        sizes,
        campaigns,
        **counts,
        more_a_month=mean,
        used=used / campaigns,
    )


def _judged(delta: Delta, truth: Truth) -> str:
    """What is wrong with its word: "false", "direction" or nothing."""
    change = truth.change_pct(delta.metric, TIERS.index(delta.contender))
    if delta.verdict == "same":
        return "false" if abs(change) > _margin_pct(delta.metric) else ""
    if delta.verdict == "inconclusive":
        return ""
    if abs(change) < 1e-9:
        return "false"
    better = (change > 0) == (delta.direction == "higher")
    return "" if better == (delta.verdict == "better") else "direction"


def bound(campaigns: int, chance: float) -> int:
    """The most wrong ones that a rate of 5 % makes likely."""
    # It takes half a second to import, and tests use other parts of this module.
    from scipy import stats as distributions

    return int(distributions.binom.ppf(1 - chance, campaigns, MOST_WRONG_PCT / 100))


# ------------------------------------------------------------------ words

_COLUMNS = (
    "wrong tier",
    "refused",
    "false word",
    "direction",
    "dearer",
    "not said",
    "USD a month more",
    "none",
)


def _row(title: Sequence[str], cells: Sequence[Cell]) -> str:
    """The mean of cells, and the worst of errors; of a single cell, its own figures."""
    single = bound(cells[0].campaigns, CHANCE)

    def worst(field: str, marked: bool = True) -> str:
        counts = [getattr(cell, field) for cell in cells]
        mark = "*" if marked and max(counts) > single else ""
        return f"{100 * max(counts) / cells[0].campaigns:.0f}{mark}"

    def mean(field: str) -> str:
        counts = [getattr(cell, field) / cell.campaigns for cell in cells]
        return f"{100 * float(np.mean(counts)):.0f}"

    cost = sum(cell.more_a_month for cell in cells) / len(cells)
    figures = [
        worst("wrong"),
        worst("refused", False),
        worst("false_word"),
        worst("direction"),
    ]
    figures += [mean("dearer"), mean("not_said"), f"{cost:.0f}", mean("none")]
    used = sum(cell.used for cell in cells) / len(cells)
    return "| " + " | ".join([*title, *figures, f"{used:.1f}"]) + " |"


def _head(*title: str) -> Iterator[str]:
    columns = [*title, *_COLUMNS, "n used"]
    yield "| " + " | ".join(columns) + " |"
    yield "|" + " --- |" * len(title) + " ---: |" * (len(columns) - len(title))


def report(cells: Sequence[Cell]) -> Iterator[str]:
    """Markdown: over all shapes, then every cell."""
    yield "Of the shapes the worst in wrong tier, refused, false word and direction, the mean else."
    yield ""
    yield from _head("truth", "repetitions")
    for truth in TRUTHS:
        for sizes in LOOKS:
            if chosen := [c for c in cells if (c.truth, c.looks) == (truth, sizes)]:
                yield _row((truth, sizes), chosen)
    for truth in TRUTHS:
        of_truth = [cell for cell in cells if cell.truth == truth]
        if not of_truth:
            continue
        yield from ("", f"### {truth}", "")
        yield from _head("noise", "repetitions")
        yield from (_row((cell.shape, cell.looks), [cell]) for cell in of_truth)


def scenarios() -> Iterator[str]:
    """Markdown: what is answered in each."""
    yield from ("| campaign | answer | status | reason |", "| --- | --- | --- | --- |")
    for name, scenario in SCENARIOS.items():
        verdict, status = answer(scenario)
        made = verdict.decisions[0]
        yield f"| {name} | {made.tier or 'none'} | {status} | {made.reason} |"


def _chosen(asked: str, names: Iterable[str]) -> list[str]:
    """All of them, if none is asked for. SystemExit for one that there is not."""
    if not asked:
        return list(names)
    chosen = [name.strip() for name in asked.split(";")]
    if unknown := set(chosen) - set(names):
        raise SystemExit(f"no {', '.join(unknown)}; there are {', '.join(names)}")
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0] if __doc__ else ""
    )
    parser.add_argument(
        "--repeats", type=int, default=40, help="campaigns of each cell"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--shapes", default=",".join(SHAPES), help="of noise, by commas"
    )
    parser.add_argument("--truths", default="", help="of them, by semicolons")
    parser.add_argument("--looks", default="", help="`n = 2;until 2–6`: by semicolons")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--scenarios",
        action="store_true",
        help="only the answers to tests/decision_scenarios.py",
    )
    asked = parser.parse_args()
    if asked.scenarios:
        print(*scenarios(), sep="\n")
        return 0
    shapes = [name.strip() for name in asked.shapes.split(",")]
    if unknown := set(shapes) - set(SHAPES):
        parser.error(
            f"--shapes: no {', '.join(unknown)}; there are {', '.join(SHAPES)}"
        )
    began_s = time.monotonic()
    truths = _chosen(asked.truths, TRUTHS)
    sizes_asked = _chosen(asked.looks, LOOKS)
    grid = [
        (shape, truth, sizes)
        for shape in shapes
        for truth in truths
        for sizes in sizes_asked
    ]
    with ProcessPoolExecutor(asked.processes) as pool:
        jobs = [
            pool.submit(simulate, *cell, asked.repeats, asked.seed) for cell in grid
        ]
        cells = [job.result() for job in jobs]
    print(f"{asked.repeats} campaigns a cell, seed {asked.seed}; % of campaigns.")
    print(*report(cells), sep="\n")
    every = bound(asked.repeats, CHANCE / (3 * len(cells)))
    above = [cell for cell in cells if max(cell.errors) > every]
    pct = 100 / asked.repeats
    print(
        f"\nA true 5 % may seem {pct * bound(asked.repeats, CHANCE):.0f} % in one cell (above: *)"
    )
    print(
        f"and {pct * every:.0f} % in the worst of {3 * len(cells)} figures; above: {len(above)}."
    )
    for cell in above:
        errors = ", ".join(f"{pct * count:.0f} %" for count in cell.errors)
        print(f"- {cell.truth}, {cell.shape}, {cell.looks}: {errors}")
    print(f"{time.monotonic() - began_s:.0f} s", file=sys.stderr)
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main())
