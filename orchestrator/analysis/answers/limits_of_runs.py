"""What limits most runs behind an answer, in a few words for the line that says how sure it is.

The doubts themselves are notes below the figures, which a reader in a hurry does not read. Pure.
"""

from collections.abc import Iterator, Mapping

from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.record import SurenessWord
from orchestrator.analysis.answers.sureness import MOOT
from orchestrator.analysis.doubts import by_effect
from orchestrator.design import varied_workloads
from orchestrator.facts import DoubtKind
from orchestrator.texts import prose

_MOST_NAMED = 2  # kinds of doubts named in a line
# The first line and the status say these already where they make the question moot.
_ON_TOP: Mapping[SurenessWord, tuple[DoubtKind, ...]] = {
    MOOT["cached data"]: ("data fits in the cache",),
    MOOT["this machine"]: ("host saturated", "limited by this machine"),
    MOOT["short windows"]: ("short window",),
}

# Kinds of doubts by other words than their names, where a name says less than was found.
_IN_WORDS: Mapping[str, str] = {"few checkpoints": "few or no checkpoints"}


def limits_of_most_runs(asked: Asked, word: SurenessWord) -> Iterator[str]:
    """`few or no checkpoints in all 9 runs`, `machine shared in 5 of 9 runs`, `1 more note below`.

    Names doubts with the effect "limits" that most runs of a workload have. `word`: how sure the
    whole answer is.
    """
    texts = list(_kinds_in_words(asked, word))
    yield from texts[:_MOST_NAMED]
    further = len(texts) - _MOST_NAMED
    if further > 0:
        yield f"{prose.counted(further, 'more note')} below"


def _kinds_in_words(asked: Asked, word: SurenessWord) -> Iterator[str]:
    """Each kind of doubt that most runs of a workload have; the kind with most runs is first."""
    runs_by_subject = _runs_that_count(asked)
    counting = set[int]().union(*runs_by_subject.values())
    doubted_runs: dict[str, int] = {}
    for kind, runs in by_effect.runs_limited(asked.verdict.doubts).items():
        if kind in _ON_TOP.get(word, ()):
            continue
        if _are_most_of_a_subject(runs, runs_by_subject):
            doubted_runs[kind] = len(runs & counting)
    for kind in sorted(doubted_runs, key=doubted_runs.__getitem__, reverse=True):
        kind_in_words = _IN_WORDS.get(kind, kind)
        runs_in_words = _runs_in_words(doubted_runs[kind], len(counting))
        yield f"{kind_in_words} in {runs_in_words}"


def _are_most_of_a_subject(
    doubted: set[int], runs_by_subject: Mapping[str, set[int]]
) -> bool:
    return any(by_effect.are_most(doubted, runs) for runs in runs_by_subject.values())


def _runs_that_count(asked: Asked) -> Mapping[str, set[int]]:
    """What a decision is made on → the runs whose figures it may use."""
    subjects: dict[str, str] = {}
    for load in asked.campaign.plan.workloads:
        subjects[load.name] = varied_workloads.decision_subject(load)
    numbers: dict[str, set[int]] = {}
    for (_, workload), runs in asked.campaign.counting.items():
        # Probes are runs of loads that are not among those of the plan, and decide nothing.
        if workload in subjects:
            numbers_here = numbers.setdefault(subjects[workload], set())
            numbers_here.update(run.record.run.number for run in runs)
    return numbers


def _runs_in_words(doubted: int, count: int) -> str:
    """`all 9 runs`, `5 of 9 runs`, `the only run`."""
    if count == 1:
        return "the only run"
    if doubted == count:
        return prose.all_of(count, "run")
    return f"{doubted} of {count} runs"
