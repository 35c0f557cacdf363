"""The method, how to repeat the campaign, and where the raw files of each run are."""

import shlex

from orchestrator import units
from orchestrator.analysis import comparability, results
from orchestrator.analysis.statistics.looks import confidence, repetitions, share
from orchestrator.analysis.statistics.stats import CONFIDENCE
from orchestrator.model import Plan, Run
from orchestrator.planning import slo
from orchestrator.report import report_index, wording
from orchestrator.report.blocks import (
    Cell,
    Code,
    Items,
    Paragraph,
    Part,
    Section,
    table_of,
)
from orchestrator.report.prose import said, words


def section(index: report_index.ReportIndex) -> Section:
    published = index.campaign.published
    plan = index.campaign.plan
    if published:
        method = said("method.published")
    else:
        method = _method(plan)
    parts = [Part("Method", (Paragraph(method),))]
    if any(index.is_tpcc_derived(workload.name) for workload in index.workloads):
        parts.append(
            Part("TPC-C-derived, not TPC-C", (Paragraph(said("method.disclaimer")),))
        )
    parts.append(Part("To do it again", _again(index.campaign)))
    words = ("Tier", "Workload", "Measured from", "Outcome", "Files")
    runs = table_of([_run_row(index, run) for run in plan.runs], words)
    parts.append(Part("Runs and their raw files", (runs, _files(index))))
    return Section("method", "Method, and how to reproduce", tuple(parts))


def _method(plan: Plan) -> str:
    margins = wording.margins(plan.margin_pct, plan.p99_margin_pct)
    most = max(profile.cluster.clients for profile in plan.profiles)
    if most > 1:
        clients = f"{said('method.clients', clients=most)} "
    else:
        clients = ""
    shares = [share(plan, load.name) for load in plan.workloads]
    levels = wording.confidence(100 * confidence(CONFIDENCE, part) for part in shares)
    if plan.looks:
        levels = said("method.levels", levels=levels)
    else:
        levels = levels
    beside = {"times": _times(plan), "clients": clients, "margins": margins}
    return said("method.measured", levels=levels, **beside)


def _times(plan: Plan) -> str:
    if not plan.looks:
        if plan.repetitions == 1:
            times = "once"
        else:
            times = f"{plan.repetitions} times"
        return f"every workload {times}"
    names = [load.name for load in plan.workloads]
    times = units.listed([f"{name} {repetitions(plan, name)} times" for name in names])
    return said(
        "method.times", times=times, first=min(plan.looks), last=max(plan.looks)
    )


def _again(campaign: results.Results) -> tuple[Paragraph | Code, ...]:
    code = comparability.revision(campaign)
    given = command(campaign)
    measured = ""
    if code:
        measured = f"tierbench {code} measured. "
    begin = "Which command was given was not kept. "
    if given:
        begin = f"Given in {campaign.fingerprint['directory']}, where its relative paths begin. "
    holds = said("method.holds_published" if campaign.published else "method.holds")
    text = said("method.again", begin=begin, measured=measured, holds=holds)
    return (
        *((Code(given),) if given else ()),
        Paragraph(text),
        Code(analyze(campaign)),
    )


def command(campaign: results.Results) -> str:
    """The command that was given, as a shell takes it; empty if it was not kept."""
    facts = campaign.fingerprint
    # else its quotes are lost
    if "directory" in facts:
        return str(facts["command"])
    return ""


def analyze(campaign: results.Results) -> str:
    """The command that judges the folder again, by the same SLO."""
    objectives = slo.text_of(campaign.plan.workloads)
    return f"tierbench analyze .{f' --slo {shlex.quote(objectives)}' if objectives else ''}"


def _run_row(index: report_index.ReportIndex, run: Run) -> dict[str, Cell | str]:
    data = index.campaign.by_number.get(run.number)
    window = None
    if data is not None:
        window = data.record.phase("measure")
    unknown = Cell(
        "not published" if index.campaign.published else "never measured", missing=True
    )
    loss = index.campaign.lost(run).removeprefix("was ")
    folder = f"runs/{run.slug}/"
    return {
        "Run": str(run.number),
        "Tier": Cell(run.profile, tier=run.profile),
        "Workload": run.workload,
        "Repetition": str(run.repetition),
        "Measured from": units.format_moment(window.start_s) if window else unknown,
        "Outcome": Cell(loss or "done", missing=bool(loss)),
        "Files": Cell(folder, href=folder) if data is not None else "none",
    }


def _files(index: report_index.ReportIndex) -> Items:
    """What a run's folder holds, as far as any run of this campaign left it."""
    runs = index.campaign.runs
    absent = {
        "intervals.csv": all(run.intervals.empty for run in runs),
        "samples.parquet": all(run.telemetry.empty for run in runs),
        "raw/": index.campaign.published,
    }
    files = words("method.files").items()
    return Items(
        tuple(
            Paragraph(what, lead=file) for file, what in files if not absent.get(file)
        )
    )
