"""Words on disks of the catalog: by seconds, by seconds drawn from pieces, or by sums alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from orchestrator.analysis.observed import calibration, replay
from orchestrator.analysis.observed.answer import CandidateAnswer, Observed, worth_measuring
from orchestrator.analysis.observed.calibration import Band, unseen_share
from orchestrator.analysis.observed.censored import held_back
from orchestrator.analysis.observed.demand import Demand, of_counters, of_intervals, united
from orchestrator.analysis.observed.disk_history import DiskHistory
from orchestrator.analysis.observed.replay import RateCap
from orchestrator.tier import Limits
from orchestrator.tier_catalog import tiers
from orchestrator.tier_catalog.candidates import purchases
from tests.catalog import CATALOG
from tests.simulated_demand import START_S, in_seconds, pieces, seconds_of, summed

GIB = 2**30
UNITS = tuple({row.kind.io_unit_bytes for row in tiers(CATALOG)})
BURSTY = seconds_of("bursts of 10 s", 5, mean=600.0)
ONE_PCT = 0.01


def observed(
    *demands: Demand,
    source: Limits | None = None,
    vm: str | None = None,
    tolerance: float = ONE_PCT,
) -> dict[str, CandidateAnswer]:
    observation = Observed.of(demands, tolerance, (source, 2**18) if source else None)
    needs = observation.needs(UNITS)
    answers = observation.answers(purchases(CATALOG, 256 * GIB, needs, vm=vm))
    return {answer.purchase.name: answer for answer in answers}


@functools.cache
def of_bursty() -> dict[str, CandidateAnswer]:
    return observed(BURSTY)


def words(answers: dict[str, CandidateAnswer], *names: str) -> list[str]:
    return [answers[name].word for name in names]


def test_seconds_give_words() -> None:
    answers = of_bursty()
    assert words(answers, "azure/P15", "azure/P80", "azure/S80") == [
        "would not",
        "would have carried",
        "would not",
    ]
    assert answers["azure/P15"].worst.binding == "IOPS"
    assert answers["azure/P15"].low <= answers["azure/P15"].high
    for answer in answers.values():
        for disk in answer.disks:
            assert disk.asking.low <= disk.at_cap.high and disk.at_cap.low <= disk.at_cap.high


def test_the_least_that_carries_is_bought_and_less_would_not_do() -> None:
    answers = of_bursty()
    (name,) = (name for name in answers if name.startswith("azure/premium-v2") and "IOPS" in name)
    assert answers[name].word == "would have carried"
    limits = answers[name].purchase.chosen.limits
    assert limits.iops
    less = RateCap("IOPS", "ios", limits.iops - 200, limits.iops - 200)
    assert replay.together(BURSTY, [less], 2**18, "high").at_cap.mean() > 0.9 * ONE_PCT


def test_the_busiest_node_decides() -> None:
    calm = replace(in_seconds(np.full(86_400, 5.0), node="db-2"), device="sdd")
    answers = observed(calm, BURSTY)
    assert words(answers, "azure/P15") == ["would not"]
    assert answers["azure/P15"].worst.node == "db-1"
    assert {disk.node for disk in answers["azure/P15"].disks} == {"db-1", "db-2"}


def test_the_machine_is_a_limit_too() -> None:
    load = seconds_of("poisson", 1, 7200, mean=4500.0)
    assert words(observed(load), "azure/P40") == ["would have carried"]
    small = observed(load, vm="azure/Standard_D2s_v5")
    assert small["azure/P40"].word != "would have carried"
    assert small["azure/P40"].worst.binding == "IOPS of the VM"
    assert all(name.startswith("azure/") for name in small)


def test_sums_alone_settle_what_is_far_off_and_say_why_the_rest_is_not() -> None:
    answers = observed(summed(BURSTY, 600))
    assert words(answers, "azure/E40", "azure/P30") == ["would not", "cannot be told"]
    assert "readings are 600 s apart, with 0 pieces" in answers["azure/P30"].why
    assert words(answers, "azure/P80") == ["cannot be told"]  # what a second asks, nobody knows
    calm = observed(summed(in_seconds(np.full(86_400, 5.0)), 600))
    assert words(calm, "azure/P30") == ["would have carried"]


def test_pieces_in_seconds_narrow_the_band() -> None:
    coarse = summed(BURSTY, 15)
    shown = replace(coarse, pieces=pieces(BURSTY, 168, 300))
    caps = (RateCap("IOPS", "ios", 2300.0, 2300.0),)
    truth = float(replay.together(BURSTY, caps, None, "high").at_cap.mean())
    wide, narrow = (DiskHistory.of(each).of_caps(caps, None).at_cap for each in (coarse, shown))
    assert wide.low <= narrow.low <= truth <= narrow.high <= wide.high
    assert narrow.high - narrow.low < 0.5 * (wide.high - wide.low)
    answers = observed(shown)
    assert words(answers, "azure/P15", "azure/P80") == ["would not", "would have carried"]


def test_averages_show_credit_where_a_bucket_lasts_much_longer() -> None:
    mean = float(BURSTY.ios.mean())
    caps = (RateCap("IOPS", "ios", 0.9 * mean, 3 * mean, 2.1 * mean * 1800),)
    truth, minutes, long = (
        DiskHistory.of(each).of_caps(caps, None)
        for each in (BURSTY, summed(BURSTY, 60), summed(BURSTY, 600))
    )
    assert truth.empty_s and minutes.empty_s and truth.empty_s.low > 0.05 * 86_400
    assert minutes.empty_s.low == pytest.approx(truth.empty_s.low, abs=0.01 * 86_400)
    assert minutes.empty_s.high == pytest.approx(truth.empty_s.high, abs=0.01 * 86_400)
    assert long.empty_s is None and long.least_credit is None


def test_draws_keep_the_sums_of_each_interval() -> None:
    coarse = replace(summed(BURSTY, 60), pieces=pieces(BURSTY, 24, 300))
    for fine in calibration.drawn(coarse, draws=2):
        assert fine.is_fine
        assert summed(fine, 60).amounts == pytest.approx(coarse.amounts)


@pytest.mark.parametrize(
    ("count", "each_s", "why"),
    [(23, 300, "with 23 pieces in seconds"), (24, 150, "last 180 s or more, of 24")],
)
def test_too_few_or_too_short_pieces_are_refused(count: int, each_s: int, why: str) -> None:
    shown = replace(summed(BURSTY, 60), pieces=pieces(BURSTY, count, each_s))
    assert why in DiskHistory.of(shown).refused[0]


def test_a_regime_beyond_the_pieces_is_refused() -> None:
    count = np.full(86_400, 100.0)
    count[40_000:50_000] = 900.0
    fine = in_seconds(count)
    calm = tuple(fine.part(slice(start, start + 300)) for start in range(0, 24_000, 1000))
    (why,) = DiskHistory.of(replace(summed(fine, 60), pieces=calm)).refused
    assert why == "12 % of the time had rates that no piece in seconds has"


def test_the_unseen_share() -> None:
    assert unseen_share(24) == pytest.approx(0.117, abs=1e-3)
    assert unseen_share(168) == pytest.approx(0.0177, abs=1e-4)
    assert unseen_share(0) == 1.0
    assert Observed.of([BURSTY], ONE_PCT, None).unseen == 0


def test_a_band_is_doubled_and_stays_within_the_hard_one() -> None:
    doubled = calibration.band([0.1, 0.2, 0.3], Band(0.05, 0.5))
    assert doubled.low == 0.05 and doubled.high == pytest.approx(0.4)
    wide = calibration.band([0.1, 0.1], Band(0, 1))
    assert [wide.low, wide.high] == pytest.approx([0.08, 0.12])


def test_reads_and_writes_together_give_no_word_where_they_are_limited_apart() -> None:
    together = replace(in_seconds(np.full(7200, 5.0)), apart=False)
    answers = observed(together)
    assert "reads and writes apart" in answers["gcp/pd-standard, 256GiB"].why
    assert words(answers, "azure/P30") == ["would have carried"]


def test_an_unknown_unit_never_carries_but_may_fail() -> None:
    busy, idle = (observed(in_seconds(np.full(7200, count))) for count in (9000.0, 5.0))
    assert words(busy, "gcp/pd-balanced, 256GiB") == ["would not"]
    assert "not documented" in idle["gcp/pd-balanced, 256GiB"].why


# ------------------------------------------------------------------ the observed disk's own cap


def shaped(asks: Demand, cap: float) -> Demand:
    """As it leaves a disk with that cap."""
    own = replay.replayed(asks.ios, asks.step_s, RateCap("IOPS", "ios", cap, cap), full=True)
    served = asks.ios - np.diff(own.backlog, prepend=0.0)
    return in_seconds(served)


def test_a_capped_source_says_at_least_of_larger_tiers_alone() -> None:
    seen = shaped(BURSTY, 2300.0)
    answers = observed(seen, source=Limits(2300, 150_000_000))
    true = of_bursty()
    assert answers["azure/E60"].high == pytest.approx(true["azure/E60"].high, abs=1e-4)
    assert answers["azure/E60"].high > 0.05 and not answers["azure/E60"].at_least
    assert answers["azure/P15"].at_least and answers["azure/P30"].at_least  # P15 bursts higher
    assert answers["azure/P30"].word == "cannot be told"
    assert answers["azure/P30"].why == "the observed disk held its load back"


def test_an_undeclared_cap_shows_as_a_heap() -> None:
    held = held_back([shaped(BURSTY, 2300.0)], (), None)
    assert held.inferred and held.caps[0].base == pytest.approx(2300, rel=0.02)
    assert held.share > 0.02
    assert held_back([BURSTY], (), None).seconds == 0


# ------------------------------------------------------------------ readings


def counted(times_s: Sequence[float]) -> Demand:
    """A disk with 100 I/Os a second, read at those seconds."""
    times = np.array(times_s)
    return of_counters("db-1", "sda", START_S + times, np.tile(100 * times, (4, 1)))


def test_a_lost_reading_is_a_gap_and_no_burst() -> None:
    demand = counted([0, 15, 30, 60, 75, 90])
    assert (demand.step_s == 15).all() and len(demand.stretches) == 2
    assert demand.coverage == pytest.approx(60 / 90)


def test_a_counter_that_began_anew_is_a_gap() -> None:
    values = np.tile([5.0, 10.0, 2.0, 4.0], (4, 1))
    demand = of_counters("db-1", "sda", np.array([0.0, 1.0, 2.0, 3.0]), values)
    assert demand.begin_s.tolist() == [0.0, 2.0] and demand.ios.tolist() == [10.0, 4.0]


def test_what_is_read_more_often_for_a_while_is_a_piece() -> None:
    demand = counted([*range(0, 600, 15), *range(600, 660), *range(660, 1500, 15)])
    assert demand.resolution_s == 15
    assert demand.ios.sum() == pytest.approx(2 * 100 * 1485)
    (piece,) = demand.pieces
    assert (piece.begin_s[0] - START_S, piece.end_s[-1] - START_S) == (600, 660)


def test_files_of_the_same_disk_are_one_reading() -> None:
    coarse, shown = summed(BURSTY, 60), pieces(BURSTY, 24, 300)
    (whole,) = united([*shown, coarse])
    assert whole.resolution_s == 60 and len(whole.pieces) == 24
    assert united([BURSTY, coarse])[0].is_fine


def test_an_interval_that_overlaps_is_left_out() -> None:
    begin_s, end_s = np.array([0.0, 5.0, 10.0]), np.array([10.0, 15.0, 20.0])
    demand = of_intervals("db-1", "sda", begin_s, end_s, np.ones((4, 3)))
    assert demand.begin_s.tolist() == [0.0, 10.0]


def test_little_of_the_time_gives_no_word() -> None:
    kept = np.concatenate((np.arange(2000), np.arange(3000, 7200)))
    answers = observed(in_seconds(np.full(7200, 5.0)).part(kept))
    assert words(answers, "azure/P30") == ["cannot be told"]
    assert answers["azure/P30"].why == "only 86 % of the time was read"


def test_seconds_at_the_times_of_another_clock_give_no_word() -> None:
    """A scrape that is 0.3 s late is a burst of 30 % that nobody asked for."""
    random = np.random.default_rng(1)
    late = np.arange(7200) + random.uniform(0, 0.1, 7200)
    counters = np.tile(50.0 * np.arange(7200), (4, 1))
    for own_clock, word in ((True, "would have carried"), (False, "cannot be told")):
        demand = of_counters("db-1", "sda", START_S + late, counters, own_clock)
        answers = observed(demand)
        assert words(answers, "azure/P30") == [word]
    assert answers["azure/P30"].why.endswith("% of T late, by another clock")


def test_the_two_worth_measuring() -> None:
    answers = [a for a in of_bursty().values() if a.purchase.provider == "azure"]
    next_cheaper, carries = worth_measuring(answers, ONE_PCT)
    assert carries.word == "would have carried" and next_cheaper.word == "would not"
    may, carries = worth_measuring(answers, 0.04)
    assert may.low <= 0.04 < may.high and carries.high <= 0.04
    assert may.purchase.monthly < carries.purchase.monthly
    calm = observed(in_seconds(np.full(7200, 5.0)), tolerance=0.5)
    two = worth_measuring([a for a in calm.values() if a.purchase.provider == "azure"], 0.5)
    assert [a.word for a in two] == ["would have carried"]  # nothing cheaper is sold
