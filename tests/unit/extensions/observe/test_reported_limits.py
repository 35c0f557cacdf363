"""What a provider reports of the observed disk's limit outranks what its readings look like.

Goal: no larger disk is said to carry what was cut off by a limit that the provider itself names,
and whoever reads the answer sees whose word it is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator.analysis.answers.record import Caution
from orchestrator.extensions.observe.candidates import purchases
from orchestrator.extensions.observe.judging import node_sums
from orchestrator.extensions.observe.judging.answered_observation import CandidateAnswer
from orchestrator.extensions.observe.judging.candidate_answers import Observed
from orchestrator.extensions.observe.judging.demand import Demand
from orchestrator.extensions.observe.judging.reported_throttle import ReportedThrottle
from orchestrator.extensions.observe.page.observation import observation_answer
from orchestrator.tier import Limits
from tests.catalog import CATALOG
from tests.simulated_demand import in_seconds, pieces, seconds_of, summed

GIB = 2**30
TOLERANCE = 0.01
LARGE = (5_000.0, 2e8)  # IOPS and bytes/s of what can be bought in parts
DAY_S = 24 * 3600
FINE = seconds_of("bursts of 10 s", 5, DAY_S // 4, mean=600.0)
MINUTES = replace(summed(FINE, 60), pieces=pieces(FINE, 40, 300))
# A heap at 2,000 a second, in minutes: of a limit, or of a load that asks for one rate.
BELOW = np.repeat(np.random.default_rng(1).uniform(300, 1500, DAY_S // 60), 60)
IN_TURN = in_seconds(np.where(np.arange(DAY_S) % 7200 < 3600, 2000.0, BELOW))
HEAPED = summed(IN_TURN, 60)


def telling(demand: Demand, minutes: int, limited: str = "ios") -> Demand:
    """With the provider's word: so many minutes at the limit, the first ones."""
    share = np.zeros(len(demand.begin_s))
    share[:minutes] = 1.0
    throttles = [
        ReportedThrottle("ios", share),
        ReportedThrottle("bytes", np.zeros_like(share)),
    ]
    if limited == "bytes":
        throttles = [ReportedThrottle("bytes", share)]
    return replace(demand, reported=tuple(throttles))


def observed(demand: Demand, source: Limits | None = None) -> Observed:
    return Observed.of([demand], TOLERANCE, source)


def of_larger(demand: Demand) -> CandidateAnswer:
    """The answer for one disk that is larger than the observed one."""
    offers = purchases(CATALOG, 256 * GIB, LARGE, None, None)
    (larger,) = [offer for offer in offers if offer.name == "azure/P80"]
    (answer,) = observed(demand).against([larger]).answers
    return answer


def cautions(observation: Observed) -> dict[str, Caution]:
    told = observation.with_answers([])
    found = observation_answer(told, "", []).cautions
    return {caution.kind: caution for caution in found}


def test_a_limit_that_was_told_hides_what_a_larger_disk_would_have_been_asked() -> None:
    without = of_larger(MINUTES)
    told = of_larger(telling(MINUTES, 60))
    assert (without.word, without.at_least) == ("would have carried", False)
    assert (told.word, told.at_least) == ("cannot be told", True)
    assert told.why == "its provider says that the observed disk held its load back"


def test_fewer_minutes_than_are_tolerated_leave_the_word() -> None:
    few = of_larger(telling(MINUTES, 3))
    assert (few.word, few.at_least) == ("would have carried", True)


def test_the_share_and_the_rate_of_told_minutes_stand_beside_the_answer() -> None:
    demand = telling(MINUTES, 36)
    observation = observed(demand)
    highest = (demand.ios / demand.step_s)[:36].max()
    (cap,) = observation.reported
    assert (cap.name, cap.base) == ("IOPS", highest)
    assert observation.reported_share == 0.1
    text = cautions(observation)["held back"].text
    assert "Its provider reports" in text and "for 10 % of the time" in text
    assert f"IOPS {highest:,.0f}" in text


def test_of_bandwidth_the_bytes_are_told() -> None:
    (cap,) = observed(telling(MINUTES, 36, "bytes")).reported
    assert cap.name == "bytes/s" and cap.base > 1e6


def at_the_heap(share: float) -> Demand:
    """The provider reports so much of each minute at the heap."""
    is_heaped = HEAPED.ios / HEAPED.step_s > 1_900
    throttles = (
        ReportedThrottle("ios", np.where(is_heaped, share, 0.0)),
        ReportedThrottle("bytes", np.zeros(len(is_heaped))),
    )
    return replace(HEAPED, reported=throttles)


def test_a_heap_that_the_provider_names_is_no_guess_any_more() -> None:
    """Nor is that of bytes, which is there because I/Os are of one size."""
    guess = observed(HEAPED)
    assert {cap.name for cap in guess.source} == {"IOPS", "bytes/s"}
    told = observed(at_the_heap(1.0))
    assert told.source == ()
    assert [cap.name for cap in told.reported] == ["IOPS"]


