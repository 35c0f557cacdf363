"""`tierbench check`: whether the TPC-C-derived data of a database are consistent.

A campaign checks after each of its runs; this command checks any database that can be reached.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from orchestrator.errors import EXIT_DONE, EXIT_INCONCLUSIVE
from orchestrator.load_generators.common import consistency
from orchestrator.model import Endpoint

HostOption = Annotated[str, typer.Option(help="Where the database listens.")]
PortOption = Annotated[int, typer.Option(help="5432 for PostgreSQL, 5433 for YugabyteDB.")]
UserOption = Annotated[str, typer.Option(help="Its password comes from PGPASSWORD.")]
DatabaseOption = Annotated[str, typer.Option(help="The database that holds the nine tables.")]
FreshOption = Annotated[bool, typer.Option(help="Also what holds only before the first run.")]


def check_command(root: Path, out: Console) -> Callable[..., None]:
    """The command, for the program's own folder and console."""
    conditions = root / "workloads" / "tpcc" / "consistency.sql"

    def check(
        host: HostOption = "127.0.0.1",
        port: PortOption = 5432,
        user: UserOption = "bench",
        database: DatabaseOption = "bench",
        fresh: FreshOption = False,
    ) -> None:
        """Evaluates the conditions of a TPC-C-derived database; exit 2 if one is broken."""
        password = os.environ.get("PGPASSWORD", "")
        endpoint = Endpoint(host, port, port, user, password, database, local_host=host)
        results = consistency.check(conditions.read_text(), endpoint, fresh=fresh)
        for result in results:
            broken = f"[red]broken by {result.violations} rows[/red]"
            out.print(f"{result.name}  {broken if result.violations else 'holds'}  {result.holds}")
        broken_any = any(result.violations for result in results)
        raise typer.Exit(EXIT_INCONCLUSIVE if broken_any else EXIT_DONE)

    return check
