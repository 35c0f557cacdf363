"""What a factor does: laws, knees, steps and the growth horizon of campaigns made to have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from orchestrator.analysis.conclusions import Decision, TierValues, VariedWorkload
from orchestrator.analysis.decisions import laws
from orchestrator.analysis.decisions.horizons import horizons as horizon_sentences
from orchestrator.analysis.decisions.values import Values
from orchestrator.analysis.results import Cell, Results, RunData
from orchestrator.analysis.verdicts import judge
from orchestrator.metrics import METRICS, measured
from orchestrator.model import Measurement, Objective, Record, Run, Workload
from tests import loads

TABLES = "data=10,20,30,40 tables"
KEY = ("throughput_per_s", "all")
RATES = Mapping[str, Sequence[float]]


def campaign_of(
    rates: RATES, text: str = TABLES, slo: tuple[Objective, ...] = ()
) -> Results:
    """Tier → throughput/s at each value; ten transactions are in flight."""
    table = {tier: [(rate, 10 / rate) for rate in of] for tier, of in rates.items()}
    workloads, figures = loads.varied(text, slo), loads.at_values(table, text)
    return loads.build(workloads, figures, profiles=list(rates))


def factor_of(campaign: Results) -> VariedWorkload:
    (factor,) = judge(campaign).varied
    return factor


def of_tier(campaign: Results, tier: str = "premium") -> TierValues:
    return next(one for one in factor_of(campaign).tiers if one.tier == tier)


# ------------------------------------------------------------------ laws

NUMBERS = np.array([1.0, 2.0, 4.0, 8.0])


@pytest.mark.parametrize("exponent", [1.0, 0.0, -0.9, 1.01])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_power_is_found_within_its_interval(exponent: float, noise: float) -> None:
    dice = np.random.default_rng(7)
    slow = np.exp(
        dice.normal(0, 0.3, (5, 1))
    )  # whole repetitions, which change no exponent
    rows = 50 * NUMBERS**exponent * slow * np.exp(dice.normal(0, noise, (5, 4)))
    law = laws.law(KEY, list(NUMBERS), rows, 5.0, per_node=False)
    assert law.low <= exponent <= law.high and law.knee is None
    assert law.high - law.low < 0.05


def test_the_interval_of_a_power_holds_as_often_as_it_says() -> None:
    """Nine times in ten, and no knee is seen where there is none but by chance."""
    dice, inside, knees = np.random.default_rng(1), 0, 0
    for _ in range(400):
        rows = NUMBERS**-0.5 * np.exp(dice.normal(0, 0.05, (3, 4)))
        law = laws.law(KEY, list(NUMBERS), rows, 5.0, per_node=False)
        inside += law.low <= -0.5 <= law.high
        knees += law.knee is not None
    assert 0.86 <= inside / 400 <= 0.94 and knees / 400 <= 0.06


@pytest.mark.parametrize(
    ("rates", "place"),
    [
        ([1000, 1000, 300, 250], 1),  # a cliff
        ([1000, 990, 985, 400], 2),
        ([100, 200, 400, 420], 2),  # it no longer grows
        ([1000, 300, 290], 0),
        ([1000, 1000, 850, 425], 1),  # a bend at 3 is between 2 and 4
    ],
)
def test_a_knee_is_between_the_two_values_where_the_line_changes(
    rates: list[float], place: int
) -> None:
    rows = np.array(rates) * np.array([[0.99], [1.0], [1.01]])
    assert (
        laws.law(
            KEY, [1.0, 2.0, 4.0, 8.0][: len(rates)], rows, 5.0, per_node=False
        ).knee
        == place
    )


@pytest.mark.parametrize(("lower_pct", "place"), [(0.0, 0), (2.5, 0), (3.0, 1)])
def test_of_two_knees_that_fit_alike_the_sharper_one_is_named(
    lower_pct: float, place: int
) -> None:
    """A fall behind the first value, after which the middle one of three is off their line. Two
    pairs of values are always on two lines; that within 3 % is no reason to name them."""
    rates = [100.0, 25.0, 25.0 * (1 - lower_pct / 100), 25.0]
    rows = np.array(rates) * np.array([[0.999], [1.0], [1.001]])
    assert laws.law(KEY, list(NUMBERS), rows, 5.0, per_node=False).knee == place


@pytest.mark.parametrize("half", [1.0, 2.0, 4.0, 8.0, 16.0])
@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_what_saturates_bends_and_has_no_knee(half: float, noise: float) -> None:
    """x / (x + h) has no value at which it turns."""
    numbers = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    dice, knees, bends = np.random.default_rng(3), 0, 0
    for _ in range(50):
        rows = numbers / (numbers + half) * np.exp(dice.normal(0, noise, (3, 6)))
        law = laws.law(KEY, list(numbers), rows, 5.0, per_node=False)
        knees += law.knee is not None
        bends += law.bends
    assert knees <= 2 and bends > 25


def test_a_gentle_bend_is_held_against_five_values_with_one_degree_of_freedom() -> None:
    """Four things are fitted to it. Were two left, it would explain what is a knee."""
    rows = [[9.0, 21, 30, 48, 66], [8, 20, 35, 47, 64], [11, 22, 33, 50, 65]]
    numbers = [1.0, 2.0, 4.0, 8.0, 16.0]
    law = laws.law(KEY, numbers, np.array(rows), 5.0, per_node=False)
    assert (law.bends, law.knee) == (True, 1)


def test_a_gentle_bend_is_held_against_six_values_with_two_degrees_of_freedom() -> None:
    """With one alone, it would not explain these."""
    rows = [
        [12.0, 20, 37, 61, 68, 89],
        [10, 20, 37, 63, 62, 87],
        [12, 17, 30, 65, 95, 71],
    ]
    numbers = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    law = laws.law(KEY, numbers, np.array(rows), 5.0, per_node=False)
    assert (law.bends, law.knee) == (True, None)


def test_a_bend_within_the_margin_is_no_knee() -> None:
    rows = np.array([[100, 104, 100, 104]] * 3)
    assert laws.law(KEY, list(NUMBERS), rows, 5.0, per_node=False).knee is None


def test_two_values_have_a_power_and_no_knee() -> None:
    (law, *_) = of_tier(
        campaign_of({"premium": (900, 300)}, "replication_factor=1,3")
    ).laws
    assert law.exponent == pytest.approx(-1.0) and (law.values, law.knee) == (2, None)


def test_words_and_single_repetitions_have_no_law() -> None:
    assert of_tier(campaign_of({"premium": (100, 900)}, "cache=cold,warm")).laws == ()
    campaign = campaign_of({"premium": (100, 200, 300, 400)})
    first = tuple(run for run in campaign.runs if run.record.run.repetition == 1)
    assert of_tier(replace(campaign, runs=first)).laws == ()


def test_what_each_node_does_is_told_where_nodes_are_added() -> None:
    tier = of_tier(campaign_of({"premium": (300, 540, 729)}, "nodes=1,2,3"))
    assert list(tier.per_node.values()) == pytest.approx([300, 270, 243])
    whole, each = (law for law in tier.laws if law.metric == KEY[0])
    assert (whole.per_node, each.per_node) == (False, True)
    assert each.exponent == pytest.approx(whole.exponent - 1)
    # Where as many nodes are at each value, what each does says no more than the whole.
    tier = of_tier(campaign_of({"premium": (300, 540, 729, 800)}))
    assert tier.laws and not any(law.per_node for law in tier.laws)


# ------------------------------------------------------------------ steps


def test_each_value_is_judged_against_the_first() -> None:
    steps = of_tier(campaign_of({"premium": (1000, 1002, 300, 250)})).steps
    rates = {step.contender: step.verdict for step in steps if step.metric == KEY[0]}
    assert rates == {
        "point-select-at-20-tables": "same",
        "point-select-at-30-tables": "worse",
        "point-select-at-40-tables": "worse",
    }
    assert {step.baseline for step in steps} == {"point-select-at-10-tables"}
    assert all(METRICS[step.metric].direction != "none" for step in steps)


def changed(campaign: Results, value: str, **changes: object) -> Results:
    """With another cluster in the runs at one value."""

    def own(record: Record) -> Record:
        if record.workload.varied is None or record.workload.varied.value != value:
            return record
        cluster = replace(record.profile.cluster, **changes)  # type: ignore[arg-type]
        return replace(record, profile=replace(record.profile, cluster=cluster))

    return replace(
        campaign, runs=tuple(replace(r, record=own(r.record)) for r in campaign.runs)
    )


@pytest.mark.parametrize(
    "text",
    [TABLES, "nodes=3,6,9,12", "threads=1,2,4,8", "memory=1GiB,2GiB,4GiB,8GiB"],
)
def test_only_the_named_difference_is_allowed(text: str) -> None:
    campaign = campaign_of({"premium": (100, 200, 300, 400)}, text)
    last = campaign.plan.workloads[-1].varied
    assert last is not None
    assert {step.verdict for step in of_tier(campaign).steps} == {"better"}
    other = changed(campaign, last.value, version="18")
    steps = [
        s
        for s in of_tier(other).steps
        if s.contender == campaign.plan.workloads[-1].name
    ]
    assert {step.verdict for step in steps} == {"inconclusive"}
    (reason,) = {step.reason for step in steps}
    assert (
        reason.startswith("the runs differ in more than the ") and "version" in reason
    )


def test_nodes_are_not_allowed_to_differ_where_tables_do() -> None:
    campaign = changed(campaign_of({"premium": (100, 200, 300, 400)}), "40", nodes=9)
    reasons = {
        step.reason for step in of_tier(campaign).steps if "40" in step.contender
    }
    assert reasons == {
        "the runs differ in more than the tables: number of nodes 3 against 9"
    }


def of_repetitions(count: int, first: float = 10.0) -> Values:
    """Values of tables from `first` on, each measured so often."""
    campaign = campaign_of({"premium": (1000, 900, 800, 700)})
    runs = [run for run in campaign.runs if run.record.run.repetition <= count]
    (values,) = Values.of_plan(replace(campaign, runs=tuple(runs)), "factor").values()
    least, *others = values.loads
    least = least._replace(value=replace(least.value, number=first))
    return replace(values, loads=(least, *others))


@pytest.mark.parametrize(
    ("values", "has_laws"),
    [
        (of_repetitions(1), False),
        (of_repetitions(2), True),
        # Zero has no logarithm.
        (of_repetitions(2, first=0.0), False),
    ],
)
def test_a_law_takes_two_repetitions_and_values_above_zero(
    values: Values, has_laws: bool
) -> None:
    assert bool(list(laws.of_tier(values, "premium"))) is has_laws


# ------------------------------------------------------------------ the growth horizon

BEST = (1000.0,) * 4


def horizons(
    cheap: Sequence[float], slo: tuple[Objective, ...] = ()
) -> tuple[str, ...]:
    return factor_of(campaign_of({"premium": cheap, "ultra": BEST}, slo=slo)).horizons


def test_the_horizon_is_between_the_last_value_proven_and_the_next() -> None:
    (text,) = horizons((995, 990, 300, 250))
    assert text.startswith(
        "premium is enough up to 20 tables (6 GiB a node, 6 × memory); at 30"
    )
    assert "at 30 tables it is not" in text


def test_a_tier_may_be_enough_everywhere_or_nowhere() -> None:
    (text,) = horizons((1000, 1000, 1000, 1000))
    assert text.startswith("premium is proven enough at every value, up to 40 tables")
    (text,) = horizons((500, 400, 300, 200))
    assert text.startswith("premium is not enough even at 10 tables (6 GiB")


def test_between_two_sizes_of_data_their_sizes_are_told() -> None:
    text = "data=10,20 tables"
    campaign = campaign_of({"premium": (1000, 300), "ultra": BEST[:2]}, text)
    (horizon,) = factor_of(campaign).horizons
    assert horizon.startswith("premium is enough up to 10 tables (6 GiB a node, 6 ×")


def test_what_is_not_proven_ends_the_horizon_too() -> None:
    (text,) = horizons((1000, 950, 1000, 1000))
    assert (
        text.startswith("premium is enough up to 10 tables")
        and "at 20 tables that is open" in text
    )


def test_with_an_slo_each_tier_has_its_horizon() -> None:
    slo = (Objective("latency_avg_s", "all", 0.015),)
    cheap, dear = horizons((1000, 1000, 500, 500), slo)
    assert cheap.startswith("premium is enough up to 20 tables")
    assert dear.startswith("ultra is proven enough at every value")


def test_a_tier_that_does_not_serve_the_rate_is_not_enough_for_it() -> None:
    def figures(run: Run, workload: Workload) -> list[Measurement]:
        rate = workload.varied.number if workload.varied else None
        assert rate is not None
        served = min(rate, 1500.0 if run.profile == "premium" else 9000.0)
        return loads.flow(run, rate, served, 0.001)

    workloads = [
        replace(load, options={**load.options, "arrival_rate": load.varied.number or 0})
        for load in loads.varied("rate=500,1000,2000")
        if load.varied
    ]
    factor = factor_of(loads.build(workloads, figures))
    (text,) = factor.horizons
    assert text.startswith("premium is enough up to 1,000/s; at 2,000/s it is not")
    steps = [step for step in factor.tiers[0].steps if "2000" in step.contender]
    assert {step.reason for step in steps} == {
        "a rate that was asked for is not served"
    }


@cache
def enough_at_two() -> tuple[Results, Sequence[Decision]]:
    """`premium` is enough at the first two values of four."""
    campaign = campaign_of({"premium": (1000, 1000, 300, 250), "ultra": BEST})
    return campaign, judge(campaign).decisions


def why_it_ends(reads_per_s: Sequence[float], causes: Sequence[str]) -> str:
    """What is said behind the horizon of `premium`. `causes`: what limits it at each value."""
    load_names = [load.name for load in loads.varied(TABLES)]

    def with_reads(run: RunData) -> RunData:
        place = load_names.index(run.record.run.workload)
        reads = measured("disk_read_iops", reads_per_s[place])
        figures = (*run.record.measurements, reads)
        return replace(run, record=replace(run.record, measurements=figures))

    campaign, decisions = enough_at_two()
    campaign = replace(campaign, runs=tuple(map(with_reads, campaign.runs)))
    (values,) = Values.of_plan(campaign, "factor").values()
    named: dict[Cell, Any] = {}
    for name, cause in zip(load_names, causes, strict=True):
        named["premium", name] = cause
    (text,) = horizon_sentences(values, named, decisions)
    assert text.startswith("premium is enough up to 20 tables")
    return text.partition("at 30 tables it is not")[2]


UNKNOWN = ("unattributed",) * 4


@pytest.mark.parametrize(
    ("reads_per_s", "causes", "words"),
    [
        ((0, 0, 0, 0), UNKNOWN, ""),
        # 0.1 reads a transaction are hardly any; 0.11 are some.
        ((0, 0, 30, 0), UNKNOWN, ""),
        (
            (0, 0, 33, 0),
            UNKNOWN,
            ": reads leave the cache (0 → 0.110 disk reads a transaction)",
        ),
        # One and a half times as many as at the value before are as many.
        ((0, 1000, 450, 0), UNKNOWN, ""),
        (
            (0, 1000, 480, 0),
            UNKNOWN,
            ": reads leave the cache (1 → 1.60 disk reads a transaction)",
        ),
        (
            (0, 0, 0, 0),
            ("cpu_bound", "cpu_bound", "iops_cap", "cpu_bound"),
            ": limited by IOPS cap, at 20 tables by CPU bound",
        ),
        (
            (0, 0, 300, 0),
            ("unattributed", "unattributed", "iops_cap", "unattributed"),
            ": reads leave the cache (0 → 1 disk reads a transaction); limited by IOPS cap",
        ),
        ((0, 0, 0, 0), ("iops_cap",) * 4, ": limited by IOPS cap"),
        ((0, 0, 0, 0), ("cpu_bound", "cpu_bound", "unattributed", "cpu_bound"), ""),
    ],
)
def test_a_horizon_says_what_is_another_behind_it(
    reads_per_s: Sequence[float], causes: Sequence[str], words: str
) -> None:
    assert why_it_ends(reads_per_s, causes) == words


def test_one_tier_alone_has_no_decision_and_its_laws() -> None:
    verdict = judge(campaign_of({"premium": (1000, 900, 800, 700)}))
    assert verdict.decisions == () and verdict.cluster is None
    assert verdict.varied[0].horizons == () and verdict.varied[0].tiers[0].laws


def test_a_stage_that_is_taken_away_may_change_what_follows_from_it_alone() -> None:
    def steps(**changes: object) -> set[str]:
        campaign = campaign_of({"premium": (100, 200)}, "without=network")
        return {
            step.verdict
            for step in of_tier(changed(campaign, "network", **changes)).steps
        }

    assert steps(without="network", client="beside") == {"better"}
    assert steps(without="network", client="beside", nodes=5) == {"inconclusive"}


# ------------------------------------------------------------------ the answer in short


def test_a_workload_is_not_taken_for_varied_because_its_name_begins_alike() -> None:
    def figures(run: Run, workload: Workload) -> list[Measurement]:
        return loads.closed(run, 1000.0, 0.01)

    # Its name begins with the name of the one that is varied.
    not_varied = replace(loads.a_load(), name="point-select-20")
    workloads = [*loads.varied("data=10,20 tables"), not_varied]
    answer = judge(loads.build(workloads, figures)).answer
    assert answer is not None
    assert "premium is enough for point-select-20" in answer.brief.why
    assert "premium is enough at 20 tables" in answer.brief.why
