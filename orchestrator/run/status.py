"""How a campaign stands, in words: what its last run gave, how long it takes, what it has
cost, and what would be decided now.

From its folder alone, so that it can be asked for from elsewhere.
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
from orchestrator.analysis.telemetry import bottlenecks, resources
from orchestrator.planning import costs
from orchestrator.planning.plan import TimeLeft
from orchestrator.run import campaign_time, judged_runs
from orchestrator.run.judged_runs import JudgedRun, JudgedRuns
from orchestrator.system import store
from orchestrator.units import counted, format_moment, format_quantity, format_seconds

SILENT_S = 900.0
# The last line of a campaign that has ended.
ENDED = "it has ended: `tierbench report` shows what was found"


def announce(campaign: Path, run: model.Run, world: powers.World) -> None:
    """Says what `run` gave and how its campaign stands. What fails here fails no campaign."""
    try:
        stored = store.load(campaign, tables=False)
        data = store.load_run(store.run_folder(campaign, run))
        judged = judged_run(data, stored)
        world.progress.note(line_of_run(data.record, stored, judged))
        decided = decision_lines(stored)
        for line in (time_and_cost(stored, world.clock.now()), *decided):
            world.progress.note(f"  {line}")
        cpus = results.machine_cpus(stored)
        judged_runs.keep(campaign, {run.slug: judged}, cpus, decided)
    except Exception as error:
        world.progress.warn(f"how the campaign stands cannot be told: {error}")


def keep(folder: Path, campaign: results.Results, verdict: Verdict) -> None:
    """Keeps what was judged of each run and of all of them, so that `described` need not do it."""
    cpus = results.machine_cpus(campaign)
    kept = judged_runs.kept(folder)
    judged: dict[str, JudgedRun] = {}
    for run in campaign.runs:
        slug = run.record.run.slug
        if kept.of_run(folder / "runs" / slug, cpus) is None:
            judged[slug] = judged_run(run, campaign)
    decided: tuple[str, ...] = ()
    if len(campaign.plan.tiers) > 1:
        decided = tuple(in_lines(campaign, verdict.decisions, verdict.cluster))
    judged_runs.keep(folder, judged, cpus, decided)


def judged_run(run: results.RunData, campaign: results.Results) -> JudgedRun:
    """What limited a run, and how many doubts it has: from its tables, if it finished."""
    record = run.record
    if record.outcome != "done":
        return JudgedRun("", 0)
    cpus = results.machine_cpus(campaign)
    limit = ""
    bottleneck = bottlenecks.bottleneck([run], cpus)
    if bottleneck:
        limit = "limit not known"
        words = limit_in_words(bottleneck.cause)
        if words:
            limit = f"limited by {words}"
    doubts = {*record.doubts, *kinds.of_run(run, resources.total(run, cpus))}
    return JudgedRun(limit, len(doubts))


def line_of_run(
    record: model.Record, campaign: results.Results, judged: JudgedRun
) -> str:
    """`run 3 of 20, premium × tpcc: 1,234/s, p99 12 ms, limited by the disk's IOPS, 2 doubts`."""
    number = f"run {record.run.number} of {len(campaign.plan.runs)}"
    title = f"{number}, {record.run.profile} × {record.run.workload}"
    if record.outcome != "done":
        return f"{title}: {record.outcome}: {record.failure or ''}"
    parts = list(_figures(record))
    if judged.limit:
        parts.append(judged.limit)
    parts.append(counted(judged.doubts, "doubt"))
    return f"{title}: {', '.join(parts)}"


def _figures(record: model.Record) -> Iterator[str]:
    """The main figures of a run, as far as it has them."""
    figures: dict[str, float] = {}
    for measurement in record.measurements:
        if measurement.scope == "all":
            figures[measurement.metric] = measurement.value
    if "throughput_per_s" in figures:
        yield f"{format_quantity(figures['throughput_per_s'], '')}/s"
    if "nopm" in figures:
        yield f"{format_quantity(figures['nopm'], '')} NOPM"
    if "latency_p99_s" in figures:
        yield f"p99 {format_quantity(figures['latency_p99_s'], 's')}"


def time_and_cost(
    campaign: results.Results, now_s: float, is_going: bool = True
) -> str:
    """How long it has taken and will take, and what it has cost so far. `now_s`: until when its
    last part has taken, which is said to go on."""
    plan = campaign.plan
    elapsed_s = campaign_time.elapsed_s(campaign, now_s)
    parts = [f"{format_seconds(elapsed_s)} so far"]
    left_s = _left_s(campaign, now_s)
    if left_s is not None:
        left = f"about {format_seconds(left_s)} left"
        if is_going:
            left += f", until {format_moment(now_s + left_s)}"
        parts.append(left)
    share = elapsed_s / max(costs.most_s(plan), 1.0)
    amount = costs.total_in_words(costs.rented(plan), share)
    if amount:
        parts.append(f"about {amount} so far")
    return ", ".join(parts)


def decision_lines(campaign: results.Results) -> tuple[str, ...]:
    """Of each workload, as the finished runs have it; none of a single tier."""
    if len(campaign.plan.tiers) < 2:
        return ()
    by_workload, cluster = decisions_so_far(campaign)
    return tuple(in_lines(campaign, by_workload, cluster))


def in_lines(
    campaign: results.Results,
    by_workload: Sequence[Decision],
    cluster: ClusterDecision | None,
) -> Iterator[str]:
    """The decisions, each as a line."""
    if cluster is not None:
        answer = cluster.tier
        if not answer and any(decision.is_open for decision in by_workload):
            answer = "open"
        loads = f"all {len(by_workload)} workloads"
        yield f"{loads}, by the runs so far: {answer or 'no answer'}"
    for decision in by_workload:
        answer = "open"
        if not decision.is_open:
            answer = campaign_list.phrase(decision, len(campaign.plan.profiles))
        yield f"{decision.workload}, by the runs so far: {answer}"


def _left_s(campaign: results.Results, now_s: float) -> float | None:
    """None after the last run."""
    left = TimeLeft()
    recorded: set[int] = set()
    ended_s = campaign_time.began_s(campaign, now_s)
    for run in campaign.runs:
        recorded.add(run.record.run.number)
        phases = run.record.phases
        if phases:
            ended_s = phases[-1].end_s
            left.took(run.record.workload, ended_s - phases[0].start_s)
    for pause in campaign.plan.pauses:
        ended_s = max(ended_s, pause.ended_s)
    ahead = [run for run in campaign.plan.runs if run.number not in recorded]
    if ahead:
        return max(0.0, left.before(ahead, campaign.plan) - (now_s - ended_s))
    return None


def described(folder: Path, now_s: float) -> Iterator[str]:
    """Of a whole campaign, for who was away: every run that has ended, then that in progress."""
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
        judged = _judged(folder / "runs" / record.run.slug, campaign, kept)
        yield line_of_run(record, campaign, judged)
    decided = kept.lines(folder)
    if decided is None:
        decided = decision_lines(campaign)
    written_s = campaign_time.last_written_s(campaign, folder) or now_s
    report = folder / "report.md"
    if report.is_file() and len(ended) >= len(campaign.plan.runs):
        yield time_and_cost(campaign, written_s)
        yield from decided
        yield ENDED
        return
    silent_s = max(0.0, now_s - written_s)
    if silent_s > SILENT_S:
        yield time_and_cost(campaign, written_s, is_going=False)
    else:
        yield time_and_cost(campaign, now_s)
    yield from decided
    going = store.in_progress(folder)
    if going is not None:
        yield f"in progress: {going.name}"
    for slug in read_now:
        yield f"in progress: {slug}, which is measured and is being read"
    yield _last_written(silent_s)


def _judged(folder: Path, campaign: results.Results, kept: JudgedRuns) -> JudgedRun:
    """Of the run in a folder: as it was kept, else from its tables."""
    judged = kept.of_run(folder, results.machine_cpus(campaign))
    if judged is None:
        judged = judged_run(store.load_run(folder), campaign)
    return judged


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
