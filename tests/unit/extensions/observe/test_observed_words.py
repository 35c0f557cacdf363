"""Words on stored readings stay as careful as they are: they go by 30 % less and 10 % more.

Goal: whoever shows narrower figures beside them does not change an answer unseen. Method: words,
why, and what is worth measuring, of the kept readings and of made ones of all resolutions, against
a file that was first written when the wider band was the only one there was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from orchestrator.extensions.observe.candidates import purchases
from orchestrator.extensions.observe.histories import files
from orchestrator.extensions.observe.judging import disk_demands
from orchestrator.extensions.observe.judging.candidate_answers import Observed
from orchestrator.extensions.observe.judging.demand import Demand
from orchestrator.tier import Limits
from orchestrator.units import gathered
from tests import ROOT, golden
from tests.catalog import CATALOG
from tests.simulated_demand import pieces, seconds_of, summed

SIZE_BYTES, LENGTH_S, TOLERANCE = 256 * 2**30, 7200, 0.02
P20 = Limits(2300, 150_000_000)


def kept(name: str) -> list[Demand]:
    readings = files.read(ROOT / "tests/fixtures/histories" / name)
    return disk_demands.demands(readings[readings["device"] == "vda"])


def made(process: str, step_s: int = 1, count: int = 0) -> list[Demand]:
    fine = seconds_of(process, 5, LENGTH_S, mean=600.0)
    if step_s == 1:
        return [fine]
    return [
        replace(summed(fine, step_s), pieces=pieces(fine, count, 180) if count else ())
    ]


CASES: dict[str, Callable[[], Sequence[Demand]]] = {
    "csv": lambda: kept("disk.csv"),
    "sadf": lambda: kept("sadf.json"),
    "bursts": lambda: made("bursts of 10 s"),
    "mixed, 15 s": lambda: made("mixed", 15),
    "mixed, 15 s, pieces": lambda: made("mixed", 15, 24),
}


def told(demands: Sequence[Demand], source: Limits | None) -> dict[str, object]:
    observed = Observed.of(demands, TOLERANCE, source)
    offers = purchases(
        CATALOG, SIZE_BYTES, observed.needs, None, "azure/Standard_D8s_v5"
    )
    answered = observed.against(offers)
    words = gathered(
        (f"{each.word} {each.why}".strip(), each.purchase.name)
        for each in answered.answers
    )
    worth = {
        name: [each.purchase.name for each in of] for name, of in answered.worth.items()
    }
    return {
        "words": {word: list(names) for word, names in words.items()},
        "worth": worth,
    }


@pytest.mark.parametrize("source", [None, P20], ids=["source unknown", "of P20"])
def test_words_and_what_is_worth_measuring_are_those_of_less_and_of_more(
    source: Limits | None,
) -> None:
    every = {name: told(demands(), source) for name, demands in CASES.items()}
    name = "declared" if source else "unknown"
    golden.compare(f"observe/words-{name}.json", json.dumps(every, indent=1) + "\n")
