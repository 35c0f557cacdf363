"""`--dry-run`: what a campaign would do, take and cost. Nothing is started, no engine is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from orchestrator import units
from orchestrator.cli.app import App
from orchestrator.errors import EXIT_DONE, EXIT_UNAVAILABLE, EXIT_USAGE, TierbenchError, UsageError
from orchestrator.model import Plan
from orchestrator.planning import costs, durations
from orchestrator.planning.costs import MAX_COST
from orchestrator.run.forecast import Forecast, look_ahead
from orchestrator.system.redaction import hidden_in
from orchestrator.tier import in_layout

NEVER_CHECKED = (
    "Docker engine and images: `tierbench doctor` looks at them",
    "whether the disks are what their tiers declare: a gate measures that before the first run",
)


def show(app: App, plan: Plan, as_json: bool, max_cost: str | None = None) -> int:
    """Prints what lies ahead, also if it costs more than it may; returns the exit code that
    starting would end with, as far as that can be told: 0, 64 or 69."""
    found = look_ahead(plan, *app.unasked())
    try:
        costs.check(plan, max_cost)
    except UsageError as error:
        found = replace(found, problems=(*found.problems, error))
    if as_json:
        planned = asdict(plan, dict_factory=in_layout)
        content = {"plan": planned, **vars(found), "never_checked": NEVER_CHECKED}
        content["campaign_cost"] = costs.total(found.rented)  # currency → amount
        plain = json.loads(json.dumps(content, default=_plain))
        app.out.print_json(json.dumps(hidden_in(plain)))
    else:
        for part in _parts(plan, found):
            app.out.print(part, highlight=False, soft_wrap=isinstance(part, str))
    if any(isinstance(problem, UsageError) for problem in found.problems):
        return EXIT_USAGE
    return EXIT_UNAVAILABLE if found.problems else EXIT_DONE


def _plain(value: Any) -> Any:
    """Of an error what it says, of a record its fields."""
    if not isinstance(value, TierbenchError):
        return vars(value)
    mistakes = [vars(one) for one in getattr(value, "mistakes", ())]
    said = {"what": value.what, "mistakes": mistakes, "advice": value.advice}
    return {**said, "exit_code": value.exit_code}


def _parts(plan: Plan, found: Forecast) -> Iterator[RenderableType]:
    runs = units.counted(len(plan.runs), "run")
    yield f"[bold]{escape(plan.name)}[/bold]: {runs}, {spoken(plan)}"
    yield from _order(plan)
    yield _times(plan, found)
    yield _steps(found)
    for what, seconds in found.later:
        yield escape(f"  {what}: {units.format_seconds(seconds)}")
    yield from _loading(found)
    if found.needs:
        yield _space(found)
    yield _costs(plan, found)
    if found.rented:
        yield _rented(found)
    yield from _checks(found)
    yield "Nothing was started."


def _order(plan: Plan) -> Iterator[str]:
    """A line for each round: its workloads, each with the tiers in their order."""
    for repetition, runs in groupby(plan.runs, key=lambda run: run.repetition):
        loads = groupby(runs, key=lambda run: run.workload)
        said = "; ".join(f"{load}: {', '.join(run.profile for run in of)}" for load, of in loads)
        yield escape(f"  round {repetition}: {said}")


def _times(plan: Plan, found: Forecast) -> Table:
    columns = ("Workload", "Data set", "Threads", "Warm-up", "Measured", "A run", "Runs", "All")
    table = _table("Time", *columns)
    for cell in found.cells:
        load = plan.workload(cell.workload)
        seconds = (load.warmup_s, load.measure_s, cell.run_s, cell.total_s)
        *times, total = map(units.format_seconds, seconds)
        what = escape(cell.workload), escape(units.named(load.dataset.parameters))
        table.add_row(*what, str(load.threads), *times, str(cell.runs), total)
    return table


def _steps(found: Forecast) -> Table:
    table = _table("All that takes time", "What", "At least", "At most", "By")
    for step in found.steps:
        if step.total.most_s:
            times = map(units.format_seconds, (step.total.least_s, step.total.most_s))
            table.add_row(escape(step.what), *times, escape(step.source))
    return table


def _loading(found: Forecast) -> Iterator[str]:
    apart = {repr(load.dataset) for load in found.loads}
    for load in found.loads:
        times = durations.spoken(load)
        on = f" for {load.profile}" if len(found.loads) > len(apart) else ""
        kept = " (it is kept from before)" if load.kept else ""
        size = units.named(load.dataset.parameters)
        yield escape(f"  {load.dataset.family} ({size}) is loaded {times}{on}{kept}")


def spoken(plan: Plan) -> str:
    """How long the plan takes."""
    least, most = (units.format_seconds(one) for one in (plan.estimate_s, costs.most_s(plan)))
    return f"at least {least}, at most {most}"


def _space(found: Forecast) -> Table:
    table = _table("Space, at most", "Tier", "What", "Where", "Needed", "There")
    for need in found.needs:
        needed, there = map(units.format_bytes, (need.needed_bytes, need.free_bytes))
        there = there if need.is_met else f"[red]{there}[/red]"
        where = escape(need.place or "memory")
        table.add_row(escape(need.profile), need.what, where, needed, there)
    return table


def _costs(plan: Plan, found: Forecast) -> Table:
    table = _table("Tiers", "Tier", "Disk", "Database", "Disks", "A month at list price")
    for cost in found.costs:
        profile, price = plan.profile(cost.profile), cost.price
        text = "not known"
        if price is not None and cost.monthly is not None:
            text = f"{cost.monthly:,.2f} {price.currency} ({price.region}, {price.as_of})"
        tier, database = escape(profile.tier.title), profile.cluster.database
        table.add_row(escape(cost.profile), tier, database, str(cost.disks), escape(text))
    rented = "" if found.rented else "; nothing is rented"
    table.caption = f"what buying the disks would cost{rented}"
    return table


def _rented(found: Forecast) -> Table:
    table = _table("The campaign itself", "Rented", "For at most", "At list price")
    for one in found.rented:
        amount = f"{one.amount:,.2f} {one.price.currency}" if one.price else "not known"
        hours = units.format_seconds(3600 * one.hours)
        table.add_row(escape(one.title), hours, amount)
    sums = [f"{amount:,.2f} {currency}" for currency, amount in costs.total(found.rented).items()]
    table.caption = f"in all {units.listed(sums) or 'not known'}; {MAX_COST} refuses what is more"
    return table


def _checks(found: Forecast) -> Iterator[str]:
    yield f"{len(found.passed)} checks passed."
    for line in (*found.unchecked, *NEVER_CHECKED):
        yield f"[yellow]not checked[/yellow] {escape(line)}"
    for problem in found.problems:
        yield f"[red]problem[/red] {escape(problem.what)}"
        for one in getattr(problem, "mistakes", ()):
            yield escape(f"    {one.where}: {one.what}")
        if problem.advice:
            yield escape(f"    → {problem.advice}")


_NUMERIC = "Threads", "Warm-up", "Measured", "A run", "Runs", "All", "Disks", "At least", "At most"


def _table(title: str, *columns: str) -> Table:
    table = Table(
        title=title, title_justify="left", caption_justify="left", box=None, pad_edge=True
    )
    for column in columns:
        numeric = column in _NUMERIC
        table.add_column(column, justify="right" if numeric else "left")
    return table
