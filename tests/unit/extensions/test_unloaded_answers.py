"""Answers without a load on the disks in question: of an observation, and of a prediction."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from orchestrator.analysis.answers import phrases
from orchestrator.analysis.answers.disk_words import specified
from orchestrator.analysis.answers.record import (
    DiskOutlook,
    MonthlyPrice,
    NextStep,
    SloClause,
)
from orchestrator.analysis.predictions import Estimate, Prediction
from orchestrator.extensions.observe.candidates import Purchase, purchases
from orchestrator.extensions.observe.judging import managed_servers
from orchestrator.extensions.observe.judging.answered_observation import (
    AnsweredObservation,
    CandidateAnswer,
    Word,
)
from orchestrator.extensions.observe.judging.candidate_answers import Observed
from orchestrator.extensions.observe.judging.demand import Demand
from orchestrator.extensions.observe.judging.drawn_seconds import Band
from orchestrator.extensions.observe.judging.rate_caps import RateCap
from orchestrator.extensions.observe.judging.share_bounds import Hours, OnDisk
from orchestrator.extensions.observe.page.candidate_words import candidate_in_words
from orchestrator.extensions.observe.page.observation import observation_answer
from orchestrator.extensions.observe.page.observation_words import (
    band_in_words,
    percent_in_words,
)
from orchestrator.extensions.observe.page.observed import document
from orchestrator.extensions.predict.answer import (
    cheapest,
    possible_tiers,
    prediction_answer,
    worth_measuring,
)
from orchestrator.extensions.predict.nearest import nearest
from orchestrator.tier import Price
from tests.catalog import CATALOG
from tests.simulated_demand import pieces, seconds_of, summed

GIB = 2**30
TOO_FAR_APART = "No disk can be named yet: readings are too far apart"
HOUR_BEGIN_S = 1_750_000_000 // 3600 * 3600
SECONDS = seconds_of("bursts of 10 s", 5, 7200, mean=600.0)
PIECES = pieces(SECONDS, 24, 180)
MINUTES = summed(SECONDS, 60)
PRICES = {
    "azure/P15": Price(38.02, "USD", "eastus", "2026-09-20", "price list"),
    "azure/P30": Price(135.17, "USD", "eastus", "2026-09-20", "price list"),
}


def candidate(
    name: str, word: Word, less: float, more: float, at_least: bool = False
) -> CandidateAnswer:
    """A disk that would have been at its cap for so much of the time."""
    hours = Hours(
        begin_s=np.array([HOUR_BEGIN_S, HOUR_BEGIN_S + 3600.0]),
        upper=np.array([0.0, more]),
        credit=np.array([0.5, 0.25]),
        node=np.array(["db-1", "db-1"], dtype=object),
        device=np.array(["vda", "vda"], dtype=object),
    )
    on_disk = OnDisk(
        Band(less, more), Band(less, more), less, more, "IOPS", hours, None
    )
    return CandidateAnswer(_purchase(name), on_disk, word, "", at_least)


def _purchase(name: str) -> Purchase:
    (bought,) = (
        offered
        for offered in purchases(CATALOG, 256 * GIB, (), None, None)
        if offered.name == name
    )
    return replace(bought, tier=replace(bought.tier, price=PRICES[name]), lacks="")


def observed(
    *candidates: CandidateAnswer, demand: Demand = SECONDS
) -> AnsweredObservation:
    return Observed((demand,), 0.01).with_answers(candidates)


SMALL = candidate("azure/P15", "would not", 0.2, 0.3)
LARGE = candidate("azure/P30", "would have carried", 0.001, 0.002)

# ------------------------------------------------------------------ an observation


def test_an_observation_names_the_cheapest_disk_that_would_have_carried_it() -> None:
    answer = observation_answer(observed(SMALL, LARGE), "tierbench compare x", [])
    (part,) = answer.parts
    price = MonthlyPrice(
        135.17, "USD", "disks", None, "eastus", "2026-09-20", "price list"
    )
    assert (answer.kind, part.subject, part.about) == (
        "observation",
        "azure",
        "provider",
    )
    assert (part.tier, part.proof) == ("azure/P30", "bounded")
    assert part.purchase is not None and part.purchase.price == price
    assert part.purchase.disks is None, "of how many nodes is not known"
    assert [outlook.word for outlook in part.worth_measuring] == [
        "would not",
        "would have carried",
    ]
    assert part.why[-1] == "Worth measuring: azure/P15 and azure/P30."
    assert answer.next_steps == (
        NextStep("measure", "azure/P15 and azure/P30", "tierbench compare x"),
    )


def test_an_observation_is_never_more_than_observed() -> None:
    sureness = observation_answer(observed(SMALL, LARGE), "", []).sureness
    assert (sureness.word, sureness.tolerance_share) == ("observed", 0.01)
    assert sureness.text == (
        "Nothing was loaded, and no such disk was touched. 1 % of the time at a disk's "
        "limit is allowed (`--at-cap`)."
    )


def test_without_a_disk_worth_measuring_there_is_no_part_and_no_step() -> None:
    answer = observation_answer(observed(SMALL), "", [])
    assert answer.parts == () and answer.next_steps == ()
    assert answer.untested
    assert answer.brief.what == "No disk is known to have carried this load"
    assert answer.brief.why == (
        "1 disk would have been at a cap for more than 1 % of the time."
    )
    assert answer.brief.next_step == "", "no profile was written"


def test_where_the_observed_disk_was_at_its_cap_the_brief_says_so() -> None:
    unsure = candidate("azure/P30", "cannot be told", 0.001, 0.3, at_least=True)
    held_back = replace(
        observed(SMALL, unsure),
        source=(RateCap("IOPS", "ios", 500, 500),),
        held_back=0.033,
    )
    known = replace(held_back, inferred=False)
    assert observation_answer(known, "", []).brief.why == (
        "For up to 3.3 % of the time the observed disk was at its own cap (IOPS 500). How "
        "much more the load would have asked of a larger disk is not known."
    )
    seeming = observation_answer(held_back, "", []).brief
    assert "readings stay close to IOPS 500, as at a limit." in seeming.why
    assert seeming.next_step.startswith("Name the observed disk with --source")
    reported = replace(known, reported_share=0.02)
    assert observation_answer(reported, "", []).brief.why.startswith(
        "Its provider reports that the observed disk was at its limit for 2 % of the time."
    )


@pytest.mark.parametrize(
    ("held_back", "reported_share", "begins"),
    [
        (0.01, 0.0, "1 disk would have been at a cap"),
        (0.011, 0.0, "For up to 1.1 % of the time readings stay close to IOPS 500"),
        (0.01, 0.01, "1 disk would have been at a cap"),
        (0.01, 0.011, "Its provider reports that the observed disk was at its limit"),
    ],
)
def test_for_the_tolerated_time_the_observed_disk_may_be_at_its_limit(
    held_back: float, reported_share: float, begins: str
) -> None:
    unsure = candidate("azure/P30", "cannot be told", 0.001, 0.3, at_least=True)
    seen = replace(
        observed(SMALL, unsure),
        source=(RateCap("IOPS", "ios", 500, 500),),
        held_back=held_back,
        reported_share=reported_share,
    )
    answer = observation_answer(seen, "", [])
    assert answer.brief.why.startswith(begins)
    assert ("--source" in answer.brief.next_step) is (held_back > 0.01)


def test_a_size_of_thousands_is_read_as_rates_are() -> None:
    words = specified("aws/gp2:size=4000GiB,throughput=1200MB/s")
    assert words == "aws/gp2 (4,000 GiB, 1,200 MB/s)"
    assert specified("aws/gp3:size=2.5TiB") == "aws/gp3 (2.5 TiB)"


def test_of_several_disks_the_first_line_has_names_and_prices_and_the_reason_their_shapes() -> (
    None
):
    gp3 = replace(LARGE, purchase=_gp3())
    brief = observation_answer(observed(gp3, LARGE), "tierbench compare x", []).brief
    assert brief.what == (
        "Worth measuring: aws/gp3 for 40.00 USD and azure/P30 for 135.17 USD a month a node"
    )
    assert brief.why == (
        "The cheapest disk of each provider that would have carried what was read: "
        "aws/gp3 (256 GiB, 3,000 IOPS, 125 MiB/s)."
    )
    assert "`profiles/compare.sh`" in brief.next_step


def test_a_card_says_of_the_next_cheaper_disk_what_was_said_of_it() -> None:
    (card,) = document(observed(SMALL, LARGE), "", []).answers
    assert card.lines == (
        "azure/P15, for 38.02 USD a month a node, would not have carried it.",
    )
    unsure = candidate("azure/P30", "cannot be told", 0.001, 0.3)
    (card,) = document(observed(unsure), "", []).answers
    assert card.lines == (
        (
            "Whether azure/P30 would carry the load, for 135.17 USD a month a node, cannot be "
            "told."
        ),
    )


def test_without_a_disk_worth_measuring_the_page_names_no_profiles() -> None:
    titles = [section.title for section in document(observed(SMALL), "", []).sections]
    assert "What to measure next" not in titles


def _gp3() -> Purchase:
    """A disk whose row of the catalog leaves its shape open."""
    (bought,) = (
        offered
        for offered in purchases(CATALOG, 256 * GIB, (), None, None)
        if offered.name == "aws/gp3:size=256GiB,iops=3000,throughput=125MiB/s"
    )
    price = Price(40.0, "USD", "us-east-1", "2026-09-20", "price list")
    return replace(bought, tier=replace(bought.tier, price=price), lacks="")


def test_a_disk_that_cannot_be_told_is_worth_measuring_and_not_named() -> None:
    unsure = candidate("azure/P30", "cannot be told", 0.001, 0.3)
    (part,) = observation_answer(observed(unsure), "", []).parts
    assert part.purchase is None
    assert [outlook.tier for outlook in part.worth_measuring] == ["azure/P30"]


def test_from_minutes_alone_no_disk_is_named_and_the_next_step_is_to_read_seconds() -> (
    None
):
    minutes = observed(LARGE, demand=MINUTES)
    line = "tierbench observe --profile ours.yaml --last 1h"
    answer = observation_answer(minutes, "", [], line)
    assert answer.brief.what == TOO_FAR_APART
    assert answer.brief.why == (
        "A disk is at its cap for seconds, and these are sums of 60 s."
    )
    assert answer.brief.next_step == f"Read seconds for an hour: `{line}`"
    assert f"Read seconds for an hour: `{line}`" in answer.sureness.text
    assert answer.next_steps == (NextStep("read seconds", "", line),)
    (part,) = answer.parts
    assert part.purchase is None and part.why[0].startswith("Only bounds")


@pytest.mark.parametrize(
    ("storage", "instead"),
    [
        (
            managed_servers.RDS_STORAGE,
            "turn on RDS's Enhanced Monitoring at 1 s. Give an hour of its disk metrics "
            "as a CSV",
        ),
        (
            managed_servers.FLEXIBLE_SERVER_STORAGE,
            "a flexible server has no metrics of seconds: measure the candidates in a campaign",
        ),
    ],
)
def test_of_a_managed_server_the_next_step_is_what_its_provider_can_be_asked(
    storage: str, instead: str
) -> None:
    minutes = observed(LARGE, demand=replace(MINUTES, device=storage))
    answer = observation_answer(minutes, "", [], "")
    assert answer.brief.what == TOO_FAR_APART
    assert answer.brief.next_step.lower() == instead.lower()
    assert answer.next_steps == ()


def test_a_larger_disk_of_which_nothing_is_known_is_told_of_what_was_read() -> None:
    on_disk = replace(LARGE.on, waits=Band(0, 0), queues=Band(0, 0.1), at_cap_least=0.0)
    text = candidate_in_words(replace(LARGE, on=on_disk, at_least=True))
    assert "at least" not in text and "where work queues, of what was read" in text


IOPS = RateCap("IOPS", "ios", 1100.0, 1100.0)


@pytest.mark.parametrize(
    ("observation", "misses", "kinds"),
    [
        (observed(LARGE), [], []),
        (observed(LARGE), ["db-2: timeout (3 times)"], ["readings missed"]),
        (observed(LARGE, demand=MINUTES), [], ["seconds unknown"]),
        (
            observed(LARGE, demand=replace(summed(SECONDS, 15), pieces=PIECES)),
            [],
            ["shape from pieces"],
        ),
        (
            replace(observed(LARGE), source=(IOPS,), inferred=True, held_back=0.1),
            [],
            ["held back?"],
        ),
        (
            replace(observed(LARGE), source=(IOPS,), inferred=False, held_back=0.1),
            [],
            ["held back"],
        ),
    ],
)
def test_what_bounds_an_observation_is_a_caution_of_a_kind(
    observation: AnsweredObservation, misses: list[str], kinds: list[str]
) -> None:
    cautions = observation_answer(observation, "", misses).cautions
    assert [caution.kind for caution in cautions] == kinds
    assert all(caution.text and caution.advice for caution in cautions)


def test_prices_of_two_lists_are_a_caution() -> None:
    elsewhere = replace(PRICES["azure/P30"], region="westus2")
    bought = replace(LARGE.purchase, tier=replace(LARGE.purchase.tier, price=elsewhere))
    answer = observation_answer(
        observed(SMALL, replace(LARGE, purchase=bought)), "", []
    )
    (caution,) = answer.cautions
    assert caution.kind == "prices of several lists"
    assert caution.text.endswith("So compare prices within a provider only.")


def test_a_candidate_is_a_sentence() -> None:
    assert candidate_in_words(SMALL) == (
        "azure/P15 (38.02 USD) would have been at its cap in 20 to 30 % of the seconds where "
        "users wait and 20 to 30 % where work queues (with 30 % less to 10 % more: 20 to 30 %), "
        "most of it in the hour of 2025-06-15 16:00 UTC on db-1: would not have carried it."
    )


def test_a_candidate_of_which_no_seconds_are_known_tells_of_queues_alone() -> None:
    unknown = replace(
        SMALL.on, waits=Band(math.nan, math.nan), empty_s=Band(60.0, 120.0)
    )
    text = candidate_in_words(replace(SMALL, on=unknown, why="a remark"))
    assert "in 20 to 30 % of the seconds where work queues (with" in text
    assert text.endswith(
        ", its credit empty for 60 s to 2 min: would not have carried it (a remark)."
    )


@pytest.mark.parametrize(
    ("band", "at_least", "words"),
    [
        ((0.0212, 0.03), False, "2.1 to 3 %"),
        ((0.03, 0.03), False, "3 %"),
        ((0.03, 0.5), True, "at least 3 %"),
        ((0.0, 0.5), True, "0 to 50 % of what was read"),
        ((0.0, 0.0), True, "0 % of what was read"),
        ((math.nan, math.nan), True, "–"),
    ],
)
def test_bounds_are_told_as_one_figure_or_two(
    band: tuple[float, float], at_least: bool, words: str
) -> None:
    assert band_in_words(Band(*band), at_least) == words


def test_shares_have_two_digits() -> None:
    assert [percent_in_words(share) for share in (0.12345, 1.0, 0.0)] == [
        "12 %",
        "100 %",
        "0 %",
    ]


# ------------------------------------------------------------------ a prediction


def predicted(tier: str, cost: float | None, chance: float) -> Prediction:
    figures = {"throughput_per_s": Estimate(400.0, 300.0, 500.0)}
    currency = "USD" if cost is not None else ""
    known = Prediction(tier, False, "iops_cap", figures, cost, currency, chance)
    if cost is None:
        return known
    return replace(known, price=MonthlyPrice(cost, currency, "disks", 3))


PREDICTIONS = (
    predicted("azure/P80", 900.0, 0.99),
    predicted("azure/P30", 135.0, 0.95),
    predicted("azure/P20", 73.0, 0.6),
    predicted("azure/P15", 38.0, 0.04),
    predicted("gcp/pd-ssd", None, 0.99),
)


def test_tiers_without_a_price_or_a_chance_are_not_possible() -> None:
    tiers = [prediction.tier for prediction in possible_tiers(PREDICTIONS)]
    assert tiers == ["azure/P20", "azure/P30", "azure/P80"]


def test_the_cheapest_of_each_chance_is_worth_measuring_once() -> None:
    tiers = [prediction.tier for prediction in worth_measuring(PREDICTIONS)]
    assert tiers == ["azure/P30", "azure/P20"]


def test_amounts_of_two_currencies_are_not_compared() -> None:
    """900 EUR hid 50 USD, because E comes before U."""
    in_euro = replace(predicted("hetzner/volume", 900.0, 0.95), currency="EUR")
    in_dollars = predicted("azure/P20", 50.0, 0.95)
    both = [in_dollars, in_euro]
    assert worth_measuring(both) == [in_euro, in_dollars]
    many = [in_euro] * 3 + [in_dollars] * 2
    assert cheapest(many, 2) == [in_euro] * 2 + [in_dollars] * 2


def test_a_prediction_names_what_to_measure_and_nothing_to_buy() -> None:
    commands = ["tierbench init a", "tierbench init b", "tierbench compare"]
    answer = prediction_answer("tpcc", ["nopm > 9000"], PREDICTIONS, commands)
    (part,) = answer.parts
    assert (answer.kind, part.subject, part.proof) == (
        "prediction",
        "tpcc",
        "predicted",
    )
    assert part.purchase is None and part.slo == (SloClause("nopm > 9000"),)
    assert part.worth_measuring == (
        DiskOutlook("azure/P30", MonthlyPrice(135.0, "USD", "disks", 3), chance=0.95),
        DiskOutlook("azure/P20", MonthlyPrice(73.0, "USD", "disks", 3), chance=0.6),
    )
    assert part.why == ("Worth measuring: azure/P30 and azure/P20.",)
    # What the prices are for is the same, and stands once.
    assert answer.brief is not None
    assert answer.brief.what == (
        "Worth measuring: azure/P30 for 135.00 USD a month; or azure/P20 for 73.00 USD a month "
        "(disks of your 3 nodes)"
    )
    assert "Chance to meet the SLO, in the order above: 95 % and 60 %." in (
        answer.brief.how_sure
    )
    assert [(step.kind, step.command) for step in answer.next_steps] == [
        ("describe", "tierbench init a"),
        ("describe", "tierbench init b"),
        ("measure", "tierbench compare"),
    ]


def test_a_disk_that_hardly_meets_the_slo_is_not_called_predicted_to_meet_it() -> None:
    """A disk with a chance of 10 % was "predicted to meet p99 < 10 ms, with 23.3 ms"."""
    likely = predicted("azure/P30", 135.0, 0.5)
    brief = prediction_answer("tpcc", ["throughput > 390/s"], [likely], []).brief
    assert brief.why.startswith(
        "The cheapest that is predicted to meet throughput > 390/s, with 400 transactions/s "
        "predicted"
    )
    unlikely = predicted("azure/P20", 73.0, 0.1)
    brief = prediction_answer("tpcc", ["throughput > 490/s"], [unlikely], []).brief
    assert brief.why.startswith(
        "The cheapest that may meet throughput > 490/s, with 400 transactions/s predicted"
    )
    both = prediction_answer("tpcc", ["nopm > 9000"], [likely, unlikely], []).brief
    assert both.why == "The cheapest that may meet nopm > 9000."


def test_without_a_chance_a_prediction_says_so_and_has_no_step() -> None:
    answer = prediction_answer("tpcc", ["nopm > 9000"], PREDICTIONS[3:4], [])
    (part,) = answer.parts
    assert part.worth_measuring == () and answer.next_steps == ()
    assert part.why == (
        "No disk is predicted to meet nopm > 9000; azure/P15, for 38.00 USD a month, comes "
        "nearest: it is predicted to keep throughput > 300/s.",
    )


def test_a_disk_with_a_predicted_rate_of_zero_is_the_farthest_from_its_slo() -> None:
    """A bucket whose base is nothing serves nothing once it is empty."""
    served = PREDICTIONS[3]
    figures = {
        name: replace(figure, value=0.0, low=0.0, high=0.0)
        for name, figure in served.figures.items()
    }
    nothing = replace(served, tier="azure/P1", figures=figures)
    near = nearest([nothing, served])
    assert near is not None and near.tier == "azure/P15"


def test_the_tier_that_comes_nearest_is_the_reason_of_the_brief() -> None:
    unlikely = PREDICTIONS[3:4]
    brief = prediction_answer("tpcc", ["nopm > 9000"], unlikely, []).brief
    assert brief.what == "No disk is predicted to meet nopm > 9000"
    assert brief.why == phrases.closed(str(nearest(unlikely)))


def test_where_nothing_is_predicted_no_tier_comes_nearest() -> None:
    empty = replace(PREDICTIONS[3], figures={})
    assert nearest([empty]) is None
    brief = prediction_answer("tpcc", ["nopm > 9000"], [empty], []).brief
    assert brief.what == "No disk is predicted to meet nopm > 9000"
    assert brief.why == ""
