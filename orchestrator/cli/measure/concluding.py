"""From a results folder to verdict and report: of a campaign that has ended, or goes on."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator import errors, model, powers, report
from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.common.app import App
from orchestrator.cli.measure import reading
from orchestrator.design import slo
from orchestrator.load_generators import load_generators
from orchestrator.parts import MeasuredPoints
from orchestrator.run.progress import judged_runs, judging
from orchestrator.system import campaign_writing, files, store, unfinished_runs
from orchestrator.texts.prose import counted

# Pages of a campaign that goes on: none in its first minutes. Then pages take a 200th of its time
# at most, because runs wait while one is made.
_FIRST_PAGE_S = 300.0
_PAGE_PART = 200
_PAGE_S = 600.0  # longest time for a page


@dataclass(frozen=True)
class ReportPaths:
    """The files of a report, in its results folder."""

    markdown: Path
    html: Path
    charts: tuple[Path, ...]


@dataclass(frozen=True)
class Conclusion:
    """A campaign as it was judged, and where its report was written."""

    campaign: Results
    verdict: Verdict
    report: ReportPaths


def conclude(
    folder: Path, objectives: str | None = None, cache: Path | None = None
) -> Conclusion:
    """Makes verdict and report of a results folder, from its files alone. `objectives`: an SLO to
    judge by instead of the plan's. `cache`: as of `report.files`. NotWrittenError."""
    basis = None
    if objectives is None:
        # The basis is taken before the files are read. What is written meanwhile is not in the
        # verdict, and must not be in its digest.
        basis = judged_runs.basis_of(folder)
    campaign, verdict = found(folder, objectives)
    report = keep(campaign, verdict, folder, cache, basis)
    return Conclusion(campaign, verdict, report)


def found(folder: Path, objectives: str | None = None) -> tuple[Results, Verdict]:
    """What `conclude` writes, of which nothing is written: with a note if planned runs have not
    ended."""
    campaign, verdict = judged(folder, objectives)
    ended = len(campaign.runs)
    plan = campaign.plan
    if ended < len(plan.runs):
        planned = counted(len(plan.runs), "planned run")
        unfinished = model.Note("unfinished", f"{ended} of {planned} have ended")
        plan = replace(plan, notes=(*plan.notes, unfinished))
        campaign = replace(campaign, plan=plan)
    return campaign, verdict


def keep(
    campaign: Results,
    verdict: Verdict,
    folder: Path,
    cache: Path | None = None,
    basis: judged_runs.Basis | None = None,
) -> ReportPaths:
    """Writes verdict and report into the results folder. NotWrittenError. `cache`: as of
    `conclude`. `basis`: of what the verdict was made from, taken before that was read; None if it
    was judged by another SLO than the plan's, of which nothing is kept."""
    with files.keeping("the report of this answer"):
        text = campaign_writing.save_verdict(folder, verdict)
        if basis is not None:
            judging.keep(folder, basis, campaign, verdict, text)
        return write_report(campaign, verdict, folder, cache)


def write_report(
    campaign: Results, verdict: Verdict, folder: Path, cache: Path | None = None
) -> ReportPaths:
    """Writes the report, over an older one. NotWrittenError. `cache`: as of `report.files`."""
    texts = report.files(campaign, verdict, cache)
    files.write_below(folder, texts)
    charts = [folder / path for path in texts if path.startswith("charts/")]
    return ReportPaths(
        markdown=folder / report.MARKDOWN,
        html=folder / report.PAGE,
        charts=tuple(charts),
    )


def judged(folder: Path, objectives: str | None = None) -> tuple[Results, Verdict]:
    """Results and verdict. Nothing is written."""
    campaign = store.load(folder)
    workloads = slo.applied(campaign.plan.workloads, objectives, reading.SLO)
    plan = replace(campaign.plan, workloads=workloads)
    so_far = dict(_so_far(campaign, folder))
    campaign = replace(
        campaign, plan=plan, so_far=so_far, checksum=store.checksum(folder)
    )
    return campaign, judge(campaign)


def _so_far(
    campaign: Results, folder: Path
) -> Iterator[tuple[int, tuple[model.Measurement, ...]]]:
    """The figures so far of unfinished runs that measure several points, and whose limits nobody
    changed."""
    finished = {data.record.run.number for data in campaign.done}
    for run in campaign.plan.runs:
        workload = campaign.plan.workload(run.workload)
        points = _points(workload.generator)
        if run.number in finished or points is None:
            continue
        run_folder = folder / "runs" / run.slug
        # A file that is just being written may be cut; the next page has its figures.
        with suppress(errors.TierbenchError):
            if not unfinished_runs.limit_changes(run_folder):
                yield run.number, points.so_far(workload, run_folder / "raw")


def _points(generator: str) -> MeasuredPoints | None:
    """What reads the points so far; None if the generator has none, or is not installed here."""
    member = load_generators().get(generator)
    if member is None:
        return None
    return member.abilities.points


def page_writer(app: App, world: powers.World) -> Callable[[Path], None]:
    """What makes the report of a campaign anew after a run, so that an open page shows where it
    stands; skipped while that would take more than a part of the time. By a program of its own,
    because it needs more memory than the campaign. What fails is said alone."""
    due_s = world.clock.monotonic() + _FIRST_PAGE_S
    # The program has this cache, or it would make anew what all pages have in common.
    environment = {"TIERBENCH_CACHE": str(app.cache.resolve())}

    def write(folder: Path) -> None:
        nonlocal due_s
        began_s = world.clock.monotonic()
        if began_s < due_s:
            return
        why = _page_failure(folder, environment, app.shell)
        if why:
            world.progress.warn(f"the report so far cannot be made: {why}")
        ended_s = world.clock.monotonic()
        # None is made for 200 s after a page that took a second.
        due_s = ended_s + _PAGE_PART * (ended_s - began_s)

    return write


def _page_failure(
    folder: Path, environment: Mapping[str, str], shell: powers.Shell
) -> str:
    """Makes the report; returns why it cannot be made, or nothing."""
    # This interpreter runs it, because a `tierbench` on the PATH may be another release.
    argv = [sys.executable, "-m", "orchestrator", "analyze", str(folder.resolve())]
    try:
        done = shell.run(argv, timeout_s=_PAGE_S, env=environment)
    except errors.TierbenchError as error:
        return error.what
    if not done.exit_code:
        return ""
    # The last line of a traceback has the error.
    words = done.err.strip() or f"exit code {done.exit_code}"
    return words.splitlines()[-1]
