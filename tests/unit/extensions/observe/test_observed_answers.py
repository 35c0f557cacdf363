"""Words on disks of the catalog: by seconds, by seconds drawn from pieces, or by sums alone."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.answers.record import Caution
from orchestrator.errors import UsageError
from orchestrator.extensions.observe.candidates import purchases
from orchestrator.extensions.observe.judging import node_sums, replay
from orchestrator.extensions.observe.judging.answered_observation import (
    CandidateAnswer,
    worth_measuring,
)
from orchestrator.extensions.observe.judging.candidate_answers import Observed
from orchestrator.extensions.observe.judging.counter_growth import grown
from orchestrator.extensions.observe.judging.demand import QUANTITIES, Demand
from orchestrator.extensions.observe.judging.disk_demands import demands
from orchestrator.extensions.observe.judging.drawn_seconds import (
    Band,
    band,
    by_second,
    unseen_share,
)
from orchestrator.extensions.observe.judging.rate_caps import RateCap
from orchestrator.extensions.observe.judging.share_bounds import SLACK, judged
from orchestrator.extensions.observe.page.observation import observation_answer
from orchestrator.tier import Limits
from tests.catalog import CATALOG
from tests.simulated_demand import (
    START_S,
    as_reads,
    in_seconds,
    pieces,
    rates,
    seconds_of,
    summed,
    table,
)

GIB = 2**30
BURSTY = seconds_of("bursts of 10 s", 5, mean=600.0)
ONE_PCT = 0.01
# That held none of these loads back: one rate all the time looks as a limit of some disk.
FAST = Limits(80_000, 2_000_000_000)


def observed(
    *of: Demand,
    source: Limits | None = None,
    vm: str | None = None,
    tolerance: float = ONE_PCT,
    only: Sequence[str] = (),
) -> dict[str, CandidateAnswer]:
    """An answer for each disk that is sold, or for `only` those."""
    observation = Observed.of(of, tolerance, source)
    offers = purchases(CATALOG, 256 * GIB, observation.needs, None, vm)
    if only:
        offers = [offer for offer in offers if offer.name in only]
        assert len(offers) == len(only)
    every = observation.against(offers).answers
    return {answer.purchase.name: answer for answer in every}


def refused(demand: Demand) -> str:
    return Observed.of([demand], ONE_PCT).refused


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
    assert answers["azure/P15"].on.binding == "IOPS"
    for on in (answer.on for answer in answers.values()):
        assert (
            on.at_cap_least
            <= on.waits[0]
            <= on.waits[1]
            <= on.queues[1]
            <= on.at_cap_most
        )
        assert on.waits[0] <= on.queues[0] <= on.queues[1]


def test_the_least_that_carries_is_bought_and_less_would_not_do() -> None:
    answers = of_bursty()
    names = [name for name in answers if name.startswith("azure/premium-v2")]
    carrying = [name for name in names if answers[name].word == "would have carried"]
    limits = min(answers[name].purchase.tier.limits.iops or 0 for name in carrying)
    less = RateCap("IOPS", "ios", limits - 200, limits - 200)
    assert limits not in (3000, 12_000, 48_000)
    assert (
        replay.together(BURSTY, [less], 2**18, "high", SLACK).at_cap.mean()
        > 0.9 * ONE_PCT
    )


def test_what_less_and_more_would_do_is_told_apart_from_what_was_read() -> None:
    """A disk that has just enough for what was seen may be asked for more than that; one that has
    too little for less, as users who wait for it ask less."""
    steady = in_seconds(np.full(7200, 1000.0))
    for rate, less, seen, more in (
        (730, 1, 1, 1),
        (900, 0, 1, 1),
        (1020, 0, 1, 1),
        (1060, 0, 0, 1),
        (1200, 0, 0, 0),
    ):
        on = judged(steady, (RateCap("IOPS", "ios", rate, rate),), None)
        assert on.waits == on.queues == (seen, seen) and (
            on.at_cap_least,
            on.at_cap_most,
        ) == (
            less,
            more,
        )


def test_what_waits_is_at_the_cap_longer_than_it_is_asked_for() -> None:
    bursts = in_seconds(np.tile([3000.0, *[100.0] * 9], 360))
    for demand, least in (
        (bursts, 0.1),
        (as_reads(bursts), 0.3),
    ):  # commits share a write
        on = judged(demand, (RateCap("IOPS", "ios", 1000.0, 1000.0),), None)
        assert on.waits == pytest.approx((0.1, 0.1)) and on.queues == pytest.approx(
            (least, 0.3)
        )


def test_the_busiest_node_decides() -> None:
    calm = replace(in_seconds(np.full(86_400, 5.0), node="db-2"), device="sdd")
    answers = observed(calm, BURSTY, only=["azure/P15"])
    assert words(answers, "azure/P15") == ["would not"]
    assert set(answers["azure/P15"].on.hours.node) == {"db-1"}


def test_the_machine_is_a_limit_too() -> None:
    load = seconds_of("poisson", 1, 7200, mean=4500.0)
    alone = observed(load, source=FAST, only=["azure/P40"])
    assert words(alone, "azure/P40") == ["would have carried"]
    small = observed(load, vm="azure/Standard_D2s_v5", source=FAST)
    assert small["azure/P40"].word != "would have carried"
    assert small["azure/P40"].on.binding == "IOPS of the VM"
    assert all(name.startswith("azure/") for name in small)


def on_two_devices(each: Demand) -> tuple[Demand, Demand]:
    return each, replace(each, device="sdd")


def test_the_devices_of_a_node_share_their_machine_s_caps() -> None:
    """2 × 11,000 a second are more than the 12,800 that it lets through, and its 20,000 in a
    burst; so are 2 × 4,200 than 6,400 of a smaller one."""
    dice = np.random.default_rng(1)
    for vm, rate in (
        ("azure/Standard_D8s_v5", 11_000),
        ("azure/Standard_D4s_v5", 4200),
    ):
        load = in_seconds(dice.poisson(rate, 1800).astype(float), io_bytes=4096.0)
        answers = observed(*on_two_devices(load), vm=vm, source=FAST)
        assert "would have carried" not in {each.word for each in answers.values()}
        alone = observed(load, vm=vm, source=FAST)
        assert "would have carried" in {each.word for each in alone.values()}
        of_machine = [each for each in answers.values() if each.on.binding]
        assert any("of the VM" in each.on.binding for each in of_machine)


def test_a_machine_s_cap_is_seen_while_another_disk_is_not_read() -> None:
    vm = "azure/Standard_D8s_v5"  # 12,800 IOPS
    hours = np.full(7200, 500)
    hours[3000:3360] = 22_000  # 5 % of the time
    busy = in_seconds(hours)
    idle = replace(in_seconds(np.full(7200, 10)), device="sdc")
    is_read = hours < 22_000
    alone = observed(busy, vm=vm)
    assert all(answer.on.at_cap_most >= 0.05 for answer in alone.values())
    for beside in (idle, idle.part(is_read)):
        answers = observed(busy, beside, vm=vm)
        assert {answer.word for answer in answers.values()} <= {
            "would not",
            "cannot be told",
        }
        for name, answer in answers.items():
            assert answer.on.at_cap_most >= alone[name].on.at_cap_most


def test_two_nodes_have_a_machine_each() -> None:
    load = in_seconds(np.full(1800, 4200.0), io_bytes=4096.0)
    nodes = (load, replace(load, node="db-2"))
    answers = observed(*nodes, vm="azure/Standard_D4s_v5", source=FAST)
    alone = observed(load, vm="azure/Standard_D4s_v5", source=FAST)
    assert words(answers, *answers) == words(alone, *answers)


def test_disks_that_are_striped_today_are_summed_when_asked() -> None:
    """Two at 700 a second are 1,400 of one disk in their place."""
    load = in_seconds(np.random.default_rng(2).poisson(700, 7200).astype(float))
    (total,) = node_sums.of_nodes(on_two_devices(load))
    assert (total.device, total.ios.mean()) == (
        "sdc+sdd",
        pytest.approx(1400, rel=0.01),
    )
    apart = observed(*on_two_devices(load), only=["azure/P15"])
    summed_up = observed(total, only=["azure/P15"])
    assert words(apart, "azure/P15") == ["would have carried"]
    assert words(summed_up, "azure/P15") == ["cannot be told"]
    assert summed_up["azure/P15"].on.at_cap_most == 1


def test_disks_that_were_read_at_other_moments_are_summed_over_the_coarser_intervals() -> (
    None
):
    fine = in_seconds(np.full(600, 100.0))
    coarse = replace(summed(fine, 15), device="sdd")
    late = coarse.part(slice(0, 20))
    late = replace(late, begin_s=late.begin_s + 7.5, end_s=late.end_s + 7.5)
    (total,) = node_sums.of_nodes((fine, late))
    assert total.ios == pytest.approx(2 * late.ios)
    known = np.concatenate((np.arange(100), np.arange(200, 600)))
    (with_gap,) = node_sums.of_nodes((fine.part(known), late))
    assert len(with_gap.ios) < len(total.ios) and with_gap.coverage < 1


def test_sums_alone_settle_what_is_far_off_and_say_why_the_rest_is_not() -> None:
    named = ["azure/E40", "azure/P30", "azure/P80"]
    answers = observed(summed(BURSTY, 600), only=named)
    assert words(answers, "azure/E40", "azure/P30") == ["would not", "cannot be told"]
    assert (
        "readings are 600 s apart; 24 pieces read by the second"
        in answers["azure/P30"].why
    )
    assert words(answers, "azure/P80") == [
        "cannot be told"
    ]  # what a second asks, nobody knows
    coarse = summed(in_seconds(np.full(86_400, 5.0)), 600)
    calm = observed(coarse, only=["azure/P30"])
    assert words(calm, "azure/P30") == ["would have carried"]


def test_pieces_in_seconds_narrow_the_band() -> None:
    coarse = summed(BURSTY, 15)
    shown = replace(coarse, pieces=pieces(BURSTY, 168, 300))
    caps = (RateCap("IOPS", "ios", 2300.0, 2300.0),)
    truth = float(replay.together(BURSTY, caps, None, "high").at_cap.mean())
    wide, narrow = (judged(each, caps, None) for each in (coarse, shown))
    (low, high), (lowest, highest) = narrow.queues, wide.queues
    assert lowest <= low <= truth <= high <= highest and high - low < 0.35 * (
        highest - lowest
    )
    asks = float(replay.together(BURSTY, caps, None, "low").asks.mean())
    assert (
        np.isnan(wide.waits).all()
        and narrow.waits[0] <= asks <= narrow.waits[1] < truth
    )
    answers = observed(shown, only=["azure/P15", "azure/P80"])
    assert words(answers, "azure/P15", "azure/P80") == [
        "would not",
        "would have carried",
    ]


def test_averages_show_credit_where_a_bucket_lasts_much_longer() -> None:
    mean = float(BURSTY.ios.mean())
    caps = (RateCap("IOPS", "ios", 0.9 * mean, 3 * mean, 2.1 * mean * 1800),)
    fine = as_reads(BURSTY)
    truth, minutes, long = (
        judged(each, caps, None) for each in (fine, summed(fine, 60), summed(fine, 600))
    )
    assert truth.empty_s and minutes.empty_s and truth.empty_s[1] > 0.05 * 86_400
    assert minutes.empty_s == pytest.approx(truth.empty_s, abs=0.01 * 86_400)
    assert long.empty_s is None and np.isnan(long.hours.credit).all()
    short = (
        replace(caps[0], bucket=2.1 * mean * 9),
    )  # of a bucket of 9 s seconds do not tell
    assert judged(fine, short, None).empty_s is None
    commits = judged(BURSTY, caps, None).empty_s
    assert commits and commits[0] < truth.empty_s[0] and commits[1] == truth.empty_s[1]


def test_draws_keep_the_sums_of_each_interval() -> None:
    coarse = replace(summed(BURSTY, 60), pieces=pieces(BURSTY, 24, 300))
    drawn = list(by_second(coarse, draws=2))
    assert len(drawn) == 2
    for fine in drawn:
        assert fine.is_fine
        assert summed(fine, 60).amounts == pytest.approx(coarse.amounts)


@pytest.mark.parametrize(
    ("count", "each_s", "why"),
    [
        (23, 300, "of 180 s or more, are needed, and there are 23"),
        (24, 150, "of 180 s or more, are needed, and there are 0"),
    ],
)
def test_too_few_or_too_short_pieces_are_refused(
    count: int, each_s: int, why: str
) -> None:
    shown = replace(summed(BURSTY, 60), pieces=pieces(BURSTY, count, each_s))
    assert why in refused(shown)


def test_a_regime_beyond_the_pieces_is_refused() -> None:
    count = np.full(86_400, 100.0)
    count[40_000:50_000] = 900.0
    fine = in_seconds(count)
    calm = tuple(
        rates(fine.part(slice(start, start + 300))) for start in range(0, 24_000, 1000)
    )
    why = refused(replace(summed(fine, 60), pieces=calm))
    assert (
        why
        == "12 % of the time had rates that do not occur in any piece read by the second"
    )


def test_the_unseen_share() -> None:
    assert unseen_share(24) == pytest.approx(0.117, abs=1e-3)
    assert unseen_share(168) == pytest.approx(0.0177, abs=1e-4)


def test_a_band_is_doubled_and_stays_within_the_hard_one() -> None:
    doubled = band([0.1, 0.2, 0.3], Band(0.05, 0.5))
    assert doubled == pytest.approx((0.05, 0.4))
    assert band([0.1, 0.1], Band(0, 1)) == pytest.approx((0.08, 0.12))


def test_reads_and_writes_together_bound_either_where_they_are_limited_apart() -> None:
    """sar: 5,000 I/Os a second may be reads, or none of them may be."""
    for count, word in ((5.0, "would have carried"), (5000.0, "cannot be told")):
        together = in_seconds(np.full(7200, count))
        together.amounts[0] = np.nan
        caps = (RateCap("read IOPS", "reads", 750.0, 750.0),)
        on = judged(together, caps, 2**18)
        assert on.at_cap_least == 0 and (on.at_cap_most > ONE_PCT) == (
            word == "cannot be told"
        )


def test_an_unknown_unit_never_carries_but_may_fail() -> None:
    name = "gcp/pd-balanced:size=256GiB"
    busy = observed(in_seconds(np.full(7200, 9000.0)), only=[name])
    idle = observed(in_seconds(np.full(7200, 5.0)), only=[name])
    assert words(busy, name) == ["would not"]
    assert "not documented" in idle[name].why


# ------------------------------------------------------------------ the observed disk's own cap


def shaped(asks: Demand, cap: float) -> Demand:
    """As it leaves a disk with that cap."""
    own = RateCap("IOPS", "ios", cap, cap)
    limit, waits, _ = replay.replayed(asks.ios, asks.ios, asks.step_s, own, full=True)
    served = np.minimum(asks.ios + waits, limit)
    return in_seconds(served)


def test_a_capped_source_says_at_least_of_larger_tiers_alone() -> None:
    seen = shaped(BURSTY, 2300.0)
    named = ["azure/E60", "azure/P15", "azure/P30"]
    answers = observed(seen, source=Limits(2300, 150_000_000), only=named)
    true = of_bursty()
    assert answers["azure/E60"].on.at_cap_most == pytest.approx(
        true["azure/E60"].on.at_cap_most, abs=1e-4
    )
    assert (
        answers["azure/E60"].on.queues[1] > 0.05 and not answers["azure/E60"].at_least
    )
    assert (
        answers["azure/P15"].at_least and answers["azure/P30"].at_least
    )  # P15 bursts higher
    assert answers["azure/P30"].word == "cannot be told"
    assert answers["azure/P30"].why == "the observed disk held its load back"


@pytest.mark.slow
def test_whether_coarse_readings_were_at_a_declared_cap_is_bounded() -> None:
    """A mean of minutes that is far below the cap hides seconds at it."""
    source = Limits(2300, 150_000_000)
    minutes = summed(shaped(BURSTY, 2300.0), 60)
    true = Observed.of([shaped(BURSTY, 2300.0)], ONE_PCT, source).held_back
    alone = Observed.of([minutes], ONE_PCT, source)
    assert alone.held_back >= true > 2 * float((minutes.ios >= 0.95 * 60 * 2300).mean())
    shown = replace(minutes, pieces=pieces(shaped(BURSTY, 2300.0), 168, 300))
    assert true <= Observed.of([shown], ONE_PCT, source).held_back < alone.held_back
    answers = observed(shown, source=source)
    assert answers["azure/P80"].at_least and words(answers, "azure/P80") == [
        "cannot be told"
    ]


def test_an_undeclared_cap_shows_as_a_heap() -> None:
    held = Observed.of([shaped(BURSTY, 2300.0)], ONE_PCT)
    heaps = {cap.name: cap.base for cap in held.source}
    assert held.inferred and heaps["IOPS"] == pytest.approx(2300, rel=0.02)
    assert held.held_back > 0.02
    assert Observed.of([BURSTY], ONE_PCT).held_back == 0


def at_its_limit(limit: float, jitter: float, share: float = 1.0) -> Demand:
    """An hour of a disk that was at its limit for that share of the seconds, and asked for half of
    it or less in the others."""
    random = np.random.default_rng(1)
    seconds = 3600
    asked = random.poisson(limit * random.uniform(0.1, 0.5, seconds)).astype(float)
    at_limit = np.arange(seconds) < share * seconds
    return in_seconds(
        np.where(at_limit, limit * random.normal(1, jitter, seconds), asked)
    )


@pytest.mark.parametrize("share", [1.0, 0.5, 0.2])
@pytest.mark.parametrize("jitter", [0.0, 0.01, 0.03])
@pytest.mark.parametrize("limit", [300.0, 1000.0, 5000.0])
def test_a_limit_shows_though_seconds_at_it_are_not_all_alike(
    limit: float, jitter: float, share: float
) -> None:
    seen = Observed.of([at_its_limit(limit, jitter, share)], ONE_PCT)
    bases = {cap.name: cap.base for cap in seen.source}
    assert bases["IOPS"] == pytest.approx(limit, rel=0.02)
    assert seen.held_back > 0.8 * share


def test_of_a_source_that_looks_as_if_at_its_limit_larger_disks_cannot_be_told() -> (
    None
):
    seen = at_its_limit(1000.0, 0.03)
    answers = observed(seen)
    for larger in ("azure/P30", "azure/P80"):
        assert answers[larger].word == "cannot be told"
        assert "--source" in answers[larger].why
    source = Limits(5000, 200_000_000)
    named = observed(seen, source=source, only=["azure/P80"])
    assert named["azure/P80"].word == "would have carried"
    asked = Observed.of([seen], ONE_PCT).with_answers([*answers.values()])
    sureness = observation_answer(asked, "", []).sureness
    assert sureness.word == "cannot be told from these readings"
    assert "--source" in sureness.text


@pytest.mark.parametrize("rate", [100.0, 300.0, 500.0, 700.0])
def test_a_load_that_asks_for_one_rate_is_no_limit_where_chance_tells_them_apart(
    rate: float,
) -> None:
    """Above some 800 IOPS it varies as little as a disk at its limit, and counts cannot tell."""
    random = np.random.default_rng(2)
    steady = in_seconds(random.poisson(rate, 3600).astype(float))
    assert Observed.of([steady], ONE_PCT).source == ()
    swift = in_seconds(random.poisson(2000.0, 3600).astype(float))
    assert Observed.of([swift], ONE_PCT).held_back > 0.9


# ------------------------------------------------------------------ readings


def counters(times_s: Sequence[float], values: Sequence[float]) -> pd.DataFrame:
    """A disk whose counters of I/Os stood so at those seconds, each I/O of 4 KiB."""
    rows = [
        (START_S + time, "db-1", "sda", v, v, 4096 * v, 4096 * v)
        for time, v in zip(times_s, values, strict=True)
    ]
    return pd.DataFrame(rows, columns=["time_s", "node", "device", *QUANTITIES])


def counted(times_s: Sequence[float]) -> Demand:
    """A disk with 100 I/Os a second, read at those seconds."""
    (demand,) = demands(grown(counters(times_s, [50.0 * time for time in times_s])))
    return demand


def test_a_lost_reading_is_a_gap_and_no_burst() -> None:
    demand = counted([0, 15, 30, 60, 75, 90])
    assert (demand.step_s == 15).all() and len(demand.starts) == 2
    assert demand.coverage == pytest.approx(60 / 90)


def test_disks_that_came_and_went_are_held_against_the_whole_time() -> None:
    """One from the first minute to the third, another from the second to the fifth."""
    early = counters([0, 60, 120], [0.0, 60.0, 120.0])
    late = counters([60, 120, 240], [0.0, 60.0, 180.0]).assign(device="sdb")
    readings = pd.concat([early, late], ignore_index=True)
    found = demands(grown(readings))
    assert [demand.whole_s for demand in found] == [240.0, 240.0]


def test_a_counter_that_began_anew_is_a_gap() -> None:
    (demand,) = demands(grown(counters([0, 1, 2, 3], [5.0, 10.0, 2.0, 4.0])))
    assert (demand.begin_s - START_S).tolist() == [0, 2] and demand.ios.tolist() == [
        10,
        4,
    ]


def test_a_clock_that_is_set_back_costs_the_overlap_and_no_more() -> None:
    """By an hour in the middle of two: what follows is of the hour that was read already."""
    times_s = np.arange(7200.0)
    times_s[3600:] -= 3600
    readings = counters(times_s.tolist(), (100 * np.arange(7200.0)).tolist())
    (demand,) = demands(grown(readings))
    assert demand.step_s.sum() >= 3598 and (demand.ios == 200).all()
    times_s = np.arange(7200.0)
    times_s[3600:] -= 30
    readings = counters(times_s.tolist(), (100 * np.arange(7200.0)).tolist())
    (demand,) = demands(grown(readings))
    assert demand.step_s.sum() == pytest.approx(7200 - 30, abs=3)
    backwards = readings.iloc[::-1]
    (demand,) = demands(grown(backwards[backwards["time_s"] < START_S + 3500]))
    assert demand.step_s.sum() > 3400


def test_a_counter_that_jumps_beyond_what_the_disk_can_do_is_a_gap() -> None:
    values = [100.0 * second for second in range(60)]
    jumped = [value + 50_000 * (value >= 3000) for value in values]
    of_any = demands(grown(counters(list(range(60)), jumped)))
    assert max(of_any[0].ios) > 100_000  # some disk could do that
    (known,) = demands(grown(counters(list(range(60)), jumped)), Limits(2300, 10**8))
    assert len(known.starts) == 2 and max(known.ios) == 200
    impossible = [value + 1e8 * (value >= 3000) for value in values]
    (demand,) = demands(grown(counters(list(range(60)), impossible)))
    assert len(demand.starts) == 2 and max(demand.ios) == 200


def test_more_jumps_than_counters_make_are_load_and_another_disk() -> None:
    """1,000 even seconds at 5,000 were left out as jumps of the counter of a disk of 1,100."""
    growth = np.full(20_000, 100.0)
    growth[10_000:11_000] = 5000.0
    values = np.cumsum(growth).tolist()
    source = Limits(1100, 125_000_000)
    (known,) = demands(grown(counters(list(range(20_000)), values)), source)
    (any_disk,) = demands(grown(counters(list(range(20_000)), values)))
    assert known.ios.sum() == any_disk.ios.sum() and known.left_out == 0
    observation = Observed.of([known], ONE_PCT, source).with_answers([])
    assert observation.beyond == pytest.approx(0.05, rel=0.01)
    answer = observation_answer(observation, "", ())
    assert "more than the source does" in {each.kind for each in answer.cautions}


def test_jumps_that_are_left_out_are_told() -> None:
    values = [100.0 * second + 50_000 * (second >= 30) for second in range(60)]
    source = Limits(2300, 10**8)
    (known,) = demands(grown(counters(list(range(60)), values)), source)
    assert known.left_out == 1
    observation = Observed.of([known], ONE_PCT, source).with_answers([])
    (told,) = [
        caution
        for caution in observation_answer(observation, "", ()).cautions
        if caution.kind == "jumps left out"
    ]
    assert observation.beyond == 0 and "counter: 1 interval with" in told.text


def test_the_limits_of_a_stripe_are_those_of_all_its_devices() -> None:
    """Two at 900 a second of devices of 1,100 each are held back by nothing."""
    each = in_seconds(np.full(2000, 900.0), io_bytes=4096.0)
    source = Limits(1100, 125_000_000)
    sums = node_sums.of_nodes(on_two_devices(each))
    assert Observed.of(sums, ONE_PCT, source).held_back == 0
    full = in_seconds(np.full(2000, 1095.0), io_bytes=4096.0)
    sums = node_sums.of_nodes(on_two_devices(full))
    of_full = Observed.of((*sums, replace(each, node="db-2")), ONE_PCT, source)
    assert [cap.base for cap in of_full.source] == [2200]
    assert of_full.held_back == 0.5 and of_full.beyond == 0


def test_each_disk_has_its_own_counters() -> None:
    both = pd.concat(
        [counters([0, 1, 2], [0, 3, 6]).assign(node=node) for node in ("a", "b")]
    )
    assert [each.ios.tolist() for each in demands(grown(both))] == [[6, 6], [6, 6]]


def test_a_disk_that_was_read_only_at_first_is_not_said_to_be_covered() -> None:
    """Its machine was lost: of what it was asked since then nothing is known."""
    every = [
        counters(range(end), range(end)).assign(node=node)
        for node, end in (("a", 9), ("b", 5))
    ]
    of_a, of_b = demands(grown(pd.concat(every)))
    assert (of_a.coverage, of_b.coverage) == (1.0, 0.5)
    assert Observed.of([of_a], ONE_PCT).refused == ""
    assert (
        "only 50 % of the time was read" in Observed.of([of_a, of_b], ONE_PCT).refused
    )


def test_seconds_beside_coarse_readings_of_the_same_disk_are_its_pieces() -> None:
    coarse = summed(BURSTY, 60)
    fine = [BURSTY.part(slice(n * 3600, n * 3600 + 300)) for n in range(24)]
    (whole,) = demands(table(coarse, *fine))
    assert whole.resolution_s == 60 and len(whole.pieces) == 24
    assert whole.pieces[3] == pytest.approx(rates(fine[3]))
    assert whole.ios == pytest.approx(coarse.ios)
    (alone,) = demands(table(coarse, BURSTY))
    assert alone.is_fine and len(alone.ios) == 86_400 and not alone.pieces


def test_times_that_are_there_twice_with_other_figures_are_two_disks_whatever_the_order() -> (
    None
):
    """Two machines that call themselves alike: half of the readings was dropped without a word, and
    the order of the files decided which."""
    idle = in_seconds(np.full(60, 3.0))
    busy = in_seconds(np.full(60, 5000.0))
    told = set()
    for order in ((idle, busy), (busy, idle)):
        with pytest.raises(
            UsageError, match=r"60 readings of .* times as other"
        ) as refused:
            demands(table(*order))
        told.add(refused.value.what)
    assert len(told) == 1


def test_the_same_readings_twice_count_once() -> None:
    demand = in_seconds(np.arange(60.0))
    (once,) = demands(table(demand, demand))
    assert once.ios.tolist() == demand.ios.tolist()


def test_readings_stand_in_the_order_in_which_they_came() -> None:
    """Five steps of a clock in 100 readings: sorted by it, growth was counted that never was."""
    times_s = np.arange(100.0)
    for step in (20, 40, 60, 80):
        times_s[step:] -= 3.0
    values = 100.0 * np.arange(100.0)
    (demand,) = demands(grown(counters(times_s.tolist(), values.tolist())))
    assert (demand.ios == 200).all() and len(demand.ios) > 80
    shuffled = counters(times_s.tolist(), values.tolist()).sample(
        frac=1.0, random_state=1
    )
    with pytest.raises(UsageError, match="go backwards repeatedly"):
        grown(shuffled)


@pytest.mark.parametrize(
    ("ios", "moved", "is_possible"),
    [
        (1e7, 4096e7, True),
        (1.1e7, 1e9, False),
        (1e6, 1e11, True),
        (1e6, 1.1e11, False),
        (10, 10 * 32 * 2**20, True),
        (10, 12 * 32 * 2**20, False),
        (0, 2**20, True),
        (0, 2**30, False),
        (np.inf, 4096.0, False),
        (100, np.inf, False),
        (-5, 4096.0, False),
    ],
)
def test_what_no_disk_does_in_a_second_is_a_gap_that_is_counted(
    ios: float, moved: float, is_possible: bool
) -> None:
    readings = table(in_seconds(np.full(60, 100.0)))
    changed = readings.index[30]
    readings.loc[changed, "reads"] = ios
    readings.loc[changed, ["writes", "written_bytes"]] = 0.0
    readings.loc[changed, "read_bytes"] = moved
    (demand,) = demands(readings)
    assert demand.impossible == int(not is_possible)
    assert len(demand.ios) == 60 - demand.impossible
    kinds = {each.kind for each in cautions_of(demand)}
    assert ("impossible readings" in kinds) == (not is_possible)


def cautions_of(demand: Demand) -> Sequence[Caution]:
    observation = Observed.of([demand], ONE_PCT).with_answers([])
    return observation_answer(observation, "", ()).cautions


@pytest.mark.parametrize(
    ("io_bytes", "words"),
    [(4096, ""), (2048, "2,048 bytes an I/O"), (8 * 2**20, "more than 4 MiB an I/O")],
)
def test_what_is_only_unlikely_is_told(io_bytes: int, words: str) -> None:
    (demand,) = demands(table(in_seconds(np.full(600, 50.0), io_bytes=io_bytes)))
    texts = [each.text for each in cautions_of(demand) if "unlikely" in each.kind]
    assert [words in text for text in texts] == ([True] if words else [])


def test_what_is_to_be_known_of_a_source_stands_beside_the_answer() -> None:
    seen = in_seconds(np.full(60, 5.0))
    observation = Observed.of([seen], ONE_PCT).with_answers([])
    answer = observation_answer(observation, "", (), "", ["a.json: its end is missing"])
    (told,) = [each for each in answer.cautions if each.kind == "remarks of sources"]
    assert told.text == "a.json: its end is missing."


def test_counts_and_bytes_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(UsageError, match="has 64 bytes an I/O, less than a sector"):
        demands(table(in_seconds(np.full(600, 50.0), io_bytes=64)))


def test_an_interval_that_overlaps_is_left_out() -> None:
    minutes = summed(BURSTY, 60).part(slice(0, 3))
    late = replace(minutes, begin_s=minutes.begin_s + 30, end_s=minutes.end_s + 30)
    (demand,) = demands(table(minutes, late))
    assert (demand.begin_s - START_S).tolist() == [0, 60, 120]


def test_little_of_the_time_gives_no_word() -> None:
    kept = np.concatenate((np.arange(2000), np.arange(3000, 7200)))
    seen = in_seconds(np.full(7200, 5.0)).part(kept)
    answers = observed(seen, only=["azure/P30"])
    assert words(answers, "azure/P30") == ["cannot be told"]
    assert answers["azure/P30"].why == "only 86 % of the time was read"


def test_the_two_worth_measuring() -> None:
    answers = [a for a in of_bursty().values() if a.purchase.provider == "azure"]
    cheaper, carries = worth_measuring(answers, 0.02)
    assert carries.on.at_cap_most <= 0.02 < cheaper.on.at_cap_least
    before = answers[: answers.index(carries)]
    assert all(cheaper.on.at_cap_most <= answer.on.at_cap_most for answer in before)
    may, carries = worth_measuring(answers, ONE_PCT)
    assert (
        may.on.at_cap_least <= ONE_PCT < may.on.at_cap_most
        and carries.word == "would have carried"
    )
    costs = [each.purchase.tier.price for each in (may, carries)]
    assert costs[0] and costs[1] and costs[0].monthly <= costs[1].monthly
    calm = observed(in_seconds(np.full(7200, 5.0)), tolerance=0.5)
    two = worth_measuring(
        [a for a in calm.values() if a.purchase.provider == "azure"], 0.5
    )
    assert [a.word for a in two] == ["would have carried"]  # nothing cheaper is sold


@pytest.mark.parametrize("coarse_s", [1, 15])
def test_answers_hold_no_readings(coarse_s: int) -> None:
    """Of a week they are as large as what draws the charts, which comes after."""
    seconds = seconds_of("bursts of 10 s", 5, 3600, mean=600.0)
    read = replace(seconds)
    if coarse_s > 1:
        read = replace(summed(seconds, coarse_s), pieces=pieces(seconds, 24, 60))
    observation = Observed.of([read], ONE_PCT)
    answered = observation.against(
        purchases(CATALOG, 256 * GIB, observation.needs, None, None)
    )
    is_read = weakref.ref(read)
    del observation, read
    gc.collect()
    assert answered.answers and is_read() is None


def test_what_was_computed_of_a_disk_is_let_go() -> None:
    """Of three disks at once it would be more than their readings."""
    disks = [in_seconds(np.full(7200, 500.0)), in_seconds(np.full(7200, 900.0))]
    observation = Observed.of(disks, ONE_PCT)
    observation.against(purchases(CATALOG, 256 * GIB, observation.needs, None, None))
    for disk in disks:
        assert not {"ios", "bytes", "reads_alone"} & set(vars(disk))


# ------------------------------------------------------------------ at the tolerance itself


def once_at(ios: float, seconds: int = 100) -> Demand:
    """In one second so many I/Os, else so few that no disk is at a cap."""
    count = np.full(seconds, 10.0)
    count[40] = ios
    return in_seconds(count)


@pytest.mark.parametrize(
    ("tolerance", "word"),
    [(ONE_PCT, "would have carried"), (0.99 * ONE_PCT, "would not")],
)
def test_a_disk_that_is_at_its_cap_for_the_tolerated_time_carries(
    tolerance: float, word: str
) -> None:
    """7,000 are beyond 5,000 with 30 % less of them too, and nothing waits for a second more."""
    answers = observed(
        once_at(7000.0), source=FAST, tolerance=tolerance, only=["azure/P30"]
    )
    on = answers["azure/P30"].on
    assert (on.at_cap_least, on.at_cap_most) == (ONE_PCT, ONE_PCT)
    assert answers["azure/P30"].word == word


@pytest.mark.parametrize(
    ("tolerance", "word"),
    [(ONE_PCT, "would have carried"), (0.99 * ONE_PCT, "cannot be told")],
)
def test_what_a_cap_hid_for_the_tolerated_time_bars_no_larger_disk(
    tolerance: float, word: str
) -> None:
    source = Limits(7000, 2_000_000_000)
    answers = observed(
        once_at(7000.0), source=source, tolerance=tolerance, only=["azure/P80"]
    )
    assert answers["azure/P80"].at_least and answers["azure/P80"].word == word


@pytest.mark.parametrize(
    ("reported_share", "why"),
    [
        (ONE_PCT, "the observed disk held its load back"),
        (0.011, "its provider says that the observed disk held its load back"),
    ],
)
def test_a_provider_s_word_counts_beyond_the_tolerated_time(
    reported_share: float, why: str
) -> None:
    cap = RateCap("IOPS", "ios", 7000.0, 7000.0)
    observation = Observed(
        (once_at(7000.0),),
        ONE_PCT,
        source=(cap,),
        inferred=False,
        held_back=0.02,
        reported_share=reported_share,
    )
    offers = purchases(CATALOG, 256 * GIB, (5000.0, 2e8), None, None)
    (larger,) = [offer for offer in offers if offer.name == "azure/P80"]
    (answer,) = observation.against([larger]).answers
    assert (answer.word, answer.why) == ("cannot be told", why)


@pytest.mark.parametrize(
    ("read_of_100", "word"), [(90, "would have carried"), (89, "cannot be told")]
)
def test_of_nine_tenths_of_the_time_sums_are_enough(
    read_of_100: int, word: str
) -> None:
    """Minutes, of which no piece is known."""
    minutes = summed(in_seconds(np.full(6000, 5.0)), 60)
    is_read = np.ones(100, dtype=bool)
    is_read[1 : 101 - read_of_100] = False
    answers = observed(minutes.part(is_read), only=["azure/P30"])
    assert answers["azure/P30"].word == word


def test_a_share_of_seconds_is_refused_below_nine_tenths() -> None:
    seconds = in_seconds(np.full(100, 5.0))
    assert refused(seconds.part(np.arange(100) >= 0)) == ""
    is_read = np.ones(100, dtype=bool)
    is_read[1:11] = False
    assert refused(seconds.part(is_read)) == ""
    is_read[11] = False
    assert refused(seconds.part(is_read)) == "only 89 % of the time was read"


def test_the_least_that_is_needed_may_be_at_its_cap_for_the_tolerated_time() -> None:
    """Nine tenths of the tolerance are for IOPS: 9 of 16 seconds may be at the cap. A cap of 1,190
    or more would be reached in none."""
    count = np.tile([*[1000.0] * 9, *[10.0] * 7], 10)
    load = as_reads(in_seconds(count))
    within, _ = Observed.of([load], 0.625, FAST).needs
    beyond, _ = Observed.of([load], 0.624, FAST).needs
    assert within < 1100 < 1190 < beyond


def answer_at(least: float, most: float, answer: CandidateAnswer) -> CandidateAnswer:
    return replace(answer, on=replace(answer.on, at_cap_least=least, at_cap_most=most))


@pytest.mark.parametrize(
    ("shares", "places"),
    [
        # The first may carry it as the figures are at least, the second does at most.
        ([(0.02, 0.5), (0.01, 0.5), (0.0, 0.01)], [1, 2]),
        # None does at most.
        ([(0.02, 0.5), (0.011, 0.4), (0.0, 0.011)], [2]),
        # Both are the same: then whether a cheaper one does is worth knowing.
        ([(0.02, 0.5), (0.01, 0.01), (0.0, 0.01)], [0, 1]),
        ([(0.02, 0.5), (0.011, 0.4), (0.0, 0.01)], [1, 2]),
        ([(0.011, 0.5), (0.02, 0.5), (0.02, 0.5)], []),
    ],
)
def test_both_ends_of_what_may_carry_are_worth_measuring(
    shares: Sequence[tuple[float, float]], places: list[int]
) -> None:
    sold = [answer for answer in of_bursty().values() if answer.purchase.tier.price]
    answers = [answer_at(least, most, sold[0]) for least, most in shares]
    found = worth_measuring(answers, ONE_PCT)
    assert [answers.index(answer) for answer in found] == places
