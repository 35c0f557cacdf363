"""`--dry-run`: what a campaign would do, take and cost, and whether what it needs answers. Nothing
is started."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from orchestrator import errors
from orchestrator.cli.common.app import App
from orchestrator.cli.measure import look_ahead_shown
from orchestrator.cli.measure.reaching import Reached, clusters_of_others, reach
from orchestrator.design import cost_limit, costs
from orchestrator.design.factors import EXISTING
from orchestrator.model import Plan
from orchestrator.parts import Parts
from orchestrator.parts.unconnected import Unconnected
from orchestrator.planning import stored_plan
from orchestrator.run.beforehand.forecast import look_ahead

_OFFLINE = "--offline: no engine, machine or cluster was contacted"


def show(
    app: App, plan: Plan, max_cost: str | None = None, offline: bool = False
) -> int:
    """Prints what lies ahead, also if it costs more than it may; returns the exit code that
    starting would end with, as far as that can be told: 0, 64 or 69. `offline`: nothing is asked
    whether it answers."""
    reached = Reached(unchecked=(_OFFLINE,))
    parts, world = app.unasked()
    if not offline:
        reached = reach(app, plan)
        parts = _with_cluster(app, plan, parts, reached)
    ahead = look_ahead(plan, parts, world)
    ahead = replace(
        ahead,
        problems=_each_once((*reached.problems, *ahead.problems)),
        unchecked=(*reached.unchecked, *ahead.unchecked),
    )
    # A plan that costs too much is shown all the same, so that one sees what makes it so.
    try:
        cost_limit.check(plan, max_cost)
    except errors.UsageError as error:
        ahead = replace(ahead, problems=(*ahead.problems, error))
    facts = {
        "plan": stored_plan.flat(plan),
        "never_checked": look_ahead_shown.NEVER_CHECKED,
        "answered": reached.answered,
        **vars(ahead),
        "campaign_cost": costs.total(ahead.rented),  # currency → amount
    }
    app.out.show(facts, *look_ahead_shown.parts(plan, ahead, reached.answered))
    # 64 goes first, because a mistake in the plan fails wherever the machines are.
    if any(problem.exit_code == errors.EXIT_USAGE for problem in ahead.problems):
        return errors.EXIT_USAGE
    if ahead.problems:
        return errors.EXIT_UNAVAILABLE
    return errors.EXIT_DONE


def _each_once(
    problems: Sequence[errors.TierbenchError],
) -> tuple[errors.TierbenchError, ...]:
    """A cluster is asked whether it answers, and checked as before a run: both may say the same."""
    words: dict[tuple[str, str], errors.TierbenchError] = {}
    for problem in problems:
        words.setdefault((problem.what, problem.advice), problem)
    return tuple(words.values())


def _with_cluster(app: App, plan: Plan, parts: Parts, reached: Reached) -> Parts:
    """Clusters that others run are checked as before a run, if all that was asked has answered."""
    if reached.problems or not clusters_of_others(plan):
        return parts
    databases = app.parts(None).databases
    database = databases.get(EXISTING)
    if database is None or not database.abilities.confirmed_by:
        return parts
    asked = database.abilities.confirmed_by(partial(_asks_later, app))
    return replace(parts, databases=Unconnected(databases, connected=asked))


def _asks_later(app: App, question: str, _may_ask: bool) -> bool:
    # A dry run does nothing that needs leave, so nobody is asked.
    app.progress.note(f"a run asks first, on a terminal: {question}")
    return True
