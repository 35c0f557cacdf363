"""How a campaign stands, in words: what its last run gave, how long it takes, what it has
cost, and what would be decided now.

From its folder alone, so that it can be asked for from elsewhere. Nothing is judged here: `judging`
does that when a run ends, and `tierbench analyze`. Of a run that neither has judged, with these
files and by this version, the record is shown, and what will judge it.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.analysis import results
from orchestrator.errors import TierbenchError
from orchestrator.model import Plan
from orchestrator.planning.plan import attempts
from orchestrator.run.progress import campaign_time, judged_runs, status_lines
from orchestrator.run.progress.judged_runs import Basis, JudgedRun, JudgedRuns
from orchestrator.run.progress.outlines import CampaignOutline, RunOutline, of_record
from orchestrator.system import run_folders, store, unfinished_runs
from orchestrator.texts.prose import counted
from orchestrator.units import format_moment, format_seconds

# A campaign may have been killed if it writes no file for so long. Nothing else shows it here.
SILENT_S = 900.0
# The last line of a campaign that has ended.
ENDED = "it has ended: `tierbench report` shows what was found"


@dataclass(frozen=True)
class _RecordedRun:
    """A run with a record. `judged`: None if it was not judged."""

    outline: RunOutline
    judged: JudgedRun | None = None

    @property
    def is_read(self) -> bool:
        """Whether its raw files are being read: `recording` saves its record before.

        An interrupt ends that phase; after a kill its folder is no longer written to.
        """
        outline = self.outline
        return outline.outcome == "interrupted" and outline.last_phase == "read"

    @property
    def is_interrupted(self) -> bool:
        return self.outline.outcome == "interrupted"

    @property
    def is_finished(self) -> bool:
        return self.outline.outcome == "done"

    def line(self, planned: int) -> str:
        if self.judged is None:
            return status_lines.line_of_unjudged_run(self.outline, planned)
        return status_lines.line_of_run(self.judged, planned)


def described(folder: Path, now_s: float) -> Iterator[str]:
    """The status of a whole campaign: every run that has ended, then the one in progress."""
    # Digests first: what changes while the files are read must not pass for what was judged.
    basis = judged_runs.basis_of(folder)
    campaign = store.load_without_runs(folder)
    planned = len(campaign.plan.runs)
    kept = judged_runs.kept(folder)
    runs = list(_recorded_runs(folder, campaign, kept, basis))
    ended = [run for run in runs if not run.is_read]
    yield f"{folder.resolve()}: {len(ended)} of {counted(planned, 'run')}"
    for run in ended:
        yield run.line(planned)
    outlines = [run.outline for run in runs]
    outline = CampaignOutline(campaign.name, campaign.plan, campaign.gates, outlines)
    written_s = campaign_time.last_written_s(outline, folder) or now_s
    silent_s = max(0.0, now_s - written_s)
    # `resume` reads or puts aside what was interrupted before it measures anything.
    was_interrupted = any(run.is_interrupted for run in ended)
    # The report is written last, so without it a campaign with all its runs is still judging.
    has_ended = (folder / "report.md").is_file() and len(ended) >= planned
    # One that is silent may have been killed: then time and cost ended with the last file.
    is_going = not (has_ended or was_interrupted or silent_s > SILENT_S)
    until_s = written_s
    if is_going:
        until_s = now_s
    yield status_lines.time_and_cost(outline, until_s, is_going)
    yield from _decided(kept, basis, ended, folder)
    if was_interrupted:
        yield how_to_go_on(folder)
    if has_ended:
        yield ENDED
        return
    yield from _in_progress(folder, runs)
    if was_interrupted:
        yield f"it was interrupted: the last file is of {format_moment(written_s)}"
    else:
        yield _last_written(silent_s)


def how_to_go_on(folder: Path) -> str:
    """Which command goes on with a campaign that was interrupted, and how much is finished."""
    quoted = shlex.quote(str(folder))
    resume = f"`tierbench resume {quoted}`"
    analyze = f"`tierbench analyze {quoted}`"
    try:
        plan = store.plan_of(folder)
        progress = _progress(folder, plan)
    except (TierbenchError, OSError):
        # What is wrong with its files is said by the command that reads them next.
        return f"{resume} makes the runs that are missing; {analyze} reports the others"
    # A plan that grows until its question is decided has more runs than are planned by now.
    if not progress.missing and not plan.repeats.looks:
        return f"{progress.in_words}: {analyze} reports what was found"
    if not progress.finished:
        return f"no run is finished yet: {resume} goes on"
    return (
        f"{progress.in_words}: {resume} makes the others; "
        f"{analyze} reports what is finished"
    )


def all_finished(planned: int) -> str:
    """`all 4 runs are finished`; a campaign may have only one."""
    if planned == 1:
        return "its run is finished"
    return f"all {planned} runs are finished"


@dataclass(frozen=True)
class _Progress:
    """How many runs of a plan are finished. A run and its repetition after a failure are one.

    failed: those that nothing repeats.
    """

    planned: int
    finished: int
    failed: int

    @property
    def missing(self) -> int:
        """The runs that `resume` makes."""
        return self.planned - self.finished - self.failed

    @property
    def in_words(self) -> str:
        if self.finished == self.planned:
            return all_finished(self.planned)
        those = "are finished"
        if self.finished == 1:
            those = "is finished"
        words = f"{self.finished} of {counted(self.planned, 'run')} {those}"
        if self.failed:
            words += f", {self.failed} failed"
        return words


def _progress(folder: Path, plan: Plan) -> _Progress:
    outcomes: dict[int, str] = {}
    for run_folder in run_folders.present(folder, plan, []):
        record = store.record_in(run_folder)
        if record is not None:
            outcomes[run_folder.run.number] = record.outcome
    finished = 0
    failed = 0
    all_attempts = attempts(plan)
    for runs in all_attempts:
        of_run = [outcomes.get(run.number) for run in runs]
        if "done" in of_run:
            finished += 1
        # What failed is repeated again each time that the campaign is gone on with.
        elif of_run[-1] == "failed" and not plan.repeats.retry_failed:
            failed += 1
    return _Progress(len(all_attempts), finished, failed)


def _in_progress(folder: Path, runs: Sequence[_RecordedRun]) -> Iterator[str]:
    going = unfinished_runs.in_progress(folder)
    if going is not None:
        yield f"in progress: {going.name}"
    for run in runs:
        if run.is_read:
            slug = run.outline.run.slug
            yield f"in progress: {slug}, which is measured and is being read"


def _recorded_runs(
    folder: Path, campaign: results.Results, kept: JudgedRuns, basis: Basis
) -> Iterator[_RecordedRun]:
    """The runs as they were kept, else from their records."""
    cpus = results.machine_cpus(campaign)
    for run_folder in run_folders.present(folder, campaign.plan, []):
        judged = kept.of_run(run_folder.path.name, basis, cpus)
        if judged is not None:
            yield _RecordedRun(judged.outline, judged)
            continue
        record = store.record_in(run_folder)
        if record is not None:
            yield _RecordedRun(of_record(record))


def _decided(
    kept: JudgedRuns, basis: Basis, ended: Sequence[_RecordedRun], folder: Path
) -> Iterator[str]:
    """What was decided of all finished runs, or what will judge it."""
    finished = [run for run in ended if run.is_finished]
    unjudged = [run for run in finished if run.judged is None]
    lines = kept.lines(basis)
    # Lines that were made from other files would tell of fewer runs than are shown.
    if unjudged or (finished and lines is None):
        yield status_lines.not_judged(len(unjudged), len(finished), folder)
    if lines is not None:
        yield from lines


def _last_written(silent_s: float) -> str:
    words = f"last written {format_seconds(silent_s)} ago"
    if silent_s > SILENT_S:
        return f"{words}: is it still running?"
    return words
