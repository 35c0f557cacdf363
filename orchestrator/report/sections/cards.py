"""A card for each workload: what is enough for it, in at most three lines, and a picture of all
tiers on one axis. What the answer's brief says already is not said again."""

from collections.abc import Iterator
from dataclasses import replace

from orchestrator.analysis.answers import phrases, speeds
from orchestrator.analysis.answers.brief_reasons import settled_by
from orchestrator.analysis.answers.briefs import claims_in_brief
from orchestrator.analysis.answers.record import PartAnswer, SpeedComparison
from orchestrator.design import disk_matrix
from orchestrator.report import wording
from orchestrator.report.blocks import Chart, ShownAnswer
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import factors, tier_picture
from orchestrator.texts import prose


def answers(index: ReportIndex, *, with_pictures: bool) -> tuple[ShownAnswer, ...]:
    """How far each tier is enough, where that was asked, unless the brief says it; then cards."""
    shown = list(factors.answers(index, without=_in_brief(index)))
    for part in index.answer.parts:
        # A terminal has no pictures, so the intervals then stand in the card's lines.
        drawn: Chart | None = None
        if with_pictures:
            drawn = tier_picture.picture(index, part.subject)
        card = _card(index, part, shows_intervals=drawn is not None)
        shown.append(replace(card, picture=drawn))
    return tuple(shown)


def _card(
    index: ReportIndex, part: PartAnswer, *, shows_intervals: bool
) -> ShownAnswer:
    """`shows_intervals`: its picture does, so that its lines need not."""
    answer = index.answer
    price = ""
    if part.purchase is not None:
        price = phrases.monthly(part.purchase.price)
    headline = phrases.choice(answer, part)
    lines = tuple(_lines(index, part, shows_intervals=shows_intervals))
    folded = _folded(index, part)
    # A picture shows the figures, so no sentence need stand beside it.
    if not lines and not shows_intervals:
        first, *further = part.why
        lines = (first,)
        folded = " ".join(further)
    return ShownAnswer(
        workload=part.subject,
        tier=part.tier or "",
        text=" ".join(part.why),
        price=price,
        headline=headline,
        lines=lines,
        folded=folded,
    )


def _folded(index: ReportIndex, part: PartAnswer) -> str:
    """What its claims rest on; empty if that is all in sight."""
    if _ceilings(index, part.subject) or _is_all_claimed(index, part):
        return ""
    return " ".join(part.why)


def _is_all_claimed(index: ReportIndex, part: PartAnswer) -> bool:
    """Whether what it says is claims alone, all of which its lines or the brief have."""
    if len(part.why) > 1 or _measured_once(index, part):
        return False
    decision = index.verdict.decision(part.subject)
    # Of one profile it is said what it did, whatever was decided on its SLO.
    if decision is None or not index.contenders:
        return True
    return not decision.reason_parts.proofs


# ------------------------------------------------------------------ its lines


def _ceilings(index: ReportIndex, name: str) -> str:
    """The ceilings of a disk matrix; "" for any other workload, for which its libraries are not
    loaded."""
    workload = index.workload(name)
    if workload is None or not disk_matrix.planned(workload.options):
        return ""
    from orchestrator.analysis.answers import disk_ceilings

    return disk_ceilings.in_short(index, workload)


def _lines(
    index: ReportIndex, part: PartAnswer, *, shows_intervals: bool
) -> Iterator[str]:
    """The claim, with what would settle it, and how many times as fast tiers are; of a disk matrix
    what each disk gives at most."""
    ceilings = _ceilings(index, part.subject)
    # No tier was chosen and none is faster: of disks alone the ceilings are the whole answer.
    if ceilings:
        yield ceilings
        return
    once = _measured_once(index, part)
    if once:
        yield once
        return
    claim = _claim(index, part)
    if claim:
        yield index.opening(claim)
    compared = tuple(_compared(index, part.subject))
    if shows_intervals:
        compared = tuple(speeds.in_short(_comparisons(index, part.subject)))
    if compared:
        yield index.opening("; ".join(compared))


def _claim(index: ReportIndex, part: PartAnswer) -> str:
    """What the part claims, without what the brief says; empty if the brief says all."""
    # The brief stands right above the card, where the same words would be read twice.
    in_brief = _in_brief(index)
    texts: list[str] = []
    # It is said once, above all cards, that no tier meets the SLO.
    if index.answer.sureness.word != "SLO missed":
        for claim in part.claims:
            if claim not in in_brief:
                texts.append(claim)
    takes = settled_by(index, part.subject)
    if takes and takes not in in_brief:
        # Beside a tier that is named, this is about cheaper ones, which nothing else names here.
        if part.cheaper_open:
            would_do = (
                f"whether {prose.listed(part.cheaper_open)} would be enough is open"
            )
            takes = f"{would_do}: {takes}"
        texts.append(takes)
    return "; ".join(texts)


def _in_brief(index: ReportIndex) -> set[str]:
    return claims_in_brief(index, index.answer)


def _compared(index: ReportIndex, workload: str) -> Iterator[str]:
    for comparison in _comparisons(index, workload):
        # Why nothing is proven is in the tables.
        yield speeds.claim_in_words(comparison)


def _measured_once(index: ReportIndex, part: PartAnswer) -> str:
    """`One run each: premium 212, ultra 1,330 transactions/s.`; empty if there are several, or none
    has figures."""
    workload = part.subject
    # The loads of a sweep are one part together, of which no run was made.
    has_runs = workload in [load.name for load in index.workloads]
    # One run of each proves no difference, so the values themselves are all there is.
    if index.campaign.plan.repeats.repetitions != 1 or not has_runs:
        return ""
    metric = index.figures.throughput_metric(workload)
    texts: list[str] = []
    last = ""
    for tier in index.tiers:
        cell = index.figures.cell(tier, workload, metric)
        if cell is not None:
            texts.append(f"{tier} {wording.value(cell)}")
            last = f"{tier} {wording.value_with_unit(cell)}"
    if not texts:
        return ""
    # What is counted stands once, behind the last.
    texts[-1] = last
    # "Each" would promise a second tier.
    if len(index.tiers) == 1:
        return f"One run: {texts[0]}."
    return f"One run each: {', '.join(texts)}."


def _comparisons(index: ReportIndex, workload: str) -> list[SpeedComparison]:
    workload_comparisons: list[SpeedComparison] = []
    for comparison in index.answer.comparisons:
        if comparison.workload == workload:
            workload_comparisons.append(comparison)
    return workload_comparisons
