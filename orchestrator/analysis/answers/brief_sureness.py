"""How sure an answer of compared tiers is, in one line, and what would make it surer. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator import units
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.brief_reasons import settled_by
from orchestrator.analysis.answers.record import (
    Answer,
    PartAnswer,
    ProofWord,
)
from orchestrator.analysis.statistics import stats

_OPEN: Mapping[ProofWord, str] = {
    "open": "open",
    "not decided": "not decided",
    "not compared": "not compared",
    "not judged": "not judged",
}
_PROVEN: tuple[ProofWord, ...] = ("proven", "proven, cheaper open")


def how_sure(asked: Asked, answer: Answer) -> str:
    if answer.is_example:
        return "not at all: nothing was measured"
    texts = [*_proven(asked, answer.parts), *_what_settles_cheaper(asked, answer)]
    for proof, word in _OPEN.items():
        subjects = _unsettled(asked, answer, proof)
        if not subjects:
            continue
        text = f"{units.listed(subjects)} {_is(subjects)} {word}"
        # The way to settle is that of the first: the others have theirs in their own parts.
        takes = settled_by(asked, subjects[0])
        if takes and len(subjects) > 1:
            takes = f"for {subjects[0]} {takes}"
        if takes:
            text = f"{text}; {takes}"
        texts.append(text)
    texts += lost_in_words(answer)
    return "; ".join(texts)


def _what_settles_cheaper(asked: Asked, answer: Answer) -> Iterator[str]:
    """What would tell whether a cheaper tier would do, of the first workload where one is open."""
    for part in answer.parts:
        takes = settled_by(asked, part.subject)
        if part.cheaper_open and takes:
            yield f"for {part.cheaper_open[0]} {takes}"
            return


def _unsettled(asked: Asked, answer: Answer, proof: ProofWord) -> list[str]:
    subjects: list[str] = []
    for part in answer.parts:
        # It is settled that no tier meets the SLO, although the part names none.
        if part.proof == proof and not asked.is_met_by_none(part.subject):
            subjects.append(part.subject)
    return subjects


def lost_in_words(answer: Answer) -> Iterator[str]:
    tally = answer.sureness.tally
    if tally is not None and tally.runs_lost:
        yield f"{tally.runs_lost} of {tally.runs_planned} runs left no figures"


_MOST_NAMED = 3  # workloads named in a line


def _proven(asked: Asked, parts: Sequence[PartAnswer]) -> Iterator[str]:
    proven: list[str] = []
    for part in parts:
        is_missed = asked.is_met_by_none(part.subject)
        # It is a proof too that every tier misses the SLO.
        if is_missed or part.proof in _PROVEN:
            proven.append(part.subject)
    if not proven:
        return
    runs = units.counted(asked.campaign.plan.repetitions, "repetition")
    whose = ""
    if asked.campaign.plan.weights:
        whose = " by the weighted mean of the workloads"
    elif asked.only_varied is not None and len(parts) > 1:
        whose = f" for {len(proven)} of the {len(parts)} values"
        if len(proven) == len(parts):
            whose = f" for each of the {len(parts)} values"
    elif len(proven) > _MOST_NAMED:
        whose = f" for {len(proven)} of {len(parts)} loads"
    elif len(parts) > 1:
        whose = f" for {units.listed(proven)}"
    yield f"proven{whose} at {level()} confidence, by {runs}"


def level() -> str:
    return units.format_quantity(100 * stats.CONFIDENCE, "%")


def _is(subjects: Sequence[str]) -> str:
    if len(subjects) == 1:
        return "is"
    return "are"
