"""The answer of a campaign: of one workload or several, with or without an SLO, swept or varied,
or of one profile alone. Pure: made from plan, records and verdict.

Which tier is enough was decided in `analysis/decisions`; here it is brought together with what it
costs, how sure it is and what was not tested.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.analysis.answers import provider_metrics, speeds, untested
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.briefs import campaign_brief
from orchestrator.analysis.answers.one_profile import answer_of_one_profile
from orchestrator.analysis.answers.proofs import clauses, proof_of
from orchestrator.analysis.answers.record import (
    Answer,
    AnswerKind,
    DisksToBuy,
    NextStep,
    PartAnswer,
    ProofWord,
    TierLimit,
    Untested,
)
from orchestrator.analysis.answers.sureness import MOOT, campaign_sureness
from orchestrator.analysis.answers.to_buy import disks_to_buy
from orchestrator.analysis.conclusions import (
    Bottleneck,
    ClusterDecision,
    Decision,
    Verdict,
)
from orchestrator.analysis.results import Results
from orchestrator.design import disk_matrix
from orchestrator.texts.prose import all_of, listed

NO_DECISION = "No decision was recorded"
# Parts of which another run may change what is said.
_UNDECIDED: tuple[ProofWord, ...] = (
    "proven, cheaper open",
    "open",
    "not decided",
    "not compared",
)


def campaign_answer(campaign: Results, verdict: Verdict) -> Answer:
    """What a campaign says of what to buy. `verdict`: its `answer` is not read."""
    asked = Asked(campaign, verdict)
    not_tested = tuple(untested.untested(campaign, verdict))
    if _is_of_disks_alone(asked, not_tested):
        # The code that reads a matrix takes long to load.
        from orchestrator.analysis.answers import disks_alone

        answer = disks_alone.disks_answer(asked, not_tested)
        if answer is not None:
            return answer
    return _answer_of_loads(asked, not_tested)


def _answer_of_loads(asked: Asked, not_tested: tuple[Untested, ...]) -> Answer:
    """What is enough for the loads of a database."""
    parts = tuple(_part(asked, subject) for subject in asked.subjects)
    together = _together(asked)
    sureness = campaign_sureness(asked, parts)
    comparisons = speeds.speed_comparisons(asked.figures, asked.contenders)
    next_steps = (*_repetitions(parts), *_provider_metrics(asked))
    answer = Answer(
        kind=_kind(asked),
        parts=parts,
        together=together,
        sureness=sureness,
        comparisons=tuple(comparisons),
        untested=not_tested,
        next_steps=next_steps,
    )
    # What limits count depends on the tier to buy, so the answer comes first.
    limits = _limits(answer, asked.verdict.bottlenecks)
    answer = replace(answer, limits=tuple(limits))
    # The brief is the answer in a few lines, so it is made of the whole of it.
    brief = campaign_brief(asked, answer)
    return replace(answer, brief=brief)


def _is_of_disks_alone(asked: Asked, not_tested: Sequence[Untested]) -> bool:
    """Whether every workload is a disk matrix, without an SLO or a factor."""
    for item in not_tested:
        if item.kind in ("anything", "database"):
            return False
    if asked.verdict.varied or asked.verdict.sweeps:
        return False
    for workload in asked.campaign.plan.workloads:
        if workload.slo or not disk_matrix.planned(workload.options):
            return False
    return True


def _kind(asked: Asked) -> AnswerKind:
    if asked.contenders:
        return "comparison"
    return "one profile"


def is_undecided(answer: Answer) -> bool:
    """Whether a workload, or all workloads together, has no settled answer.

    An answer is not settled either if a cheaper tier is open, or if the question is moot.
    """
    if answer.sureness.word in MOOT.values():
        return True
    return any(part.proof in _UNDECIDED for part in answer.all_parts)


def has_lost_runs(answer: Answer) -> bool:
    """Whether a run that was begun left nothing that counts."""
    tally = answer.sureness.tally
    # A run that is still to come is none of these.
    return tally is not None and tally.runs_failed + tally.runs_excluded > 0


# ------------------------------------------------------------------ its parts


def _together(asked: Asked) -> PartAnswer | None:
    """The answer for all workloads on one cluster.

    None if no tier was sought that is enough for all.
    """
    decision = asked.verdict.cluster
    if decision is None:
        return None
    part = PartAnswer(
        subject=all_of(len(decision.workloads), "workload"),
        about="all workloads",
        purchase=None,
        why=_why(asked, decision),
        claims=decision.reason_parts.claimed,
        proof="not decided",
        cheaper_open=decision.cheaper_open,
        best_open=decision.best_open,
        confidence_pct=decision.confidence_pct,
    )
    if decision.tier is None:
        return part
    proof: ProofWord = "proven"
    if decision.cheaper_open:
        proof = "proven, cheaper open"
    purchase = disks_to_buy(asked, decision.tier, decision)
    return replace(part, purchase=purchase, proof=proof)


def _part(asked: Asked, subject: str) -> PartAnswer:
    """The answer for one workload, or for the loads of a sweep."""
    decision = asked.verdict.decision(subject)
    # One tier alone is compared with nothing, so none is named to buy.
    if not asked.contenders:
        return answer_of_one_profile(asked, subject, decision)
    if decision is None:
        return _without_decision(subject)
    purchase: DisksToBuy | None = None
    if decision.tier is not None:
        purchase = disks_to_buy(asked, decision.tier, decision)
    return PartAnswer(
        subject=subject,
        about="workload",
        purchase=purchase,
        why=_why(asked, decision),
        claims=decision.reason_parts.claimed,
        proof=proof_of(decision),
        cheaper_open=decision.cheaper_open,
        best_open=decision.best_open,
        slo=clauses(decision, decision.tier),
        confidence_pct=decision.confidence_pct,
    )


def _without_decision(subject: str) -> PartAnswer:
    return PartAnswer(
        subject=subject,
        about="workload",
        purchase=None,
        why=(f"{NO_DECISION}.",),
        claims=(NO_DECISION,),
        proof="not judged",
    )


def _why(asked: Asked, decision: Decision | ClusterDecision) -> tuple[str, ...]:
    """The sentences of the reason, and what its figures rest on."""
    # Decisions of earlier programs have their reason in one piece.
    sentences = decision.sentences or (decision.reason,)
    texts: list[str] = []
    for text in (*sentences, decision.basis):
        if text:
            texts.append(asked.opening(text))
    return tuple(texts)


# ------------------------------------------------------------------ what follows from them


def _limits(answer: Answer, bottlenecks: Sequence[Bottleneck]) -> Iterator[TierLimit]:
    """What limited the tier to buy under each workload, if one tier is for all that was asked."""
    purchase = answer.purchase
    # No one tier's limits can be told if each workload has a tier of its own.
    if purchase is None:
        return
    for cell in bottlenecks:
        if cell.profile == purchase.tier:
            yield TierLimit(cell.workload, cell.node, cell.cause, cell.in_words)


def _provider_metrics(asked: Asked) -> Iterator[NextStep]:
    metrics = provider_metrics.of_campaign(asked)
    if metrics is not None:
        subject = listed(metrics.profiles)
        yield NextStep("give metrics", subject, metrics.command)


def _repetitions(parts: Sequence[PartAnswer]) -> Iterator[NextStep]:
    """More of what is open. Which command adds them is not known yet."""
    for part in parts:
        # More repetitions would not decide what is "not decided" either.
        if part.proof in ("open", "proven, cheaper open"):
            yield NextStep("repeat", part.subject, None)
