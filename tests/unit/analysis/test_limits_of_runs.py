"""What limits most runs stands in the line that says how sure an answer is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.analysis.answers.record import Answer
from orchestrator.analysis.doubts.effects import is_only_told, limits_the_answer
from orchestrator.analysis.verdicts import judge
from orchestrator.facts import DoubtKind
from orchestrator.model import Record
from tests.decision_scenarios import Change, campaign_of, on
from tests.one_profile import alone

PROVEN = "Proven here, not on real disks, at 95 % confidence, by 5 repetitions"


def doubted(*kinds: DoubtKind) -> Change:
    def change(record: Record) -> Record:
        doubts = [
            limits_the_answer(kind, "seen", "repeat it", record.run.number)
            for kind in kinds
        ]
        return replace(record, doubts=tuple(doubts))

    return change


def answer_with(change: Change, **shape: object) -> Answer:
    answer = judge(campaign_of(change=change, **shape)).answer
    assert answer is not None
    return answer


def how_sure(change: Change, **shape: object) -> str:
    return answer_with(change, **shape).brief.how_sure


def test_what_limits_every_run_stands_beside_the_proof_and_changes_no_verdict() -> None:
    answer = answer_with(doubted("few checkpoints"))
    assert answer.brief.how_sure == f"{PROVEN}; few or no checkpoints in all 15 runs."
    assert answer.sureness.word == "conclusive"


def test_two_are_named_and_the_others_counted() -> None:
    change = doubted("few checkpoints", "machine shared", "host cache", "shared disk")
    assert how_sure(change) == (
        f"{PROVEN}; few or no checkpoints in all 15 runs; machine shared in all 15 runs; "
        "2 more notes below."
    )


def test_the_most_frequent_is_named_first() -> None:
    def change(record: Record) -> Record:
        kinds: list[DoubtKind] = []
        if record.run.profile != "ultra":
            kinds.append("machine shared")
        return doubted(*kinds, "few checkpoints")(record)

    assert how_sure(change) == (
        f"{PROVEN}; few or no checkpoints in all 15 runs; machine shared in 10 of 15 runs."
    )


def test_what_limits_few_runs_stays_with_their_figures() -> None:
    few = on("premium", doubted("few checkpoints"))
    assert how_sure(few) == f"{PROVEN}."


def test_what_is_only_told_stays_with_its_figures() -> None:
    def change(record: Record) -> Record:
        told = is_only_told("client busy", "seen", "repeat it", record.run.number)
        return replace(record, doubts=(told,))

    assert how_sure(change) == f"{PROVEN}."


def test_runs_of_one_workload_are_not_outvoted_by_those_of_others() -> None:
    def change(record: Record) -> Record:
        if record.run.workload != "insert":
            return record
        return doubted("few checkpoints")(record)

    workloads = ["point-select", "insert", "tpcc"]
    text = how_sure(change, workloads=workloads, values={})
    assert text.endswith("; few or no checkpoints in 15 of 45 runs.")


def test_what_the_first_line_says_is_not_said_again() -> None:
    answer = answer_with(doubted("short window"))
    assert "for short windows only" in answer.brief.what
    assert answer.brief.how_sure == f"{PROVEN}."


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        (1, "few or no checkpoints in the only run"),
        (2, "few or no checkpoints in both runs"),
    ],
)
def test_one_profile_says_it_too(runs: int, words: str) -> None:
    campaign = alone(
        "throughput > 500", repetitions=runs, change=doubted("few checkpoints")
    )
    answer = judge(campaign).answer
    assert answer is not None
    assert words in answer.brief.how_sure
