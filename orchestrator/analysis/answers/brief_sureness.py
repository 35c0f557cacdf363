"""How sure an answer of compared tiers is, in one line, and what would make it surer. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator import units
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.brief_reasons import settled_by
from orchestrator.analysis.answers.limits_of_runs import limits_of_most_runs
from orchestrator.analysis.answers.record import (
    Answer,
    PartAnswer,
    ProofWord,
)
from orchestrator.analysis.answers.untested_words import where_proven
from orchestrator.analysis.statistics import stats
from orchestrator.design import varied_workloads
from orchestrator.texts import prose

_OPEN: Mapping[ProofWord, str] = {
    "open": "open",
    "not decided": "not decided",
    "not compared": "not compared",
    "not judged": "not judged",
}


def how_sure(asked: Asked, answer: Answer) -> str:
    if answer.is_example:
        return "not at all: nothing was measured"
    texts = [*_proven(asked, answer), *_beside_cheaper(asked, answer.parts)]
    for proof, word in _OPEN.items():
        subjects = _unsettled(asked, answer, proof)
        if not subjects:
            continue
        text = f"{prose.listed(subjects)} {_is(subjects)} {word}"
        # The way to settle is that of the first: the others have theirs in their own parts.
        takes = settled_by(asked, subjects[0])
        if takes and len(subjects) > 1:
            takes = f"for {subjects[0]} {takes}"
        if takes:
            text = f"{text}; {takes}"
        texts.append(text)
    texts += limits_of_most_runs(asked, answer.sureness.word)
    texts += lost_in_words(answer)
    return "; ".join(texts)


def ways_to_settle(asked: Asked, answer: Answer) -> set[str]:
    """What the line `how_sure` says would settle something."""
    if answer.is_example:
        return set()
    firsts: list[str] = []
    for proof in _OPEN:
        firsts += _unsettled(asked, answer, proof)[:1]
    for part in _with_cheaper_open(answer.parts)[:1]:
        firsts.append(part.subject)
    return {settled_by(asked, subject) for subject in firsts}


def _with_cheaper_open(parts: Sequence[PartAnswer]) -> list[PartAnswer]:
    return [part for part in parts if part.cheaper_open]


def _beside_cheaper(asked: Asked, parts: Sequence[PartAnswer]) -> Iterator[str]:
    """Where a cheaper tier is open beside the one that is named, and what would settle that."""
    beside = _with_cheaper_open(parts)
    if not beside:
        return
    first = beside[0]
    takes = settled_by(asked, first.subject)
    if len(parts) == 1:
        # The line above names the tier, and says that a cheaper one is open.
        if takes:
            yield f"for {first.cheaper_open[0]} {takes}"
        return
    text = _enough_beside_cheaper(beside)
    if takes and len(beside) > 1:
        takes = f"for {first.subject} {takes}"
    if takes:
        text = f"{text}; {takes}"
    yield text


def _enough_beside_cheaper(parts: Sequence[PartAnswer]) -> str:
    """`for insert premium-v2 is proven enough, and whether premium would be is open`."""
    first = parts[0]
    if len(parts) == 1:
        cheaper = prose.listed(first.cheaper_open)
        return (
            f"for {first.subject} {first.tier} is proven enough, and whether {cheaper} would be "
            "is open"
        )
    subjects = prose.listed([part.subject for part in parts])
    return f"for {subjects} a tier is proven enough, and whether a cheaper one would be is open"


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


def _proven(asked: Asked, answer: Answer) -> Iterator[str]:
    parts = answer.parts
    if asked.campaign.plan.judging.weights and answer.purchase is not None:
        how = _level_and_repetitions(asked, asked.subjects)
        yield f"proven{where_proven(answer)} by the weighted mean of the workloads {how}"
        return
    proven = [part.subject for part in parts if _is_proven(asked, part, len(parts))]
    if proven:
        how = _level_and_repetitions(asked, proven)
        subjects = _whose(asked, len(parts), proven)
        yield f"proven{where_proven(answer)}{subjects} {how}"


def _level_and_repetitions(asked: Asked, subjects: Sequence[str]) -> str:
    """`at 95 % confidence, by 5 repetitions`; `by 2 to 5` where a tier has lost some."""
    counts: list[int] = []
    for load in asked.campaign.plan.workloads:
        if varied_workloads.decision_subject(load) in subjects:
            counts += _repetitions(asked, load.name)
    fewest = min(counts, default=0)
    most = max(counts, default=0)
    repetitions = prose.counted(most, "repetition")
    if fewest < most:
        repetitions = f"{fewest} to {repetitions}"
    return f"at {level()} confidence, by {repetitions}"


def _repetitions(asked: Asked, workload: str) -> Iterator[int]:
    """How many of each tier left figures."""
    metric = asked.figures.throughput_metric(workload)
    for tier in asked.tiers:
        cell = asked.figures.cell(tier, workload, metric)
        if cell is not None:
            yield cell.n


def _is_proven(asked: Asked, part: PartAnswer, count: int) -> bool:
    """`count`: of all parts."""
    # It is a proof too that every tier misses the SLO.
    if part.proof == "proven" or asked.is_met_by_none(part.subject):
        return True
    # Of several parts, one beside which a cheaper tier is open is told apart.
    return part.proof == "proven, cheaper open" and count == 1


def _whose(asked: Asked, count: int, proven: Sequence[str]) -> str:
    """For what of `count` parts it is proven: ` for insert and tpcc`; empty where one is all."""
    if asked.only_varied is not None and count > 1:
        if len(proven) == count:
            return f" for each of the {count} values"
        return f" for {len(proven)} of the {count} values"
    if len(proven) > _MOST_NAMED:
        return f" for {len(proven)} of {count} loads"
    if count == 1:
        return ""
    alone = ""
    # Each by itself is proven, and the mean of them is not.
    if asked.campaign.plan.judging.weights and len(proven) == 1:
        alone = " alone"
    elif asked.campaign.plan.judging.weights:
        alone = ", each alone,"
    return f" for {prose.listed(proven)}{alone}"


def level() -> str:
    return units.format_quantity(100 * stats.CONFIDENCE, "%")


def _is(subjects: Sequence[str]) -> str:
    if len(subjects) == 1:
        return "is"
    return "are"
