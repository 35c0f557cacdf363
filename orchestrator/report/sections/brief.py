"""The four lines on top, as a campaign's report has them."""

from dataclasses import replace

from orchestrator.analysis.answers.phrases import closed, sentence
from orchestrator.analysis.answers.record import Brief
from orchestrator.analysis.answers.sureness import MOOT
from orchestrator.design import disk_matrix
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections import factors

# Of the first line; what is longer stands below it.
_MOST_CHARACTERS = 160


def brief(index: ReportIndex) -> Brief:
    """The first lines of the page, as in the answer.

    Where a factor was varied, the first line says how far each tier is enough, because a tier for
    each value is no answer to that. Where disks alone were measured, it says what each carries.
    """
    lines = index.answer.brief
    if _is_of_disks_alone(index):
        # What a matrix is read with takes long to load.
        from orchestrator.report.sections import matrix_brief

        return matrix_brief.brief(index, lines)
    if index.answer.kind != "comparison":
        return lines
    horizons = [answer.text.removesuffix(".") for answer in factors.answers(index)]
    if not horizons:
        return lines
    what = "; ".join(horizons)
    if len(what) > _MOST_CHARACTERS:
        what = horizons[0]
    how_sure = lines.how_sure
    word = index.answer.sureness.word
    if word in MOOT.values():
        how_sure = f"{sentence(word)} {how_sure}"
    return replace(lines, what=what, why=_unvaried(index), how_sure=how_sure)


def _is_of_disks_alone(index: ReportIndex) -> bool:
    """Whether every workload is a disk matrix, without an SLO or a factor."""
    answer = index.answer
    if answer.is_example or answer.is_of_stand_in:
        return False
    if index.verdict.varied or index.verdict.sweeps:
        return False
    for workload in index.workloads:
        if workload.slo or not disk_matrix.planned(workload.options):
            return False
    return True


def _unvaried(index: ReportIndex) -> str:
    """Which tier is named for the workloads without a varied factor; empty if there are none."""
    varied = {workload.workload for workload in index.verdict.varied}
    varied |= {workload.workload for workload in index.verdict.sweeps}
    texts: list[str] = []
    for part in index.answer.parts:
        is_varied = any(part.subject.startswith(name) for name in varied)
        if part.tier is not None and not is_varied:
            texts.append(f"{part.tier} is enough for {part.subject}")
    return closed("; ".join(texts))
