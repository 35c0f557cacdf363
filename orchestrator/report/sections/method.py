"""The method, how to repeat the campaign, and where the raw files of each run are."""

import shlex
from collections.abc import Iterator

from orchestrator import units
from orchestrator.analysis import results
from orchestrator.analysis.campaigns import comparable_campaigns
from orchestrator.analysis.given_commands import given_command
from orchestrator.analysis.statistics.looks import confidence, repetitions, share
from orchestrator.analysis.statistics.stats import CONFIDENCE
from orchestrator.design import slo
from orchestrator.model import Plan, Run
from orchestrator.report import wording
from orchestrator.report.blocks import (
    Cell,
    Code,
    Items,
    Paragraph,
    Part,
    Section,
    absent,
    table_of,
)
from orchestrator.report.report_index import ReportIndex
from orchestrator.texts import prose

_DISCLAIMER = (
    "The order-entry workload is derived from the TPC-C specification and does not comply with "
    "it. Nothing here was audited. Do not compare these figures with what the TPC publishes, "
    "or with those of other programs. NOPM counts the New-Order transactions "
    "committed per minute of the measured window. TPC-C is a trademark of the Transaction "
    "Processing Performance Council."
)
_ONCE = (
    "Every tier has one run of every workload. A change is the ratio of the contender's figure "
    "to the baseline's. One value on a side has no interval, so every change is inconclusive "
    "and no tier is named. The long form is docs/METHOD.md."
)


def section(index: ReportIndex) -> Section:
    """The last one of a report."""
    title = "Method, and how to reproduce"
    return Section("method", title, tuple(_parts(index)))


def _parts(index: ReportIndex) -> Iterator[Part]:
    plan = index.campaign.plan
    yield Part("Method", (Paragraph(_measured(plan)),))
    if any(index.figures.is_tpcc_derived(workload.name) for workload in plan.workloads):
        yield Part("TPC-C-derived, not TPC-C", (Paragraph(_DISCLAIMER),))
    yield Part("To repeat it", tuple(_again(index.campaign)))
    counted_again = Paragraph(_counted_again(index.campaign))
    yield Part("Counted again from its raw files", (counted_again,))
    # All planned runs, so that none that was lost goes unseen.
    rows = [_run_row(index, run) for run in plan.runs]
    words = ("Tier", "Workload", "Measured from", "Outcome", "Files")
    files = Items(tuple(_files(index.campaign)))
    yield Part("Runs and their raw files", (table_of(rows, words), files))


# ------------------------------------------------------------------ the method


def _measured(plan: Plan) -> str:
    # A campaign that may grow begins with two repetitions at least.
    if plan.repeats.repetitions == 1 and not plan.repeats.looks:
        return _ONCE
    margins = wording.margins(plan.judging.margin_pct, plan.judging.p99_margin_pct)
    times = _times(plan)
    clients = _clients(plan)
    levels = _levels(plan)
    return (
        f"Every tier ran {times}, round by round. Orders are balanced, so a slow drift "
        f"favours no tier. The warm-up is recorded and not counted. {clients}A change is "
        "the ratio of contender to baseline within each repetition. So what slows down a "
        "whole repetition cancels out. The geometric mean is shown, with an interval at "
        f"{levels}. The interval is from the spread between repetitions (Student's paired "
        f"test on logarithms). Same: it is proven to lie within {margins} (two one-sided "
        "tests at 5 %). Tiers near the baseline share the 5 %. Better or worse: the "
        "interval lies on one side of no change, also after a correction for the number "
        "of comparisons. Otherwise the change is inconclusive. The long form is "
        "docs/METHOD.md."
    )


def _times(plan: Plan) -> str:
    if plan.repeats.looks:
        return _times_by_looks(plan)
    return f"every workload {plan.repeats.repetitions} times"


def _times_by_looks(plan: Plan) -> str:
    """How often runs were repeated.

    Where repetitions were added, workloads may have unlike numbers.
    """
    workloads: list[str] = []
    for load in plan.workloads:
        times = repetitions(plan, load.name)
        workloads.append(f"{load.name} {times} times")
    # The keys are numbers of repetitions after which the campaign is judged.
    fewest = min(plan.repeats.looks)
    most = max(plan.repeats.looks)
    return (
        f"{prose.listed(workloads)} (at least {fewest} times; where the decision was open, "
        f"repetitions were added, up to {most})"
    )


