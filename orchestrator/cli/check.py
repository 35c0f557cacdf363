"""`tierbench check`: whether the TPC-C-derived data of a database are consistent.

A campaign checks after each of its runs; this command checks any database that can be reached."""

import os
from collections.abc import Mapping
from typing import cast, get_args

import typer
from rich.markup import escape

from orchestrator.cli.app import App
from orchestrator.cli.options import takes
from orchestrator.errors import (
    EXIT_DONE,
    EXIT_INCONCLUSIVE,
    RunError,
    UnavailableError,
    UsageError,
)
from orchestrator.keys.messages import failure
from orchestrator.model import Endpoint, Tls, TlsMode


@takes(in_json=True)
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

    password = os.environ.get("PGPASSWORD", "")
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
        outcome = consistency.check(conditions.read_text(), endpoint, fresh=fresh)
    except RunError as error:  # of the server or of its tables: nothing was evaluated
        raise failure(UnavailableError, "tables not read", error=error) from error
    lines = [
        f"{each.name}  {_word(each.problem, each.violations)}  {each.holds}"
        for each in outcome.conditions
    ]
    count = f"{outcome.warehouses_checked:,} of {outcome.warehouses:,}"
    app.out.show(outcome, *lines, f"{count} warehouses checked")
    whole = all(checked.violations == 0 for checked in outcome.conditions)
    raise typer.Exit(EXIT_DONE if whole else EXIT_INCONCLUSIVE)


def _tls(environment: Mapping[str, str]) -> Tls:
    """As libpq's own variables say; else TLS is used if it is offered."""
    mode = environment.get("PGSSLMODE", "prefer").replace("disable", "off")
    if mode not in get_args(TlsMode):
        known = ", ".join(get_args(TlsMode)).replace("off", "disable")
        raise failure(UsageError, "bad PGSSLMODE", mode=mode, known=known)
    return Tls(cast(TlsMode, mode), environment.get("PGSSLROOTCERT"))


def _word(problem: str | None, violations: int | None) -> str:
    if problem:
        return f"[yellow]could not be evaluated ({escape(problem)})[/yellow]"
    if violations:
        return f"[red]broken by {violations} rows[/red]"
    return "holds"
