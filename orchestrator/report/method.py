"""The method, how to repeat the campaign, and where the raw files of each run are."""

from __future__ import annotations

import shlex

from orchestrator import units
from orchestrator.analysis import campaign_comparability
from orchestrator.analysis.results import Results
from orchestrator.model import Plan, Run
from orchestrator.planning import project_files, slo
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Cell,
    Code,
    Items,
    Paragraph,
    Part,
    Section,
    Table,
    numbers,
    texts,
)
from orchestrator.report.report_index import ReportIndex

_DISCLAIMER = (
    "The order-entry workload is derived from the TPC-C specification and does not comply with it: "
    "nothing here was audited, and no figure may be held against what the TPC publishes or "
    "against other programs that go by that name. NOPM counts the New-Order transactions "
    "committed per minute of the measured window. TPC-C is a trademark of the Transaction "
    "Processing Performance Council."
)


def section(index: ReportIndex) -> Section:
    method = _method_published if index.published else _method
    parts = [Part("Method", (method(index.campaign.plan),))]
    if any(index.is_tpcc_derived(workload.name) for workload in index.workloads):
        parts.append(Part("TPC-C-derived, not TPC-C", (Paragraph(_DISCLAIMER),)))
    parts.append(Part("To do it again", _again(index.campaign)))
    files = "Cells and their files" if index.published else "Runs and their raw files"
    parts.append(Part(files, (_runs(index), _files(index))))
    return Section("method", "Method, and how to reproduce", tuple(parts))


def _method(plan: Plan) -> Paragraph:
    margin = units.format_quantity(plan.margin_pct, "%")
    times = "once" if plan.repetitions == 1 else f"{plan.repetitions} times"
    return Paragraph(
        f"Every tier ran every workload {times}, round by round in an order that turns about, so "
        "that a slow drift of the machine favours none; the warm-up is recorded and not counted. "
        "A change is the ratio of the contender's mean to the baseline's, with a 95 % interval "
        "from the spread between repetitions. It is the same if that whole interval lies "
        f"within ±{margin}, better or worse if it lies on one side of no change and the number "
        "of comparisons does not make that likely by chance, and inconclusive otherwise. The long "
        "form is docs/METHOD.md."
    )


def _method_published(_: Plan) -> Paragraph:
    return Paragraph(
        "Others measured and published these figures; their own text says how. A change is the "
        "ratio of the contender's figure to the baseline's. One value on a side has no interval, "
        "so every change is inconclusive and no tier is named. The long form is docs/METHOD.md and "
        "docs/STUDY.md."
    )


def _again(campaign: Results) -> tuple[Paragraph | Code, ...]:
    plan, code = campaign.plan, campaign_comparability.revision(campaign)
    measured = f"tierbench {code} measured. " if code else ""
    holds = (
        "study.yaml holds the tables, plan.json and the records what was read out of them."
        if "study" in plan.files
        else "plan.json holds every decision taken, fingerprint.json the machine."
    )
    return (
        Code(command(plan)),
        Paragraph(
            f"{measured}{holds} The report is made from the files of this folder alone, and can "
            "be made again without Docker:"
        ),
        Code("tierbench analyze ."),
    )


def command(plan: Plan) -> str:
    """The command that plans this campaign again, on a machine that is set up."""
    if "study" in plan.files:
        return f"tierbench import-study {shlex.quote(plan.files['study'])}"
    by_baseline = sorted((p.name for p in plan.tiers), key=lambda name: name != plan.baseline)
    profiles = [plan.files.get(f"profile {name}", name) for name in by_baseline]
    workloads = [plan.files.get(f"workload {load.name}", load.name) for load in plan.workloads]
    names, loads = shlex.quote(" ".join(profiles)), shlex.quote(" ".join(workloads))
    rest = f"--scale {plan.scale} --repeats {plan.repetitions} --seed {plan.seed}"
    if any(note.kind == "rehearsal" for note in plan.notes):
        return f"tierbench rehearse --profiles {names} --workloads {loads} {rest}"
    verb = f"compare --profiles {names} --workloads {loads} --margin {plan.margin_pct:g}"
    if plan.twin:
        verb += " --aa"
    elif len(profiles) == 1 and len(workloads) == 1:
        verb = f"run --profile {shlex.quote(profiles[0])} --workload {shlex.quote(workloads[0])}"
    clusters = {(profile.cluster.database, profile.cluster.nodes) for profile in plan.profiles}
    same = ""
    if len(clusters) == 1:
        database, nodes = clusters.pop()
        same = f" --db {database} --nodes {nodes}"
    other = f" --generator {plan.generator}" if plan.generator else ""
    other += f" --slo {shlex.quote(text)}" if (text := slo.of_all(plan.workloads)) else ""
    other += " --warmup steady" if any(w.warmup_most_s for w in plan.workloads) else ""
    longer = any(note.kind == "longer windows" for note in plan.notes)
    other += " --windows checkpoints" if longer else ""
    prices = plan.files.get(project_files.PRICE_LIST)
    other += f" --prices {shlex.quote(prices)}" if prices else ""
    return f"tierbench {verb}{same} {rest}{other}"


def _runs(index: ReportIndex) -> Table:
    columns = (
        *numbers("Run"),
        *texts("Tier", "Workload"),
        *numbers("Repetition"),
        *texts("Measured from", "Outcome", "Files"),
    )
    return Table(columns, tuple(_run_row(index, run) for run in index.campaign.plan.runs))


def _run_row(index: ReportIndex, run: Run) -> tuple[Cell, ...]:
    data = index.run(run.number)
    window = data.record.phase("measure") if data is not None else None
    loss = index.loss(run)
    folder = f"runs/{run.slug}/"
    return (
        Cell(str(run.number)),
        Cell(run.profile, tier=run.profile),
        Cell(run.workload),
        Cell(str(run.repetition)),
        Cell(wording.moment(window.start_s)) if window else _unknown_time(index),
        Cell(loss or "done", missing=loss is not None),
        Cell(folder, href=folder) if data is not None else Cell("none"),
    )


def _unknown_time(index: ReportIndex) -> Cell:
    return Cell("not published" if index.published else "never measured", missing=True)


def _files(index: ReportIndex) -> Items:
    """What a run's folder holds, as far as any run of this campaign left it."""
    runs = index.campaign.runs
    rows = [Paragraph("every figure of the run, its phases, facts and doubts", lead="record.json")]
    if not all(run.intervals.empty for run in runs):
        rows.append(Paragraph("throughput and latency, second by second", lead="intervals.csv"))
    if not all(run.samples.empty for run in runs):
        counters = "CPU, memory and disk counters as read, once a second"
        rows.append(Paragraph(counters, lead="samples.parquet"))
    if not index.published:
        untouched = "untouched output, exact commands, logs, settings as applied"
        rows.append(Paragraph(untouched, lead="raw/"))
    return Items(tuple(rows))
