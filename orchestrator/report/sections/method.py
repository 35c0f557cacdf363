"""The method, how to repeat the campaign, and where the raw files of each run are."""

from __future__ import annotations

import shlex

from orchestrator import units
from orchestrator.analysis import comparability
from orchestrator.analysis.results import Results
from orchestrator.analysis.statistics.looks import confidence, repetitions, share
from orchestrator.analysis.statistics.stats import CONFIDENCE
from orchestrator.model import Plan, Run
from orchestrator.planning import slo
from orchestrator.report import wording
from orchestrator.report.blocks import Cell, Code, Items, Paragraph, Part, Section, table_of
from orchestrator.report.report_index import ReportIndex

_DISCLAIMER = (
    "The order-entry workload is derived from the TPC-C specification and does not comply with it: "
    "nothing here was audited, and no figure may be held against what the TPC publishes or "
    "against other programs that go by that name. NOPM counts the New-Order transactions "
    "committed per minute of the measured window. TPC-C is a trademark of the Transaction "
    "Processing Performance Council."
)
_METHOD_PUBLISHED = (
    "Others measured and published these figures; their own text says how. A change is the ratio "
    "of the contender's figure to the baseline's. One value on a side has no interval, so every "
    "change is inconclusive and no tier is named. The long form is docs/METHOD.md and "
    "docs/STUDY.md."
)


def section(index: ReportIndex) -> Section:
    method = _METHOD_PUBLISHED if index.campaign.published else _method(index.campaign.plan)
    parts = [Part("Method", (Paragraph(method),))]
    if any(index.is_tpcc_derived(workload.name) for workload in index.workloads):
        parts.append(Part("TPC-C-derived, not TPC-C", (Paragraph(_DISCLAIMER),)))
    parts.append(Part("To do it again", _again(index.campaign)))
    words = ("Tier", "Workload", "Measured from", "Outcome", "Files")
    runs = table_of([_run_row(index, run) for run in index.campaign.plan.runs], words)
    parts.append(Part("Runs and their raw files", (runs, _files(index))))
    return Section("method", "Method, and how to reproduce", tuple(parts))


def _method(plan: Plan) -> str:
    margins = wording.margins(plan.margin_pct, plan.p99_margin_pct)
    return (
        f"Every tier ran {_times(plan)}, round by round in balanced orders, so that neither a "
        "tier's place nor a slow drift favours one; the warm-up is recorded and not counted. "
        f"{_clients(plan)}"
        "A change is the ratio of contender to baseline within each repetition, so what slows a "
        "whole repetition down cancels out: its geometric mean, with an interval at "
        f"{_levels(plan)} from the spread between repetitions (Student's paired test on "
        "logarithms). It is the same if its 90 % interval (two one-sided tests at 5 %) lies "
        f"within {margins}, better or worse if it lies on one side of no change and the number "
        "of comparisons does not make that likely by chance, and inconclusive otherwise. The long "
        "form is docs/METHOD.md."
    )


def _clients(plan: Plan) -> str:
    """Says that the load came from several clients, if it did."""
    most = max(profile.cluster.clients for profile in plan.profiles)
    if most == 1:
        return ""
    return (
        f"The load came from {most} clients that began together; what each recorded is one table, "
        "in which every transaction is once, and only the time in which all measured counts. "
    )


def _times(plan: Plan) -> str:
    if not plan.looks:
        times = "once" if plan.repetitions == 1 else f"{plan.repetitions} times"
        return f"every workload {times}"
    names = [load.name for load in plan.workloads]
    times = units.listed([f"{name} {repetitions(plan, name)} times" for name in names])
    return (
        f"{times} (from {min(plan.looks)} on, repetitions were added where the decision was open, "
        f"to {max(plan.looks)} at most)"
    )


def _levels(plan: Plan) -> str:
    shares = [share(plan, load.name) for load in plan.workloads]
    levels = wording.confidence(100 * confidence(CONFIDENCE, part) for part in shares)
    if not plan.looks:
        return levels
    return (
        f"{levels} (95 % if it were judged once: as it was judged again after each repetition, "
        "each judgement has a share of the 5 % chance of a false answer)"
    )


def _again(campaign: Results) -> tuple[Paragraph | Code, ...]:
    code = comparability.revision(campaign)
    given, measured = command(campaign), f"tierbench {code} measured. " if code else ""
    begin = "Which command was given was not kept. "
    if given:
        begin = f"Given in {campaign.fingerprint['directory']}, where its relative paths begin. "
    holds = (
        "study.yaml holds the tables, plan.json and the records what was read out of them."
        if campaign.published
        else "plan.json holds every decision taken, fingerprint.json the machine."
    )
    return (
        *((Code(given),) if given else ()),
        Paragraph(
            f"{begin}{measured}{holds} The report is made from the files of this folder alone, and "
            "can be made again without Docker:"
        ),
        Code(analyze(campaign)),
    )


def command(campaign: Results) -> str:
    """The command that was given, as a shell takes it; empty if it was not kept."""
    facts = campaign.fingerprint
    return str(facts["command"]) if "directory" in facts else ""  # else its quotes are lost


def analyze(campaign: Results) -> str:
    """The command that judges the folder again, by the same SLO."""
    objectives = slo.text_of(campaign.plan.workloads)
    return f"tierbench analyze .{f' --slo {shlex.quote(objectives)}' if objectives else ''}"


def _run_row(index: ReportIndex, run: Run) -> dict[str, Cell | str]:
    data = index.runs.get(run.number)
    window = data.record.phase("measure") if data is not None else None
    unknown = Cell("not published" if index.campaign.published else "never measured", missing=True)
    loss = index.loss(run)
    folder = f"runs/{run.slug}/"
    return {
        "Run": str(run.number),
        "Tier": Cell(run.profile, tier=run.profile),
        "Workload": run.workload,
        "Repetition": str(run.repetition),
        "Measured from": wording.moment(window.start_s) if window else unknown,
        "Outcome": Cell(loss or "done", missing=loss is not None),
        "Files": Cell(folder, href=folder) if data is not None else "none",
    }


def _files(index: ReportIndex) -> Items:
    """What a run's folder holds, as far as any run of this campaign left it."""
    runs = index.campaign.runs
    files = {"record.json": "every figure of the run, its phases, facts and doubts"}
    if not all(run.intervals.empty for run in runs):
        files["intervals.csv"] = "throughput and latency, second by second"
    if not all(run.telemetry.empty for run in runs):
        files["samples.parquet"] = "CPU, memory and disk counters as read, once a second"
    if not index.campaign.published:
        files["raw/"] = "untouched output, exact commands, logs, settings as applied"
    return Items(tuple(Paragraph(what, lead=file) for file, what in files.items()))
