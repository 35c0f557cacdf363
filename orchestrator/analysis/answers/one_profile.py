"""The answer of one profile that is compared with none: what it did. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from orchestrator.analysis.answers import lost_runs, sweeps
from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.headline_figures import (
    LATENCY_AVG,
    LATENCY_P99,
)
from orchestrator.analysis.answers.limits import limit_in_words
from orchestrator.analysis.answers.phrases import closed
from orchestrator.analysis.answers.proofs import clauses, proof_of, slo_word
from orchestrator.analysis.answers.record import (
    ClauseWord,
    MeasuredFigure,
    PartAnswer,
    ProfileFigures,
    ProofWord,
    SloClause,
    SurenessWord,
)
from orchestrator.analysis.conclusions import CellSummary, Decision, ObjectiveResult
from orchestrator.analysis.telemetry.causes.node_cause import HARNESS_CAUSES
from orchestrator.facts import BottleneckCause
from orchestrator.metrics import NEW_ORDER, value_in_words
from orchestrator.model import Run
from orchestrator.texts import prose


def answer_of_one_profile(
    asked: Asked, subject: str, decision: Decision | None
) -> PartAnswer:
    """What it did, in the place of what to buy."""
    measured = _profile_figures(asked, subject)
    claims = _claims(asked, subject, measured)
    why: list[str] = []
    # The figures of a profile are one sentence, all else is a sentence a claim.
    if measured is not None:
        why.append(figures_in_words(measured))
    else:
        for claim in claims:
            why.append(closed(claim))
        # Of several reasons for runs that were lost, the first stands for all.
        claims = claims[:1]
    part = PartAnswer(
        subject=subject,
        about="workload",
        purchase=None,
        why=tuple(why),
        claims=claims,
        proof=_proof_of_one_profile(decision),
        measured=measured,
    )
    if decision is None:
        return part
    return replace(
        part,
        slo=clauses(decision, asked.verdict.baseline),
        confidence_pct=decision.confidence_pct,
    )


# ------------------------------------------------------------------ the first line


def word(asked: Asked) -> SurenessWord:
    """What became of its SLO under the workload where it fared worst; `measured` without one."""
    words: set[ClauseWord] = set()
    for decision in asked.verdict.decisions:
        if decision.slo:
            words.add(slo_word(decision, asked.verdict.baseline))
    if not words:
        return "measured"
    # The worst word of all workloads: one that misses its SLO is not made up for by others.
    if "missed" in words:
        return "SLO missed"
    if "open" in words:
        return "SLO open"
    return "SLO met"


def headline(asked: Asked, parts: Sequence[PartAnswer]) -> str:
    """`ultra meets throughput > 150/s (360 transactions/s)`, or `ultra did 6,463 NOPM`; for each
    workload."""
    texts: list[str] = []
    for part in parts:
        text = _in_short(asked, part)
        if len(parts) > 1:
            text = f"{part.subject}: {text}"
        texts.append(text)
    return "; ".join(texts)


def claims_in_headline(asked: Asked, parts: Sequence[PartAnswer]) -> set[str]:
    """The parts' `claims` that the headline has."""
    claims: set[str] = set()
    for part in parts:
        if part.slo and asked.verdict.decision(part.subject) is not None:
            continue
        # A throughput without latencies is claimed with its number of runs, which is not there.
        if part.measured is None or len(part.claims) > 1:
            claims.update(part.claims[:1])
    return claims


def _in_short(asked: Asked, part: PartAnswer) -> str:
    profile = asked.verdict.baseline
    decision = asked.verdict.decision(part.subject)
    if decision is not None and part.slo:
        if not _is_said_by_clauses(part, decision) and _is_held_back(asked, part):
            return f"{_not_proven(profile, part)}: this machine was the limit"
        if not _is_said_by_clauses(part, decision):
            return asked.headline(decision.reason)
        texts: list[str] = []
        for clause in part.slo:
            texts.append(_clause_in_words(asked, part, clause))
        return f"{profile} {prose.listed(texts)}"
    if part.measured is None:
        return part.claims[0]
    text = f"{profile} did {figure_in_words(part.measured.throughput)}"
    if part.measured.latency_p99 is not None:
        text += f", p99 {figure_in_words(part.measured.latency_p99)}"
    return text


def _is_said_by_clauses(part: PartAnswer, decision: Decision) -> bool:
    """Whether the clauses of the SLO say what was decided.

    Otherwise the reason is elsewhere. This machine was the limit, or runs were unfit or failed. For
    a sweep, the reason names the load at which the tier fell short.
    """
    if decision.tier is not None or decision.is_open:
        return True
    # A sweep has no offers: at which load it fell short is in the reason alone.
    if not decision.offers:
        return False
    return any(clause.word == "missed" for clause in part.slo)


def _is_held_back(asked: Asked, part: PartAnswer) -> bool:
    """Whether this machine or its load generator limited it, and its clauses are open for that."""
    if any(clause.word != "open" for clause in part.slo):
        return False
    for cell in asked.verdict.bottlenecks:
        is_of_profile = cell.profile == asked.verdict.baseline
        is_of_workload = cell.workload == part.subject
        if is_of_profile and is_of_workload and cell.cause in HARNESS_CAUSES:
            return True
    return False


def _not_proven(profile: str, part: PartAnswer) -> str:
    clauses = [clause.objective for clause in part.slo]
    return f"{profile} {_VERBS['open']} {prose.listed(clauses)}"


_VERBS: Mapping[ClauseWord, str] = {
    "met": "meets",
    "missed": "misses",
    "open": "is not proven to meet",
}


