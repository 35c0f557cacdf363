"""What is judged while a campaign goes on and when it has ended: what limited each run, and what
would be decided now.

From the tables of runs, once each: `judged_runs.py` keeps what came of it for `status`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestrator import model, powers
from orchestrator.analysis import results
from orchestrator.analysis.answers.limits import limit_in_words
from orchestrator.analysis.campaigns import campaign_list
from orchestrator.analysis.conclusions import ClusterDecision, Decision, Verdict
from orchestrator.analysis.decisions.decision import decisions_so_far
from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.telemetry.causes import bottlenecks
from orchestrator.analysis.telemetry.use import all_nodes
from orchestrator.run.progress import judged_runs, outlines, status_lines
from orchestrator.run.progress.judged_runs import Basis, JudgedRun
from orchestrator.run.progress.live_events import Hear, StandingFound, heard_by_nobody
from orchestrator.system import campaign_writing, store
from orchestrator.system.runs_read_before import RunsReadBefore
from orchestrator.texts.prose import all_of


def announce(
    campaign: Path,
    run: model.Run,
    world: powers.World,
    before: RunsReadBefore,
    hear: Hear = heard_by_nobody,
) -> None:
    """Says what `run` gave and how its campaign stands. What fails here fails no campaign.

    `before`: keeps the runs that were read, from one call to the next.
    """
    try:
        # The basis is taken before files are read. What is written meanwhile must not count as
        # judged.
        basis = judged_runs.basis_of(campaign)
        stored = store.load_again(campaign, before)
        data = store.load_run(campaign_writing.run_folder(campaign, run))
        judged = judged_run(data, stored)
        decided = decided_by_records(stored)
        _note(judged, stored, decided, world)
        hear(StandingFound(decided))
        cpus = results.machine_cpus(stored)
        judged_runs.keep(campaign, basis, {run.slug: judged}, cpus, decided)
    except Exception as error:
        world.progress.warn(f"the state of the campaign is not known: {error}")


def _note(
    judged: JudgedRun,
    campaign: results.Results,
    decided: Sequence[str],
    world: powers.World,
) -> None:
    runs = len(campaign.plan.runs)
    world.progress.note(status_lines.line_of_run(judged, runs))
    outline = outlines.of_campaign(campaign)
    time_and_cost = status_lines.time_and_cost(
        outline, world.clock.now(), is_going=True
    )
    for line in (time_and_cost, *decided):
        world.progress.note(f"  {line}")


def keep(
    folder: Path,
    basis: Basis,
    campaign: results.Results,
    verdict: Verdict,
    verdict_text: str,
) -> None:
    """Keeps what was judged of each run, and of all runs. `status` then need not judge them, and
    knows that verdict.json has this verdict.

    `basis`: as it was before the campaign was read. `verdict_text`: the content of verdict.json
    with this verdict.
    """
    cpus = results.machine_cpus(campaign)
    kept = judged_runs.kept(folder)
    judged: dict[str, JudgedRun] = {}
    for run in campaign.runs:
        slug = run.record.run.slug
        # A run that was judged from the same files is not read again.
        if kept.of_run(slug, basis, cpus) is None:
            judged[slug] = judged_run(run, campaign)
    decided: tuple[str, ...] = ()
    if len(campaign.plan.tiers) > 1:
        decided = tuple(in_lines(campaign, verdict.decisions, verdict.cluster))
    text = ""
    # A verdict of a part would be `report`'s answer when there are more runs.
    if judged_runs.is_whole(campaign):
        text = verdict_text
    judged_runs.keep(folder, basis, judged, cpus, decided, text)


def judged_run(run: results.RunData, campaign: results.Results) -> JudgedRun:
    """What limited a run, and how many doubts it has: from its tables, if it finished."""
    record = run.record
    outline = outlines.of_record(record)
    if record.outcome != "done":
        return JudgedRun(outline, "", 0)
    cpus = results.machine_cpus(campaign)
    # A set: what was noted in the run may be found again in its tables.
    doubts = {*record.doubts, *kinds.of_run(run, all_nodes.total(run, cpus))}
    return JudgedRun(outline, _limit(run, cpus), len(doubts))


def _limit(run: results.RunData, cpus: float | None) -> str:
    """What limited it, as a phrase; empty if nothing is said of that."""
    bottleneck = bottlenecks.bottleneck([run], cpus)
    if not bottleneck:
        return ""
    words = limit_in_words(bottleneck.cause)
    if not words:
        return "limit not known"
    return f"limited by {words}"


def decision_lines(campaign: results.Results) -> tuple[str, ...]:
    """The decision on each workload in a line, as the finished runs have it; none of a single
    tier."""
    if len(campaign.plan.tiers) < 2:
        return ()
    by_workload, cluster = decisions_so_far(campaign)
    return tuple(in_lines(campaign, by_workload, cluster))


# Causes, and doubts that only telemetry shows, may leave open what figures alone decide.
_BY_RECORDS = "(its telemetry is not read yet)"


def decided_by_records(campaign: results.Results) -> tuple[str, ...]:
    """The decisions by records alone, without tables, as while a campaign goes on: each line says
    so."""
    lines: list[str] = []
    for line in decision_lines(campaign):
        lines.append(f"{line} {_BY_RECORDS}")
    return tuple(lines)


def in_lines(
    campaign: results.Results,
    by_workload: Sequence[Decision],
    cluster: ClusterDecision | None,
) -> Iterator[str]:
    """The decisions, each as a line."""
    if cluster is not None:
        answer = cluster.tier
        # The answer is not "no answer", as further runs may still bring one.
        if not answer and any(decision.is_open for decision in by_workload):
            answer = "open"
        loads = all_of(len(by_workload), "workload")
        yield f"{loads}, by the runs so far: {answer or 'no answer'}"
    for decision in by_workload:
        answer = "open"
        if not decision.is_open:
            answer = campaign_list.phrase(decision, len(campaign.plan.profiles))
        yield f"{decision.workload}, by the runs so far: {answer}"
