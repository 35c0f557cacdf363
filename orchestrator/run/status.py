"""How a campaign stands, in words: what its last run gave, how long it takes, what it has cost, and
what would be decided now. From its folder alone, so that it can be asked for from elsewhere."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from orchestrator import model, powers
from orchestrator.analysis import results
from orchestrator.analysis.campaigns import campaign_list
from orchestrator.analysis.decisions.decision import decisions_so_far
from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.telemetry import bottlenecks, resources
from orchestrator.planning import costs
from orchestrator.planning.plan import TimeLeft
from orchestrator.system import clock, store
from orchestrator.units import counted, format_moment, format_quantity, format_seconds

_SHOWN = (
    ("throughput_per_s", "{}/s"),
    ("nopm", "{} NOPM"),
    ("latency_p99_s", "p99 {}"),
)
SILENT_S = 900.0


def announce(campaign: Path, run: model.Run, world: powers.World) -> None:
    """Says what `run` gave and how its campaign stands. What fails here fails no campaign."""
    try:
        stored = store.load(campaign, tables=False)
        world.progress.note(
            of_run(store.load_run(store.run_folder(campaign, run)), stored)
        )
        for line in standing(stored, world.clock.now()):
            world.progress.note(f"  {line}")
    except Exception as error:
        world.progress.warn(f"how the campaign stands cannot be told: {error}")


def of_run(run: results.RunData, campaign: results.Results) -> str:
    """`run 3 of 20, premium × tpcc: 1,234/s, p99 12 ms, limited by disk iops, 2 doubts`."""
    record = run.record
    cpus = results.machine_cpus(campaign)
    title = f"run {record.run.number} of {len(campaign.plan.runs)}, "
    title += f"{record.run.profile} × {record.run.workload}"
    if record.outcome != "done":
        return f"{title}: {record.outcome}: {record.failure or ''}"
    figures = {m.metric: m.value for m in record.measurements if m.scope == "all"}
    said = [
        form.format(format_quantity(figures[name], "s" if "latency" in name else ""))
        for name, form in _SHOWN
        if name in figures
    ]
    limit = bottlenecks.bottleneck([run], cpus)
    if limit:
        begins = "limited by"
        if limit.cause == "unattributed":
            begins = "limit"
        said.append(f"{begins} {limit.cause.replace('_', ' ')}")
    doubts = [*record.doubts, *kinds.of_run(run, resources.total(run, cpus))]
    return f"{title}: {', '.join(said)}, {counted(len(dict.fromkeys(doubts)), 'doubt')}"


def standing(campaign: results.Results, now_s: float) -> Iterator[str]:
    """Time, cost so far, and the decisions as the finished runs have them."""
    plan = campaign.plan
    began_s = clock.from_stamp(campaign.name) or results.began_s(campaign) or now_s
    elapsed_s = max(0.0, now_s - began_s)
    left_s = _left_s(campaign, began_s, now_s)
    said = [f"{format_seconds(elapsed_s)} so far"]
    if left_s is not None:
        said.append(
            f"about {format_seconds(left_s)} left, until {format_moment(now_s + left_s)}"
        )
    share = elapsed_s / max(costs.most_s(plan), 1.0)
    amount = costs.total_in_words(costs.rented(plan), share)
    if amount:
        said.append(f"about {amount} so far")
    yield ", ".join(said)
    if len(plan.tiers) < 2:
        return
    of_each, cluster = decisions_so_far(campaign)
    if cluster is not None:
        none = "no answer"
        if any(decision.is_open for decision in of_each):
            none = "open"
        yield f"all {len(of_each)} workloads, by the runs so far: {cluster.tier or none}"
    for decision in of_each:
        if decision.is_open:
            named = "open"
        else:
            named = campaign_list.phrase(decision, len(plan.profiles))
        yield f"{decision.workload}, by the runs so far: {named}"


def _left_s(campaign: results.Results, began_s: float, now_s: float) -> float | None:
    """None after the last run."""
    left = TimeLeft()
    recorded = set[int]()
    ended_s = began_s
    for run in campaign.runs:
        recorded.add(run.record.run.number)
        phases = run.record.phases
        if phases:
            ended_s = phases[-1].end_s
            left.took(run.record.workload, ended_s - phases[0].start_s)
    ahead = [run for run in campaign.plan.runs if run.number not in recorded]
    if ahead:
        return max(0.0, left.before(ahead, campaign.plan) - (now_s - ended_s))
    return None


def described(folder: Path, now_s: float) -> Iterator[str]:
    """Of a whole campaign, for who was away: every run that has ended, then the one in progress."""
    campaign = store.load(folder, tables=False)
    ended = [run.record.run.slug for run in campaign.runs if not _is_read(run.record)]
    yield f"{folder.resolve()}: {len(ended)} of {counted(len(campaign.plan.runs), 'run')}"
    for slug in ended:
        yield of_run(store.load_run(folder / "runs" / slug), campaign)
    report = folder / "report.md"
    if report.is_file() and len(ended) >= len(campaign.plan.runs):
        yield from standing(campaign, _changed_s(report))
        yield "it has ended: `tierbench report` shows what was found"
        return
    yield from standing(campaign, now_s)
    going = store.in_progress(folder)
    if going is not None:
        yield f"in progress: {going.name}"
    for record in (run.record for run in campaign.runs if _is_read(run.record)):
        yield f"in progress: {record.run.slug}, which is measured and is being read"
    silent_s = now_s - max(
        (_changed_s(file) for file in folder.rglob("*")), default=now_s
    )
    words = f"last written {format_seconds(max(silent_s, 0.0))} ago"
    if silent_s > SILENT_S:
        yield f"{words}: is it still running?"
    else:
        yield words


def _is_read(record: model.Record) -> bool:
    """Whether its raw files are being read: `recording` saves it before. An interrupt ends that
    phase; after a kill its folder is no longer written to."""
    return record.outcome == "interrupted" and [p.name for p in record.phases][-1:] == [
        "read"
    ]


def _changed_s(file: Path) -> float:
    with suppress(OSError):  # it went meanwhile
        return file.stat().st_mtime
    return 0.0