def test_a_heap_of_which_the_provider_names_a_part_stays() -> None:
    half = observed(telling(HEAPED, len(HEAPED.begin_s) // 2))
    assert "IOPS" in [cap.name for cap in half.source]


def test_a_heap_that_the_provider_denies_may_still_be_the_machines() -> None:
    """The word is about the disk alone, so that the doubt stays and is another one."""
    guess = cautions(observed(HEAPED))["held back?"]
    denied = cautions(observed(telling(HEAPED, 0)))["held back?"]
    assert "Either the disk was at its own cap" in guess.text
    assert "Either its machine was at a cap" in denied.text
    assert "its provider reports that the disk was not" in denied.text


def test_a_heap_of_seconds_is_not_denied_by_minutes() -> None:
    """AWS says both that any moment of a minute counts, and that it must go on."""
    in_pieces = replace(telling(HEAPED, 0), pieces=pieces(IN_TURN, 40, 300))
    observation = observed(in_pieces)
    assert "IOPS" in [cap.name for cap in observation.source]
    assert observation.denied == ()


def test_a_machines_share_is_of_the_time_that_was_reported() -> None:
    """A report of a tenth of the time says nothing of the rest."""
    share = np.full(len(MINUTES.begin_s), np.nan)
    share[:36] = 1.0
    throttle = ReportedThrottle("ios", share, "machine")
    demand = replace(MINUTES, reported=(throttle,))
    assert observed(demand).machine_share == 1.0


def test_a_limit_that_is_not_known_is_not_taken_for_one_that_was_not_reached() -> None:
    """A tenth of the time is known of IOPS, and all of it of bandwidth, which is free."""
    share = np.full(len(MINUTES.begin_s), np.nan)
    share[:36] = 1.0
    throttles = (
        ReportedThrottle("ios", share, "machine"),
        ReportedThrottle("bytes", np.zeros_like(share), "machine"),
    )
    demand = replace(MINUTES, reported=throttles)
    assert observed(demand).machine_share == 1.0


def test_a_limit_reached_for_a_part_of_a_minute_counts_beside_one_that_is_not_known() -> (
    None
):
    """Bandwidth is known of the first minute alone, and was free there as IOPS were."""
    of_ios = np.full(len(MINUTES.begin_s), 0.9)
    of_ios[0] = 0.0
    of_bytes = np.full_like(of_ios, np.nan)
    of_bytes[0] = 0.0
    throttles = (
        ReportedThrottle("ios", of_ios, "machine"),
        ReportedThrottle("bytes", of_bytes, "machine"),
    )
    demand = replace(MINUTES, reported=throttles)
    assert observed(demand).machine_share == pytest.approx(of_ios.mean())


def test_a_limit_that_was_reached_all_the_time_outweighs_one_that_is_not_known() -> (
    None
):
    """Of half of the time bandwidth is not known; in the rest both are, for 0.2 and 0.3 of it."""
    is_first = np.arange(len(MINUTES.begin_s)) < len(MINUTES.begin_s) // 2
    throttles = (
        ReportedThrottle("ios", np.where(is_first, 1.0, 0.2), "machine"),
        ReportedThrottle("bytes", np.where(is_first, np.nan, 0.3), "machine"),
    )
    demand = replace(MINUTES, reported=throttles)
    assert observed(demand).machine_share == pytest.approx(0.75)


def test_what_it_did_at_the_reported_limit_is_not_called_that_limit() -> None:
    """It did more in minutes without a report: a limit that was raised, or bursts of a minute."""
    demand = telling(MINUTES, 36)
    lowest = np.argsort(demand.ios)[:36]
    share = np.zeros(len(demand.begin_s))
    share[lowest] = 1.0
    throttles = (replace(demand.reported[0], share=share), demand.reported[1])
    text = cautions(observed(replace(demand, reported=throttles)))["held back"].text
    assert "or a little more" not in text
    assert "Then it did at most IOPS" in text


def test_the_disk_that_was_named_and_what_was_told_do_not_add_up() -> None:
    """They are the same time: the larger of both counts."""
    source = Limits(2300, 150_000_000)
    named = observed(MINUTES, source)
    both = observed(telling(MINUTES, 36), source)
    assert both.held_back == named.held_back and both.reported_share == 0.1


# ------------------------------------------------------------------ several disks as one


def striped(*shares: float) -> Demand:
    """Equal disks that were read as one; of each the share of the first 60 minutes at its limit."""
    disks: list[Demand] = []
    for number, share in enumerate(shares):
        disk = replace(telling(MINUTES, 0), device=f"sd{number}")
        of_ios, of_bytes = disk.reported
        reported_share = of_ios.share.copy()
        reported_share[:60] = share
        throttles = (replace(of_ios, share=reported_share), of_bytes)
        disks.append(replace(disk, reported=throttles))
    (total,) = node_sums.of_nodes(disks)
    return total


@pytest.mark.parametrize(
    ("shares", "share"),
    [
        ((1.0, 1.0), 1.0),
        # They may have been at it in unlike seconds.
        ((0.25, 0.5), 0.75),
        ((1.0, np.nan), np.nan),
    ],
)
def test_a_stripe_is_held_back_while_one_of_its_disks_is(
    shares: tuple[float, float], share: float
) -> None:
    total = striped(*shares)
    of_ios, of_bytes = total.reported
    assert np.array_equal(of_ios.share[:60], np.full(60, share), equal_nan=True)
    assert not of_ios.share[60:].any() and not of_bytes.share.any()


def test_what_a_stripes_limit_hid_keeps_a_larger_disk_untold() -> None:
    told = of_larger(striped(1.0, 1.0))
    assert told.at_least and told.word == "cannot be told"
    assert told.why == "its provider says that the observed disk held its load back"


def test_a_report_on_one_disk_of_two_is_none_on_the_stripe() -> None:
    one = replace(telling(MINUTES, 60), device="sda")
    (total,) = node_sums.of_nodes([one, replace(one, device="sdb", reported=())])
    assert total.reported == ()
