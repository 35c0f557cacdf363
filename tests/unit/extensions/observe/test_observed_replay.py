"""A demand against one limit: the closed form is the sheet of steps, and bounds are bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator.extensions.observe.judging import rate_caps, sums_alone
from orchestrator.extensions.observe.judging.demand import Array, Demand
from orchestrator.extensions.observe.judging.rate_caps import Counted, RateCap
from orchestrator.extensions.observe.judging.replay import replayed, together
from orchestrator.tier import Burst, Limits
from tests.simulated_demand import as_reads, in_seconds, seconds_of, summed

AT_CAP = 0.95
SEEDS = range(25)


def step_by_step(
    asks: Array, step_s: Array, cap: RateCap, full: bool
) -> list[tuple[bool, float, float]]:
    """At the cap, backlog, credit: the rule as it stands in the module's docstring."""
    backlog, credit, told = 0.0, cap.bucket if full else 0.0, []
    for amount, seconds in zip(asks, step_s, strict=True):
        limit = min(cap.top * seconds, cap.base * seconds + credit)
        served = min(backlog + amount, limit)
        backlog += amount - served
        credit = min(cap.bucket, max(0.0, credit - (served - cap.base * seconds)))
        told.append((bool(served >= AT_CAP * limit - 1e-9), backlog, credit))
    return told


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("top", [100.0, 250.0])
def test_the_closed_form_is_the_rule(seed: int, full: bool, top: float) -> None:
    random = np.random.default_rng(seed)
    asks = random.gamma(0.4, 250.0, 400)
    step_s = random.uniform(0.9, 1.1, 400)
    cap = RateCap("IOPS", "ios", 100.0, top, (top - 100.0) * 20)
    limit, waits, left = replayed(asks, asks, step_s, cap, full)
    served = np.minimum(asks + waits, limit)
    at_cap, backlog, credit = zip(*step_by_step(asks, step_s, cap, full), strict=True)
    assert np.cumsum(asks - served) == pytest.approx(np.array(backlog), abs=1e-6)
    assert np.array_equal(served >= AT_CAP * limit, at_cap)
    if cap.bucket:
        assert left == pytest.approx(np.array(credit) / cap.bucket, abs=1e-9)
    assert (
        served[asks >= AT_CAP * limit] >= AT_CAP * limit[asks >= AT_CAP * limit]
    ).all()


def test_a_smaller_limit_sees_through_a_larger_one() -> None:
    """What a larger disk has let through leaves a smaller one as the demand itself would."""
    asks = seconds_of("bursts of 10 s", 3, 20_000).ios
    step_s = np.ones(len(asks))
    large = RateCap("IOPS", "ios", 900.0, 1500.0, 9000.0)
    small = RateCap("IOPS", "ios", 700.0, 1200.0, 6000.0)
    limit, waits, _ = replayed(asks, asks, step_s, large, full=True)
    through = np.minimum(asks + waits, limit)
    shares = []
    for each in (asks, through):
        limit, waits, _ = replayed(each, each, step_s, small, full=True)
        shares.append(float((each + waits >= AT_CAP * limit).mean()))
    assert shares[0] == pytest.approx(shares[1], abs=1e-4)
    assert shares[0] > 0.05
    assert (through <= large.top).all()


def test_limits_of_disk_and_machine_become_caps() -> None:
    burst = Burst(3500, 170_000_000, 1800.0)
    disk, rate = rate_caps.caps(Limits(1100, 125_000_000, burst=burst))
    assert (disk.base, disk.top, disk.bucket) == (1100, 3500, 2400 * 1800)
    assert (rate.counted, rate.bucket) == ("bytes", 45_000_000 * 1800)
    apart = rate_caps.caps(Limits(), Limits(3000, None, write_iops=15_000))
    assert [(cap.name, cap.counted, cap.base) for cap in apart] == [
        ("read IOPS of the VM", "reads", 3000),
        ("write IOPS of the VM", "writes", 15_000),
    ]
    alike = rate_caps.caps(Limits(3000, None, write_iops=3000))
    assert [cap.counted for cap in alike] == ["reads", "writes"]
    assert list(
        rate_caps.caps(Limits(5000, burst=Burst(30_000, None, float("inf"))))
    ) == [RateCap("IOPS", "ios", 5000, 5000)]


