"""`tierbench schema`: the JSON Schema of what a person writes, for editors and other programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from rich.console import Console
from typer import Argument

from orchestrator.errors import UsageError
from orchestrator.planning import json_schema


def command(out: Console) -> Callable[..., None]:
    def schema(kind: Annotated[str, Argument(help=f"{', '.join(json_schema.FILES)}.")]) -> None:
        """Prints the JSON Schema of a profile, cluster, workload or price list."""
        if kind not in json_schema.FILES:
            raise UsageError(
                f"no schema of {kind!r}", advice=f"there are {', '.join(json_schema.FILES)}"
            )
        out.out(json_schema.of(kind), end="", highlight=False)

    return schema