def _clients(plan: Plan) -> str:
    """Empty of one client; else ends in a space."""
    clients = max(profile.cluster.clients for profile in plan.profiles)
    if clients <= 1:
        return ""
    return (
        f"The load came from {clients} clients that began together. Their records are one "
        "table. Only the time in which all of them measured counts. "
    )


def _levels(plan: Plan) -> str:
    # Each workload may end at another look, and so have another level.
    shares = [share(plan, load.name) for load in plan.workloads]
    levels = wording.confidence(100 * confidence(CONFIDENCE, part) for part in shares)
    if not plan.repeats.looks:
        return levels
    return (
        f"{levels} (95 % for a campaign that is judged once; this one was judged after each "
        "repetition, and the judgements share the 5 % chance of a false answer)"
    )


# ------------------------------------------------------------------ to do it again


def _again(campaign: results.Results) -> Iterator[Paragraph | Code]:
    given = given_command(campaign)
    if given:
        yield Code(given)
    yield Paragraph(_about_again(campaign))
    yield Code(analyze(campaign))


def _about_again(campaign: results.Results) -> str:
    begin = "The command was not recorded."
    if given_command(campaign):
        folder = campaign.fingerprint["directory"]
        begin = f"Given in {folder}, where its relative paths begin."
    sentences = [begin]
    code = comparable_campaigns.revision(campaign)
    # Another revision may judge otherwise, so the one that measured is named.
    if code:
        sentences.append(f"tierbench {code} measured.")
    sentences.append(
        "plan.json holds every decision taken, fingerprint.json the machine."
    )
    sentences.append(
        "The report is made from the files of this folder alone. To make it again, without "
        "Docker:"
    )
    return " ".join(sentences)


def _counted_again(campaign: results.Results) -> str:
    """When that was done last, and what was found."""
    verified = campaign.verified
    if verified is None:
        return "Not recorded. `tierbench verify . --keep` counts again and records it."
    moment = units.format_moment(verified.time_s)
    outcome = "no difference"
    if verified.differences:
        outcome = prose.counted(verified.differences, "difference")
    sentence = f"On {moment}, by tierbench {verified.tierbench}: {outcome}."
    # The figures that were counted again are not those of this report if the checksums differ.
    if campaign.checksum and campaign.checksum != verified.checksum:
        return f"{sentence} Its plan, fingerprint or records have changed since."
    return sentence


def analyze(campaign: results.Results) -> str:
    """The command that judges the folder again, by the same SLO."""
    objectives = slo.text_of(campaign.plan.workloads)
    if objectives:
        # An SLO has `<` and `>`, by which a shell would redirect to files.
        return f"tierbench analyze . --slo {shlex.quote(objectives)}"
    return "tierbench analyze ."


# ------------------------------------------------------------------ runs and files


def _run_row(index: ReportIndex, run: Run) -> dict[str, Cell | str]:
    data = index.campaign.by_number.get(run.number)
    outcome = Cell("done")
    loss = index.campaign.loss(run)
    if loss is not None:
        outcome = absent(loss.label)
    # Relative, so that the link holds wherever the folder is copied to.
    files = Cell("none")
    if data is not None:
        folder = f"runs/{run.slug}/"
        files = Cell(folder, href=folder)
    row: dict[str, Cell | str] = {"Run": str(run.number)}
    row["Tier"] = Cell(run.profile, tier=run.profile)
    row["Workload"] = run.workload
    row["Repetition"] = str(run.repetition)
    row["Measured from"] = _begin(data)
    row["Outcome"] = outcome
    row["Files"] = files
    return row


def _begin(data: results.RunData | None) -> Cell:
    """When its measured window began."""
    window = None
    if data is not None:
        window = data.record.phase("measure")
    if window is not None:
        return Cell(units.format_moment(window.start_s))
    if data is not None and data.record.outcome == "done":
        return absent("not recorded")
    return absent("never measured")


def _files(campaign: results.Results) -> Iterator[Paragraph]:
    """What a run's folder holds, as far as any run of this campaign left it."""
    runs = campaign.runs
    yield Paragraph(
        "every figure of the run, its phases, facts and notes", "record.json"
    )
    # What no run left is not promised.
    if not all(run.intervals.empty for run in runs):
        yield Paragraph("throughput and latency, second by second", "intervals.csv")
    if not all(run.telemetry.empty for run in runs):
        yield Paragraph(
            "CPU, memory and disk counters as read, once a second", "samples.parquet"
        )
    yield Paragraph(
        "untouched output, exact commands, logs, settings as applied", "raw/"
    )
