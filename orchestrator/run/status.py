"""How a campaign stands, in words: what its last run gave, how long it takes, what it has
cost, and what would be decided now.

From its folder alone, so that it can be asked for from elsewhere. What `judging.py` has kept is
read; what it has not is judged now, with the libraries of tables that this takes.
"""

from collections.abc import Iterator
from pathlib import Path

from orchestrator.analysis import results
from orchestrator.model import Record
from orchestrator.run import campaign_time, judged_runs, status_lines
from orchestrator.run.judged_runs import Basis, JudgedRun, JudgedRuns
from orchestrator.run.outlines import CampaignOutline, RunOutline, of_record
from orchestrator.system import run_folders, store
from orchestrator.units import counted, format_seconds

SILENT_S = 900.0
# The last line of a campaign that has ended.
ENDED = "it has ended: `tierbench report` shows what was found"


def described(folder: Path, now_s: float) -> Iterator[str]:
    """Of a whole campaign, for who was away: every run that has ended, then that in progress."""
    basis = judged_runs.basis_of(folder)
    campaign = store.load_without_runs(folder)
    planned = campaign.plan.runs
    kept = judged_runs.kept(folder)
    judged = list(_judged_runs(folder, campaign, kept, basis))
    outlines: list[RunOutline] = []
    ended: list[JudgedRun] = []
    for run in judged:
        outlines.append(run.outline)
        if not _is_read(run.outline):
            ended.append(run)
    yield f"{folder.resolve()}: {len(ended)} of {counted(len(planned), 'run')}"
    for run in ended:
        yield status_lines.line_of_run(run, len(planned))
    decided = kept.lines(basis)
    if decided is None:
        decided = _decided_by_records(folder)
    outline = CampaignOutline(campaign.name, campaign.plan, campaign.gates, outlines)
    written_s = campaign_time.last_written_s(outline, folder) or now_s
    report = folder / "report.md"
    if report.is_file() and len(ended) >= len(planned):
        yield status_lines.time_and_cost(outline, written_s)
        yield from decided
        yield ENDED
        return
    silent_s = max(0.0, now_s - written_s)
    if silent_s > SILENT_S:
        yield status_lines.time_and_cost(outline, written_s, is_going=False)
    else:
        yield status_lines.time_and_cost(outline, now_s)
    yield from decided
    going = store.in_progress(folder)
    if going is not None:
        yield f"in progress: {going.name}"
    for run in judged:
        if _is_read(run.outline):
            slug = run.outline.run.slug
            yield f"in progress: {slug}, which is measured and is being read"
    yield _last_written(silent_s)


def _judged_runs(
    folder: Path, campaign: results.Results, kept: JudgedRuns, basis: Basis
) -> Iterator[JudgedRun]:
    """Those with a record: as they were kept, else from their records and tables."""
    cpus = results.machine_cpus(campaign)
    for run_folder in run_folders.present(folder, campaign.plan, []):
        judged = kept.of_run(run_folder.path.name, basis, cpus)
        if judged is not None:
            yield judged
            continue
        record = store.record_in(run_folder)
        if record is not None:
            yield _judged(record, run_folder.path, campaign)


def _judged(record: Record, folder: Path, campaign: results.Results) -> JudgedRun:
    outline = of_record(record)
    if _is_read(outline):
        return JudgedRun(outline, "", 0)  # its tables are not there yet
    from orchestrator.run import judging

    return judging.judged_run(store.load_run(folder), campaign)


def _decided_by_records(folder: Path) -> tuple[str, ...]:
    from orchestrator.run import judging

    return judging.decided_by_records(store.load(folder, tables=False))


def _last_written(silent_s: float) -> str:
    words = f"last written {format_seconds(silent_s)} ago"
    if silent_s > SILENT_S:
        return f"{words}: is it still running?"
    return words


def _is_read(outline: RunOutline) -> bool:
    """Whether the raw files of a run are being read: `recording` saves its record before.

    An interrupt ends that phase; after a kill its folder is no longer written to.
    """
    return outline.outcome == "interrupted" and outline.last_phase == "read"
