"""The answer of a campaign: of one workload or several, with or without an SLO, swept or varied,
or of one profile alone. Pure: made from plan, records and verdict.

Which tier is enough was decided in `analysis/decisions`; here it is brought together with what it
costs, how sure it is and what was not tested.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.analysis.answers import speeds, untested
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.briefs import campaign_brief
from orchestrator.analysis.answers.one_profile import answer_of_one_profile
from orchestrator.analysis.answers.proofs import clauses, proof_of
from orchestrator.analysis.answers.record import (
    Answer,
    AnswerKind,
    NextStep,
    PartAnswer,
    ProofWord,
    TierLimit,
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
    kind: AnswerKind = "comparison"
    if not asked.contenders:
        kind = "one profile"
    parts = tuple(_part(asked, subject) for subject in asked.subjects)
    answer = Answer(
        kind=kind,
        parts=parts,
        together=_together(asked),
        sureness=campaign_sureness(asked, parts),
        comparisons=tuple(speeds.speed_comparisons(asked.figures, asked.contenders)),
        untested=tuple(untested.untested(campaign, verdict)),
        next_steps=tuple(_repetitions(parts)),
    )
    answer = _with_limits(answer, verdict.bottlenecks)
    return replace(answer, brief=campaign_brief(asked, answer))


def is_undecided(answer: Answer) -> bool:
    """Whether a workload, or all of them together, has no answer, one beside which a cheaper tier
    is open, or one to a question that is moot."""
    if answer.sureness.word in MOOT.values():
        return True
    return any(part.proof in _UNDECIDED for part in answer.all_parts)


def has_lost_runs(answer: Answer) -> bool:
    """Whether a run that was begun left nothing that counts."""
    tally = answer.sureness.tally
    return tally is not None and tally.runs_failed + tally.runs_excluded > 0


# ------------------------------------------------------------------ its parts


def _together(asked: Asked) -> PartAnswer | None:
    """Of all workloads, for one cluster."""
    cluster = asked.verdict.cluster
    if cluster is None:
        return None
    part = PartAnswer(
        subject=f"all {len(cluster.workloads)} workloads",
        about="all workloads",
        purchase=None,
        why=_why(asked, cluster),
        proof="not decided",
        cheaper_open=cluster.cheaper_open,
        confidence_pct=cluster.confidence_pct,
    )
    proof: ProofWord = "proven"
    if cluster.cheaper_open:
        proof = "proven, cheaper open"
    return _with_purchase(asked, part, cluster, proof)


def _part(asked: Asked, subject: str) -> PartAnswer:
    """Of a workload, or of the loads of a sweep."""
    decision = asked.decision(subject)
    if not asked.contenders:
        return answer_of_one_profile(asked, subject, decision)
    if decision is None:
        return PartAnswer(
            subject=subject,
            about="workload",
            purchase=None,
            why=("No decision was recorded.",),
            proof="not judged",
        )
    proof = proof_of(decision)
    part = PartAnswer(
        subject=subject,
        about="workload",
        purchase=None,
        why=_why(asked, decision),
        proof=proof,
        cheaper_open=decision.cheaper_open,
        slo=clauses(decision, decision.tier),
        confidence_pct=decision.confidence_pct,
    )
    return _with_purchase(asked, part, decision, proof)


def _why(asked: Asked, decision: Decision | ClusterDecision) -> tuple[str, ...]:
    """The reason, and what its figures rest on."""
    texts: list[str] = []
    for text in (decision.reason, decision.basis):
        if text:
            texts.append(asked.opening(text))
    return tuple(texts)


def _with_purchase(
    asked: Asked,
    part: PartAnswer,
    decision: Decision | ClusterDecision,
    proof: ProofWord,
) -> PartAnswer:
    """With the tier that the decision names, if it names one, and how sure that is."""
    if decision.tier is None:
        return part
    purchase = disks_to_buy(asked, decision.tier, decision)
    return replace(part, purchase=purchase, proof=proof)


# ------------------------------------------------------------------ what follows from them


def _with_limits(answer: Answer, bottlenecks: Sequence[Bottleneck]) -> Answer:
    """With what limited the tier to buy, if there is one for all that was asked."""
    purchase = answer.purchase
    if purchase is None:
        return answer
    limits: list[TierLimit] = []
    for cell in bottlenecks:
        if cell.profile == purchase.tier:
            limits.append(TierLimit(cell.workload, cell.node, cell.cause, cell.text))
    return replace(answer, limits=tuple(limits))


def _repetitions(parts: Sequence[PartAnswer]) -> Iterator[NextStep]:
    """More of what is open. Which command adds them is not known yet."""
    for part in parts:
        if part.proof in ("open", "proven, cheaper open"):
            yield NextStep("repeat", part.subject, None)
