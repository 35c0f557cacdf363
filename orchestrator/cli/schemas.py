"""`tierbench schema`: the JSON Schema of what a person writes, for editors and other programs."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from orchestrator.cli.app import App
from orchestrator.cli.options import takes
from orchestrator.errors import UsageError
from orchestrator.planning import json_schema


@takes()
def schema(
    app: App, kind: Annotated[str, Argument(help=f"{', '.join(json_schema.FILES)}.")]
) -> None:
    """Prints the JSON Schema of a profile, cluster, workload or price list."""
    if kind not in json_schema.FILES:
        known = f"there are {', '.join(json_schema.FILES)}"
        raise UsageError(f"no schema of {kind!r}", advice=known)
    app.out.out(json_schema.of(kind), end="", highlight=False)