def test_units_are_bounded_from_sums() -> None:
    """495 small I/Os and one of 2 MiB in a second count 503 on a disk whose unit is 256 KiB."""
    demand = in_seconds(np.array([496.0]), io_bytes=0.0)
    demand.amounts[3] = 495 * 4096 + 2**21
    cap = RateCap("IOPS", "ios", 500.0, 500.0)
    low, high = (rate_caps.asked(demand, cap, 2**18, end) for end in ("low", "high"))
    assert low[0] <= 503 <= high[0]
    assert rate_caps.asked(demand, cap, None, "high")[0] == 496


@pytest.mark.parametrize(("counted", "times"), [("ios", 1.0), ("bytes", 8192.0)])
def test_nothing_is_carried_over_a_gap(counted: Counted, times: float) -> None:
    """At the low end the credit is full again, at the high end it is gone."""
    whole = as_reads(in_seconds(np.full(200, 150.0)))
    kept = np.concatenate((np.arange(100), np.arange(160, 200)))
    cap = RateCap("cap", counted, 100.0 * times, 200.0 * times, 100.0 * times * 30)
    low, high = (
        together(whole.part(kept), [cap], None, end) for end in ("low", "high")
    )
    assert (low.credit[100], high.credit[100]) == (pytest.approx(1 - 50 / 3000), 0.0)
    assert low.at_cap[99] and not low.at_cap[100]


def test_commits_that_wait_share_a_write_and_reads_are_each_done_later() -> None:
    writes = in_seconds(np.array([*[200.0] * 10, *[0.0] * 20]))
    cap = RateCap("IOPS", "ios", 100.0, 100.0)
    for demand, least_s in ((writes, 10), (as_reads(writes), 20)):
        low, high = (together(demand, [cap], None, end) for end in ("low", "high"))
        assert (low.asks.sum(), low.at_cap.sum(), high.at_cap.sum()) == (
            10,
            least_s,
            20,
        )
    moved = RateCap(
        "bytes/s", "bytes", 100 * 8192.0, 100 * 8192.0
    )  # commits leave none out
    assert together(writes, [moved], None, "low").at_cap.sum() == 20


@pytest.mark.parametrize("per_turn", [0.1, 0.5, 1.0, 2.0, 4.0])
def test_credit_lasts_as_long_as_if_commits_shared_writes(per_turn: float) -> None:
    """Held against commits at random, one by one: each turn takes those that came in the last."""
    arrivals = np.cumsum(np.random.default_rng(3).exponential(1 / per_turn, 40_000))
    turns, at, taken = 0, 0.0, 0
    while taken < len(arrivals):
        at = max(at, arrivals[taken])
        taken, at, turns = (
            int(np.searchsorted(arrivals, at, "right")),
            at + 1,
            turns + 1,
        )
    rate = len(arrivals) / arrivals[-1]  # of a limit of one a second
    top, seconds = 1000.0, 50
    cap = RateCap("IOPS", "ios", 1.0, top, 1e6)
    spent = (
        1
        - together(in_seconds(np.full(seconds, rate * top)), [cap], None, "low").credit[
            -1
        ]
    )
    assert spent * 1e6 / seconds + 1 == pytest.approx(
        turns / arrivals[-1] * top, rel=0.02
    )


