"""`tierbench check`: whether the TPC-C-derived data of a database are consistent.

A campaign checks after each of its runs; this command checks any database that can be reached."""

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast, get_args

import typer
from rich.markup import escape

from orchestrator.cli.common import forms
from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.errors import (
    EXIT_DONE,
    EXIT_INCONCLUSIVE,
    RunError,
    UnavailableError,
    UsageError,
)
from orchestrator.facts import TlsMode
from orchestrator.model import Endpoint, Tls

if TYPE_CHECKING:
    from orchestrator.load_generators.common.consistency import Condition


@takes(shown_as=forms.OR_JSON)
def check(
    app: App,
    host: str = "127.0.0.1",
    port: int = 5432,
    user: str = "bench",
    database: str = "bench",
    fresh: bool = False,
) -> None:
    """Evaluates the conditions of a TPC-C-derived database; exit 2 if one is broken."""
    from orchestrator.load_generators.common import consistency

    # The password is no option: other users of the machine see command lines.
    password = os.environ.get("PGPASSWORD", "")
    # The port twice: clients of a campaign and this program may reach a server by other ports.
    endpoint = Endpoint(
        host,
        port,
        port,
        user,
        password,
        database,
        local_host=host,
        tls=_tls(os.environ),
    )
    conditions = app.root / "workloads" / "tpcc" / "consistency.sql"
    try:
        outcome = consistency.check(
            conditions.read_text(encoding="utf-8"), endpoint, fresh=fresh
        )
    # Error of the server or its tables: nothing was evaluated.
    except RunError as error:
        raise UnavailableError(
            str(error),
            "name the server and database of the nine tables with --host, "
            "--port, --user and --database. The password comes from PGPASSWORD",
        ) from error
    lines = []
    for condition in outcome.conditions:
        state = _state(condition.problem, condition.violations)
        lines.append(f"{condition.name}  {state}  {condition.holds}")
    count = f"{outcome.warehouses_checked:,} of {outcome.warehouses:,}"
    app.out.show(outcome, *lines, f"{count} warehouses checked")
    raise typer.Exit(exit_code(outcome.conditions))


def exit_code(conditions: "Iterable[Condition]") -> int:
    """Says whether every condition was evaluated and holds: EXIT_DONE, else EXIT_INCONCLUSIVE."""
    for condition in conditions:
        # One that could not be evaluated has None, which is no "holds" either.
        if condition.violations != 0:
            return EXIT_INCONCLUSIVE
    return EXIT_DONE


def _tls(environment: Mapping[str, str]) -> Tls:
    """The TLS settings of libpq's own variables. Without them TLS is used if it is offered."""
    # libpq's `disable` is `off` in the keys of a cluster.
    mode = environment.get("PGSSLMODE", "prefer").replace("disable", "off")
    modes = get_args(TlsMode)
    if mode not in modes:
        names = ", ".join(modes).replace("off", "disable")
        raise UsageError(f"PGSSLMODE is {mode!r}", f"write {names}")
    return Tls(cast(TlsMode, mode), environment.get("PGSSLROOTCERT"))


def _state(problem: str | None, violations: int | None) -> str:
    if problem:
        return f"[yellow]could not be evaluated ({escape(problem)})[/yellow]"
    if violations:
        return f"[red]broken by {violations} rows[/red]"
    return "holds"