def _clause_in_words(asked: Asked, part: PartAnswer, clause: SloClause) -> str:
    """`meets throughput > 150/s (360 transactions/s)`; without a figure where no run has one."""
    text = f"{_VERBS[clause.word]} {clause.objective}"
    for result in _results(asked, part.subject):
        if result.objective == clause.objective:
            # The interval stands behind the mean, and a headline has no room for it.
            return f"{text} ({result.mean})"
    return text


def _results(asked: Asked, subject: str) -> Iterator[ObjectiveResult]:
    """The results of all clauses of the SLO of one workload."""
    decision = asked.verdict.decision(subject)
    if decision is not None:
        for offer in decision.offers:
            yield from offer.slo


def limits_in_words(asked: Asked) -> Iterator[str]:
    """What limited it under each workload; first of all that it was this machine."""
    loads = asked.campaign.plan.workloads
    named = len(loads) > 1
    slow = {load.name for load in loads if load.slow}
    for cell in asked.verdict.bottlenecks:
        if cell.profile != asked.verdict.baseline:
            continue
        about = ""
        if named:
            about = f"{cell.workload}: "
        limit = _limit_in_words(cell.cause)
        # Nobody asked for it: what a slow disk does is no limit of the tier.
        if cell.workload in slow:
            limit = "What limited it was not asked, as a disk was made slow."
        yield f"{about}{limit}"


def _limit_in_words(cause: BottleneckCause) -> str:
    # Else a reader would take this machine's limit for the tier's.
    if cause in HARNESS_CAUSES:
        return NOT_BY_THE_DISK
    limit = limit_in_words(cause)
    if not limit:
        return "What limited it is not known."
    return f"Limited by {limit}."


# This is said where a machine or a load generator was the limit.
NOT_BY_THE_DISK = (
    "Limited by this machine, not by the disk: do not judge the tier by it."
)


# ------------------------------------------------------------------ what it did


def _claims(
    asked: Asked, subject: str, measured: ProfileFigures | None
) -> tuple[str, ...]:
    """What it did, without full stops."""
    # A sweep has no one figure: the load that the tier takes stands for it.
    for sweep in asked.verdict.sweeps:
        if sweep.workload == subject:
            return (asked.headline(sweeps.load_taken(sweep, sweep.tiers[0])),)
    if measured is not None:
        return _statements(measured)
    # The answer is why its runs left no figure.
    runs: list[Run] = []
    for run in asked.campaign.plan.runs:
        if (run.profile, run.workload) == (asked.verdict.baseline, subject):
            runs.append(run)
    return lost_runs.claims(asked.campaign, runs)


def _profile_figures(asked: Asked, workload: str) -> ProfileFigures | None:
    """The figures of the only profile under one workload.

    None if no run left a throughput. None for a sweep too, which has figures at each load.
    """
    figures = asked.figures
    profile = asked.verdict.baseline
    # The loads of a sweep are workloads of their own, and none has the name of the whole.
    names = [load.name for load in asked.campaign.plan.workloads]
    if workload not in names:
        return None
    rate = figures.cell(profile, workload, figures.throughput_metric(workload))
    if rate is None:
        return None
    return ProfileFigures(
        profile=profile,
        throughput=_figure(rate),
        latency_avg=_figure_or_none(figures.cell(profile, workload, LATENCY_AVG)),
        latency_p99=_figure_or_none(figures.cell(profile, workload, LATENCY_P99)),
    )


def _proof_of_one_profile(decision: Decision | None) -> ProofWord:
    """What is proven of the only profile."""
    if decision is None:
        return "not judged"
    # An SLO is all that can be proven if there is no tier to compare with.
    if decision.slo or decision.tier is not None:
        return proof_of(decision)
    return "not compared"


def _figure(cell: CellSummary) -> MeasuredFigure:
    return MeasuredFigure(
        metric=cell.metric, scope=cell.scope, value=cell.mean, unit=cell.unit, n=cell.n
    )


def _figure_or_none(cell: CellSummary | None) -> MeasuredFigure | None:
    if cell is None:
        return None
    return _figure(cell)


# ------------------------------------------------------------------ in words


def figures_in_words(figures: ProfileFigures) -> str:
    """`ultra did 1,234 transactions/s; latency average 12 ms, 99th percentile 40 ms (n = 3).`"""
    return f"{'; '.join(_statements(figures))}."


def _statements(figures: ProfileFigures) -> tuple[str, ...]:
    """Its throughput and its latency, a clause each; the last has the number of runs."""
    latencies: list[str] = []
    if figures.latency_avg is not None:
        latencies.append(f"average {figure_in_words(figures.latency_avg)}")
    if figures.latency_p99 is not None:
        latencies.append(f"99th percentile {figure_in_words(figures.latency_p99)}")
    rate = figures.throughput
    did = f"{figures.profile} did {figure_in_words(rate)}"
    count = f"(n = {rate.n})"
    if not latencies:
        return (f"{did} {count}",)
    whose = "latency"
    # The latency of one type is another figure than that of all transactions.
    if _is_of_new_order(figures):
        whose = "New-Order latency"
    return did, f"{whose} {', '.join(latencies)} {count}"


def _is_of_new_order(figures: ProfileFigures) -> bool:
    latencies = (figures.latency_avg, figures.latency_p99)
    return any(latency and latency.scope == NEW_ORDER for latency in latencies)


def figure_in_words(figure: MeasuredFigure) -> str:
    """`1,234 transactions/s`, `8,505 NOPM`, `12 ms`."""
    return value_in_words(figure.metric, figure.value)