def test_commits_share_more_writes_when_their_credit_is_gone() -> None:
    """1.2 times the base: a peak of ten times it lets little be shared, so that the credit goes,
    and the base a third. Reads are not shared; with half of them it is still 1.1 times."""
    writes, cap = (
        in_seconds(np.full(3600, 120.0)),
        RateCap("IOPS", "ios", 100.0, 1000.0, 9000.0),
    )
    half = replace(writes, amounts=np.repeat(writes.amounts[[1, 3]] / 2, 2, axis=0))
    credits = [
        together(d, [cap], None, "low").credit for d in (writes, half, as_reads(writes))
    ]
    assert all(credit.min() < 0.1 for credit in credits)
    without, of_half, of_reads = ((credit < 0.01).mean() for credit in credits)
    assert without < 0.01 < 0.7 < of_half < of_reads


def test_a_second_is_at_the_cap_if_any_limit_is() -> None:
    demand = in_seconds(np.array([95.0, 10.0, 10.0]))
    demand.amounts[3] = [1.0, 1e6, 1.0]
    caps = RateCap("IOPS", "ios", 100.0, 100.0), RateCap("bytes/s", "bytes", 1e6, 1e6)
    both = together(demand, caps, None, "low")
    assert both.at_cap.tolist() == [True, True, False]
    assert both.binding == "IOPS" and (both.credit == 1).all()


# ------------------------------------------------------------------ the hard band


def hard(coarse: Demand, cap: RateCap) -> tuple[float, float]:
    """Seconds at the cap, at least and at most."""
    least_s, most_s = sums_alone.hard(coarse, [cap], None)
    return least_s, float(most_s.sum())


BUCKETS = [(1.0, 0.0), (2.5, 60.0), (4.0, 900.0)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("peak", "lasts_s"), BUCKETS)
@pytest.mark.parametrize("step_s", [15, 60, 300])
def test_the_hard_band_holds_the_truth(
    seed: int, peak: float, lasts_s: float, step_s: int
) -> None:
    """Whatever happens within the intervals, with credit and without, full at first or empty."""
    for process in (
        "poisson",
        "bursts of 0.5 s",
        "bursts of 10 s",
        "checkpoints",
        "mixed",
    ):
        fine = seconds_of(process, seed, 4 * 3600)
        base = float(fine.ios.mean()) * (0.8, 1.1, 1.5, 2.0, 3.0, 6.0)[seed]
        cap = RateCap("IOPS", "ios", base, peak * base, (peak - 1) * base * lasts_s)
        lower_s, upper_s = hard(summed(fine, step_s), cap)
        for full in (True, False):
            limit, waits, _ = replayed(fine.ios, fine.ios, fine.step_s, cap, full)
            at_cap_s = float((fine.ios + waits >= AT_CAP * limit).sum())
            assert lower_s - 1e-6 <= at_cap_s <= upper_s + 1e-6, (process, full)


def test_the_hard_band_settles_what_is_far_off() -> None:
    def band(
        count: float, cap: RateCap, start: Array | None = None
    ) -> tuple[float, float]:
        fine = in_seconds(np.full(3600, count))
        lower_s, upper_s = hard(summed(fine, 60), cap)
        return lower_s / 3600, upper_s / 3600

    small = RateCap("IOPS", "ios", 500.0, 500.0)
    assert band(2.0, small)[1] < 0.005
    assert band(600.0, small)[0] > 0.15
    bursting = RateCap("IOPS", "ios", 500.0, 3000.0, 2500.0 * 300)
    assert (
        band(600.0, bursting)[0] == 0
    )  # 100 I/Os a second above the base, for an hour
    assert band(1200.0, bursting)[0] > 0.5  # after 18 minutes the credit is gone


def test_whose_a_cap_is_does_not_hang_on_its_name() -> None:
    disk = Limits(iops=100, bytes_per_s=10**6)
    owners = [cap.is_of_machine for cap in rate_caps.caps(disk, disk)]
    assert owners == [False, False, True, True]
    assert not RateCap("IOPS of the VM", "ios", 100.0, 100.0).is_of_machine
