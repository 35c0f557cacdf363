"""`--dry-run`: what a campaign would do, take and cost. Nothing is started, no engine is asked."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import groupby

from rich.console import RenderableType
from rich.markup import escape
from rich.text import Text

from orchestrator import errors, units
from orchestrator.cli import console
from orchestrator.cli.app import App
from orchestrator.model import Plan
from orchestrator.planning import costs, durations
from orchestrator.run.forecast import Forecast, look_ahead
from orchestrator.tier import in_layout

NEVER_CHECKED = (
    "Docker engine and images: `tierbench doctor` looks at them",
    "whether the disks are what their tiers declare: a gate measures that before the first run",
)

_TRIALS = "Trials"  # of limits, behind the window
_NUMERIC = (
    *("Threads", "Warm-up", "Measured", _TRIALS, "A run", "Runs", "All", "Disks"),
    *("At least", "At most"),
)
_table = partial(console.table, right=_NUMERIC)


def show(app: App, plan: Plan, max_cost: str | None = None) -> int:
    """Prints what lies ahead, also if it costs more than it may; returns the exit code that
    starting would end with, as far as that can be told: 0, 64 or 69."""
    ahead = look_ahead(plan, *app.unasked())
    try:
        costs.check(plan, max_cost)
    except errors.UsageError as error:
        ahead = replace(ahead, problems=(*ahead.problems, error))
    planned = {
        "plan": asdict(plan, dict_factory=in_layout),
        "never_checked": NEVER_CHECKED,
    }
    cost = {"campaign_cost": costs.total(ahead.rented)}  # currency → amount
    app.out.show({**planned, **vars(ahead), **cost}, *_parts(plan, ahead))
    if any(isinstance(problem, errors.UsageError) for problem in ahead.problems):
        return errors.EXIT_USAGE
    if ahead.problems:
        return errors.EXIT_UNAVAILABLE
    return errors.EXIT_DONE


def _parts(plan: Plan, ahead: Forecast) -> Iterator[RenderableType]:
    runs = units.counted(len(plan.runs), "run")
    yield f"[bold]{escape(plan.name)}[/bold]: {runs}, {spoken(plan)}"
    for repetition, of_round in groupby(plan.runs, key=lambda run: run.repetition):
        loads = groupby(of_round, key=lambda run: run.workload)
        said = "; ".join(
            f"{load}: {', '.join(run.profile for run in of)}" for load, of in loads
        )
        yield escape(f"  round {repetition}: {said}")
    columns: tuple[str, ...] = "Workload", "Data set", "Threads", "Warm-up", "Measured"
    columns += (*([_TRIALS] if _confirms(plan) else []), "A run", "Runs", "All")
    yield _table(columns, rows=_times(plan, ahead), title="Time")
    steps = (
        (step.what, *_seconds(step.total.least_s, step.total.most_s), step.source)
        for step in ahead.steps
        if step.total.most_s
    )
    columns = "What", "At least", "At most", "By"
    yield _table(columns, rows=steps, title="All that takes time")
    for what, seconds in ahead.later:
        yield escape(f"  {what}: {units.format_seconds(seconds)}")
    yield from _loading(ahead)
    if ahead.needs:
        columns = "Tier", "What", "Where", "Needed", "There"
        yield _table(columns, rows=_space(ahead), title="Space, at most")
    columns = "Tier", "Disk", "Database", "Disks", "A month at list price"
    bought = "disks"
    if any(cost.with_vms for cost in ahead.costs):
        bought = "disks and machines"
    caption = f"what buying the {bought} would cost{'' if ahead.rented else '; nothing is rented'}"
    yield _table(columns, rows=_costs(plan, ahead), title="Tiers", caption=caption)
    if ahead.rented:
        sums = costs.total_in_words(ahead.rented) or "not known"
        caption = f"in all {sums}; {costs.MAX_COST} refuses what is more"
        columns = "Rented", "For at most", "At list price"
        yield _table(
            columns, rows=_rented(ahead), title="The campaign itself", caption=caption
        )
    yield from _checks(ahead)
    yield "Nothing was started."


def spoken(plan: Plan) -> str:
    """How long the plan takes."""
    least, most = _seconds(plan.estimate_s, costs.most_s(plan))
    return f"at least {least}, at most {most}"


def _seconds(*seconds: float) -> Iterator[str]:
    return map(units.format_seconds, seconds)


def _times(plan: Plan, ahead: Forecast) -> Iterator[Sequence[str]]:
    for cell in ahead.cells:
        load = plan.workload(cell.workload)
        if _confirms(plan):
            changed_s = [load.confirm_s]
        else:
            changed_s = []
        *times, total = _seconds(
            load.warmup_s, load.measure_s, *changed_s, cell.run_s, cell.total_s
        )
        what = cell.workload, units.named(load.dataset.parameters), str(load.threads)
        yield *what, *times, str(cell.runs), total


def _confirms(plan: Plan) -> bool:
    return any(load.confirm_s for load in plan.workloads)


def _loading(ahead: Forecast) -> Iterator[str]:
    apart = {repr(load.dataset) for load in ahead.loads}
    places = {(load.profile, repr(load.dataset)) for load in ahead.loads}
    for load in ahead.loads:
        times = durations.spoken(load)
        on = ""
        if len(ahead.loads) > len(apart):
            on = f" for {load.profile}"
        if len(ahead.loads) > len(places):
            on += f", {load.workload}"
        if load.kept:
            kept = " (it is kept from before)"
        else:
            kept = ""
        size = units.named(load.dataset.parameters)
        yield escape(f"  {load.dataset.family} ({size}) is loaded {times}{on}{kept}")


def _space(ahead: Forecast) -> Iterator[Sequence[RenderableType]]:
    for need in ahead.needs:
        needed, free = map(units.format_bytes, (need.needed_bytes, need.free_bytes))
        there = Text(free, style="" if need.is_met else "red")
        yield need.profile, need.what, need.place or "memory", needed, there


def _costs(plan: Plan, ahead: Forecast) -> Iterator[Sequence[str]]:
    for cost in ahead.costs:
        profile = plan.profile(cost.profile)
        price = cost.price
        text = "not known"
        if price is not None and cost.monthly is not None:
            text = (
                f"{cost.monthly:,.2f} {price.currency} ({price.region}, {price.as_of})"
            )
        on_vm = ""
        if cost.with_vms:
            on_vm = f" on {profile.cluster.vm}"
        what = f"{profile.tier.title}{on_vm}"
        cluster = profile.cluster
        own = [
            cluster.database,
            *(["client beside"] if cluster.client == "beside" else []),
        ]
        rate = cluster.network_bytes_per_s
        if rate:
            own.append(f"network {units.format_link_rate(rate)}")
        database = ", ".join(own)
        yield cost.profile, what, database, str(cost.disks), text


def _rented(ahead: Forecast) -> Iterator[Sequence[str]]:
    for item in ahead.rented:
        if item.price:
            amount = f"{item.amount:,.2f} {item.price.currency}"
        else:
            amount = "not known"
        yield item.title, units.format_seconds(3600 * item.hours), amount


def _checks(ahead: Forecast) -> Iterator[str]:
    yield f"{len(ahead.passed)} checks passed."
    for line in (*ahead.unchecked, *NEVER_CHECKED):
        yield f"[yellow]not checked[/yellow] {escape(line)}"
    for problem in ahead.problems:
        yield f"[red]problem[/red] {escape(problem.what)}"
        for mistake in getattr(problem, "mistakes", ()):
            yield escape(f"    {mistake.where}: {mistake.what}")
        if problem.advice:
            yield escape(f"    → {problem.advice}")
