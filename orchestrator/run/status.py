"""How a campaign stands, in words: what its last run gave, how long it takes, what it has
cost, and what would be decided now.

From its folder alone, so that it can be asked for from elsewhere. What `judging.py` has kept is
read; what it has not is judged now, with the libraries of tables that this takes.
"""

from collections.abc import Iterator
from pathlib import Path

from orchestrator import model
from orchestrator.analysis import results
from orchestrator.run import campaign_time, judged_runs, status_lines
from orchestrator.run.judged_runs import JudgedRun
from orchestrator.system import store
from orchestrator.units import counted, format_seconds

SILENT_S = 900.0
# The last line of a campaign that has ended.
ENDED = "it has ended: `tierbench report` shows what was found"


def described(folder: Path, now_s: float) -> Iterator[str]:
    """Of a whole campaign, for who was away: every run that has ended, then that in progress."""
    basis = judged_runs.basis_of(folder)
    campaign = store.load(folder, tables=False)
    ended: list[model.Record] = []
    read_now: list[str] = []
    for run in campaign.runs:
        if _is_read(run.record):
            read_now.append(run.record.run.slug)
        else:
            ended.append(run.record)
    planned = counted(len(campaign.plan.runs), "run")
    kept = judged_runs.kept(folder)
    yield f"{folder.resolve()}: {len(ended)} of {planned}"
    for record in ended:
        judged = kept.of_run(record.run.slug, basis, results.machine_cpus(campaign))
        if judged is None:
            judged = _judged(folder / "runs" / record.run.slug, campaign)
        yield status_lines.line_of_run(record, campaign, judged)
    decided = kept.lines(basis)
    if decided is None:
        decided = _decided_by_records(campaign)
    written_s = campaign_time.last_written_s(campaign, folder) or now_s
    report = folder / "report.md"
    if report.is_file() and len(ended) >= len(campaign.plan.runs):
        yield status_lines.time_and_cost(campaign, written_s)
        yield from decided
        yield ENDED
        return
    silent_s = max(0.0, now_s - written_s)
    if silent_s > SILENT_S:
        yield status_lines.time_and_cost(campaign, written_s, is_going=False)
    else:
        yield status_lines.time_and_cost(campaign, now_s)
    yield from decided
    going = store.in_progress(folder)
    if going is not None:
        yield f"in progress: {going.name}"
    for slug in read_now:
        yield f"in progress: {slug}, which is measured and is being read"
    yield _last_written(silent_s)


def _judged(folder: Path, campaign: results.Results) -> JudgedRun:
    """Of the run in a folder, from its tables."""
    from orchestrator.run import judging

    return judging.judged_run(store.load_run(folder), campaign)


def _decided_by_records(campaign: results.Results) -> tuple[str, ...]:
    from orchestrator.run import judging

    return judging.decided_by_records(campaign)


def _last_written(silent_s: float) -> str:
    words = f"last written {format_seconds(silent_s)} ago"
    if silent_s > SILENT_S:
        return f"{words}: is it still running?"
    return words


def _is_read(record: model.Record) -> bool:
    """Whether its raw files are being read: `recording` saves it before.

    An interrupt ends that phase; after a kill its folder is no longer written to.
    """
    if record.outcome != "interrupted" or not record.phases:
        return False
    return record.phases[-1].name == "read"
