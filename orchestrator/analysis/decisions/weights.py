"""Several workloads as one, by the weight that each has for the cluster (`--weights`). Pure.

What is compared is the weighted geometric mean of each repetition: a tier that is worse in a little
of the work may be better in the most of it. A criterion that not all workloads compare counts over
those that have it. Some workloads stay apart, because a must is not weighed (`_is_must`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.analysis.decisions.candidates import (
    REBUILD,
    THROUGHPUT,
    Criterion,
)
from orchestrator.analysis.decisions.contests import Contest
from orchestrator.analysis.decisions.weighted_mean import (
    P99,
    WeighedFigures,
    WeighedPart,
    counted_criteria,
    together,
)
from orchestrator.texts.prose import capitalized, listed

_NONE_OR_ONE = ("none", "one")


@dataclass(frozen=True)
class Weighed:
    """What is to be met together, and what a reader must know of it.

    `contests`: that of the weighted mean first, if there is one, and each that is a must.
    `notes`: what a criterion counts over, and which weights do not count.
    """

    contests: list[Contest]
    notes: list[str]


def weighed(contests: Sequence[Contest], weights: Mapping[str, float]) -> Weighed:
    """The contest of all workloads whose weights count instead of theirs, if there are several."""
    mixed: list[Contest] = []
    musts: list[Contest] = []
    uncounted: list[str] = []  # musts that have a weight all the same
    for contest in contests:
        if contest.workload not in weights:
            musts.append(contest)
        elif _is_must(contest):
            musts.append(contest)
            uncounted.append(contest.workload)
        else:
            mixed.append(contest)
    # One workload has no mean with others: each is met by itself.
    if len(mixed) < 2:
        return Weighed(list(contests), _without_a_mean(weights))
    # Weights may be written in any unit; shares add up to 1.
    total = sum(weights[contest.workload] for contest in mixed)
    parts = [
        WeighedPart(contest, weights[contest.workload] / total) for contest in mixed
    ]
    counted = counted_criteria(parts)
    mean = together(parts, counted, weights)
    notes = [
        *_by_themselves(uncounted),
        *_counted_over(counted, parts),
        *_few_in_common(mean, parts),
    ]
    return Weighed([mean, *musts], notes)


def _is_must(contest: Contest) -> bool:
    """Whether it must be met by itself, whatever a tier does in the other workloads."""
    # What was promised is kept or not; a gain in another workload does not make up for it.
    if contest.rules.slo or contest.circumstances.overload.asked:
        return True
    # A mean of a figure that only some tiers have would hide what keeps the answer open.
    for criterion in contest.left_out:
        if any(criterion in tier.values for tier in contest.candidates):
            return True
    # The mean is of the usual criteria alone: the time to rebuild would be lost in it.
    return any(criterion in REBUILD for criterion in contest.rules.criteria)


# ------------------------------------------------------------------ what is said beside a mean


def _without_a_mean(weights: Mapping[str, float]) -> list[str]:
    if not weights:
        return []
    return ["Weights do not count: each workload has to be met by itself"]


def _by_themselves(workloads: Sequence[str]) -> list[str]:
    """Remarks on workloads whose weight does not count."""
    if not workloads:
        return []
    names = listed(workloads)
    if len(workloads) > 1:
        return [f"The weights of {names} do not count: each has to be met alone"]
    return [f"The weight of {names} does not count: it has to be met alone"]


def _counted_over(
    counted: Mapping[Criterion, WeighedFigures], parts: Sequence[WeighedPart]
) -> list[str]:
    """Remarks on criteria that some workloads, or all, do not compare."""
    texts: list[str] = []
    workloads = [part.contest.workload for part in parts]
    for usual, figures in counted.items():
        have = [part.contest.workload for part in figures.parts]
        lack = [workload for workload in workloads if workload not in have]
        if lack:
            texts.append(_alone(usual.title, have, lack))
    absent: list[str] = []
    for usual in (THROUGHPUT, P99):
        if usual not in counted:
            absent.append(usual.title)
    if absent:
        texts.append(f"In the mean no weighted workload compares {listed(absent)}")
    return texts


def _alone(title: str, have: Sequence[str], lack: Sequence[str]) -> str:
    compares = "does not compare it"
    if len(lack) > 1:
        compares = "do not compare it"
    over = f"{title} counts over {listed(have)} alone"
    text = f"{over}: {listed(lack)} {compares}"
    return capitalized(text)


def _few_in_common(mean: Contest, parts: Sequence[WeighedPart]) -> list[str]:
    """Remarks on tiers that have several repetitions of each workload, but fewer than two in
    common."""
    few: list[str] = []
    for tier in mean.candidates:
        common = len(tier.repetitions)
        least = min(len(part.candidate(tier.name).numbers) for part in parts)
        if common < 2 <= least:
            few.append(f"{tier.name} has {_NONE_OR_ONE[common]}")
    if not few:
        return []
    takes = "The mean takes repetitions that finished under each of its workloads"
    return [f"{takes}: {', '.join(few)}"]
