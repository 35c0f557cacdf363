"""Which tier to buy where throughput cannot tell: latency decides, or nothing does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from orchestrator.analysis.conclusions import Bottleneck, Decision
from orchestrator.analysis.decisions import decision
from orchestrator.analysis.decisions.candidates import (
    FAILED,
    LATENCIES,
    THROUGHPUT,
    Candidate,
)
from orchestrator.analysis.decisions.contest_rules import ContestRules
from orchestrator.analysis.decisions.contests import make_contest
from orchestrator.facts import BottleneckCause
from orchestrator.metrics import measured
from orchestrator.model import Dataset, Objective, Record
from tests.campaigns import build_campaign, build_profile, with_tail

# As published: New-Orders a minute, and the average latency of New-Order, with think time.
STUDY = {
    "premium": (25_135.0, 0.1772),
    "premium-v2": (25_600.1, 0.11034),
    "ultra": (25_616.27, 0.09413),
}
STUDY_DATA = Dataset("tpcc", {"warehouses": 2000})
STEADY = (0.996, 1.0, 1.004)
NOISY = (0.7, 1.0, 1.4)


def tpcc(
    figures: Mapping[str, tuple[float, float]],
    *,
    cause: BottleneckCause = "load_bound",
    latency_noise: Sequence[float] = STEADY,
    p99_noise: Sequence[float] = STEADY,
    p99_of_average: Mapping[str, float] | None = None,
    transactions: float = 500_000.0,
    tail: bool = True,
) -> Decision:
    """What is decided of three repetitions with these NOPM and New-Order latencies.

    Noise comes to each tier in another repetition, so it is not that of whole repetitions.
    """

    def as_figured(record: Record) -> Record:
        nopm, latency_s = figures[record.run.profile]
        turn = (record.run.repetition + list(figures).index(record.run.profile)) % 3
        p99_s = latency_s * (p99_of_average or {}).get(record.run.profile, 3.0)
        found = (
            measured("throughput_per_s", nopm / 27 * STEADY[turn]),
            measured("nopm", nopm * STEADY[turn]),
            measured("transactions", transactions),
            measured("transactions", transactions, "new_order"),
            measured("latency_avg_s", latency_s * latency_noise[turn] * 0.8),
            measured("latency_avg_s", latency_s * latency_noise[turn], "new_order"),
            measured("latency_p99_s", p99_s * p99_noise[turn], "new_order"),
        )
        thinking = replace(
            record.workload, options={"think": "spec"}, dataset=STUDY_DATA
        )
        return replace(record, measurements=found, workload=thinking)

    campaign = build_campaign(
        profiles=list(figures), workloads=["tpcc"], frames=False, change=as_figured
    )
    found = [Bottleneck(name, "tpcc", "node-1", cause, "", {}) for name in figures]
    return decision.decide_all(with_tail(campaign) if tail else campaign, found)[0][0]


@pytest.mark.parametrize("cause", ["load_bound", "cpu_bound"])
def test_founding_study_s_cheapest_tier_is_not_named(cause: BottleneckCause) -> None:
    """NOPM within 1.9 %, New-Order 177, 110 and 94 ms: throughput alone would name the cheapest."""
    found = tpcc(STUDY, cause=cause)
    assert found.tier == "ultra", found.reason
    assert "premium against ultra, average New-Order latency +88.3 %" in found.reason
    assert "premium-v2 against ultra, average New-Order latency +17.2 %" in found.reason
    assert "disk is not the limit on any tier" not in found.reason
    assert "Think time holds throughput at its ceiling on every tier" in found.reason
    assert found.criterion == "average New-Order latency"


@pytest.mark.parametrize("cause", ["load_bound", "cpu_bound"])
def test_latency_that_noise_leaves_open_does_not_count_as_proven(
    cause: BottleneckCause,
) -> None:
    found = tpcc(STUDY, cause=cause, latency_noise=NOISY)
    assert found.tier is None, found.reason
    assert "premium" in found.reason and "average New-Order latency" in found.reason
    assert "not proven" in found.reason


def test_open_in_the_99th_percentile_alone_says_what_is_proven() -> None:
    alike = dict.fromkeys(STUDY, (20_000.0, 0.1))
    found = tpcc(alike, p99_noise=NOISY)
    assert found.tier is None, found.reason
    assert (
        "premium is within 5 % of the best throughput and average New-Order latency; whether also "
        "of the best p99 New-Order latency is not proven" in found.reason
    )


def test_worse_in_the_99th_percentile_alone_is_outside() -> None:
    alike = dict.fromkeys(STUDY, (25_600.0, 0.1))
    found = tpcc(alike, p99_of_average={"premium": 6.0})
    assert found.tier == "premium-v2", found.reason
    assert "premium against premium-v2, p99 New-Order latency +100 %" in found.reason


def test_where_the_disk_has_no_tail_p99_is_no_criterion_and_that_is_said() -> None:
    """Or a percentile that the report itself calls not comparable would decide."""
    alike = dict.fromkeys(STUDY, (25_600.0, 0.1))
    found = tpcc(alike, p99_of_average={"premium": 6.0}, tail=False)
    assert found.tier == "premium", found.reason
    assert (
        "p99 latency is not compared: the emulated latency of premium, premium-v2 and ultra is "
        "constant" in found.reason
    )


def test_alike_in_everything_the_cheapest_is_named() -> None:
    found = tpcc(dict.fromkeys(STUDY, (20_000.0, 0.1)))
    assert found.tier == "premium", found.reason
    assert (
        "within 5 % of the best throughput and average New-Order latency and within 20 % of the "
        "best p99 New-Order latency"
    ) in found.reason
    assert "The disk is not the limit on any tier" in found.reason


@pytest.mark.parametrize(
    ("p99_margin_pct", "word"), [(20.0, "enough"), (5.0, "not enough"), (10.0, "open")]
)
def test_p99_has_a_margin_of_its_own(p99_margin_pct: float, word: str) -> None:
    """A p99 that is 10 % longer, of otherwise equal tiers."""
    tail_s = {"premium": (0.110, 0.1102, 0.1098), "ultra": (0.1, 0.1002, 0.0998)}
    rivals = [
        Candidate(build_profile(name), {THROUGHPUT: STEADY, LATENCIES[1]: values}, "")
        for name, values in tail_s.items()
    ]
    rules = ContestRules(5.0, (THROUGHPUT, LATENCIES[1]), p99_margin_pct=p99_margin_pct)
    found = decision.decide(make_contest("insert", rivals, list(tail_s), rules))
    premium = found.offers[0]
    assert premium.standing == word, found.reason
    assert (
        premium.least_margin_pct is not None
        and premium.least_p99_margin_pct is not None
    )
    assert premium.least_margin_pct < 5 < premium.least_p99_margin_pct < 20


@pytest.mark.parametrize(
    ("p99_s", "limit_s", "words"),
    [
        (
            (0.070, 0.080, 0.090, 0.078, 0.085),
            0.095,
            "whether single windows keep it is not proven",
        ),
        (
            (0.070, 0.080, 0.090, 0.078, 0.085),
            0.120,
            "9 of 10 single windows keep it or more",
        ),
    ],
)
def test_an_slo_on_p99_says_what_is_proven_of_windows(
    p99_s: tuple[float, ...], limit_s: float, words: str
) -> None:
    clause = Objective("latency_p99_s", "all", limit_s)
    values = {THROUGHPUT: (1_000.0,) * 5}
    tier = Candidate(
        build_profile("premium"), values, "", {clause: p99_s, FAILED: (0.0,) * 5}
    )
    rules = ContestRules(5.0, (THROUGHPUT,), slo=(clause,))
    found = decision.decide(make_contest("insert", [tier], ["premium"], rules))
    assert found.tier == "premium", found.reason
    assert "it is the mean that is below" in found.reason and words in found.reason


def test_each_tier_worse_in_something_leaves_none() -> None:
    crossed = {"premium": (18_000.0, 0.08), "ultra": (23_040.0, 0.1)}
    found = tpcc(crossed)
    assert found.tier is None
    assert "premium against ultra, throughput −21.9 %" in found.reason
    assert "ultra against premium, average New-Order latency +25.0 %" in found.reason


def test_a_percentile_of_too_few_transactions_is_not_compared_and_that_is_said() -> (
    None
):
    alike = dict.fromkeys(STUDY, (25_600.0, 0.1))
    found = tpcc(alike, p99_of_average={"premium": 6.0}, transactions=900.0)
    assert found.tier == "premium", found.reason
    assert (
        "Not compared, as not every run has it: p99 New-Order latency" in found.reason
    )
    assert "The disk is not the limit" not in found.reason


def test_a_difference_likely_by_chance_among_many_comparisons_rules_nothing_out() -> (
    None
):
    """The same figures, alone and beside another criterion that shows nothing."""
    slower = {
        "premium": (1_000.0, 1_001.0, 920.0),
        "ultra": (1_100.0, 1_110.0, 1_120.0),
    }

    def decide(p99: bool) -> Decision:
        tail_s = {"premium": (0.1009,) * 3, "ultra": (0.1,) * 3}
        rivals = [
            Candidate(build_profile(n), {THROUGHPUT: v, LATENCIES[1]: tail_s[n]}, "")
            for n, v in slower.items()
        ]
        criteria = (THROUGHPUT, LATENCIES[1]) if p99 else (THROUGHPUT,)
        return decision.decide(
            make_contest("insert", rivals, list(slower), ContestRules(1.0, criteria))
        )

    assert [offer.standing for offer in decide(p99=False).offers] == [
        "not enough",
        "enough",
    ]
    found = decide(p99=True)
    assert found.tier == "ultra"
    assert [offer.standing for offer in found.offers] == ["open", "enough"]
    assert "Whether premium, which is cheaper, is enough is open" in found.reason


@pytest.mark.parametrize(
    ("options", "titles"),
    [
        ({}, ["throughput", "p99 latency"]),
        ({"think": "spec"}, ["throughput", "average latency", "p99 latency"]),
        ({"arrival_rate": 900.0}, ["average latency", "p99 latency"]),
    ],
)
def test_each_figure_is_one_criterion(
    options: dict[str, float | str], titles: list[str]
) -> None:
    """In a closed loop average latency is sessions ÷ throughput."""

    def under(record: Record) -> Record:
        return replace(record, workload=replace(record.workload, options=options))

    campaign = build_campaign(
        workloads=["insert"], noise_pct=0.1, frames=False, change=under
    )
    (found,) = decision.decide_all(with_tail(campaign), ())[0]
    assert [change.title for change in found.offers[0].worst] == titles, found.reason
