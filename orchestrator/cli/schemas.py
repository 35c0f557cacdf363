"""`tierbench schema`: the JSON Schema of what a person writes, as docs/schema/ has it.

Keys, types, units and ranges are in it, so that an editor can complete and mark them. What several
keys must be to each other, and whether a name is known, only reading the file tells. Tests make it
from the records that read such files, and hold it against them.
"""

from typing import Annotated

from typer import Argument

from orchestrator import PROJECT
from orchestrator.cli import completion
from orchestrator.cli.app import App
from orchestrator.cli.options import takes
from orchestrator.errors import UsageError

KINDS = ("profile", "cluster", "workload", "price-list")
_complete = completion.completing(lambda _: KINDS)


@takes()
def schema(
    app: App, kind: Annotated[str, Argument(help=", ".join(KINDS), autocompletion=_complete)]
) -> None:
    """Prints the JSON Schema of a profile, cluster, workload or price list."""
    if kind not in KINDS:
        raise UsageError(f"no schema of {kind!r}", advice=f"there are {', '.join(KINDS)}")
    file = PROJECT / "docs" / "schema" / f"{kind}.json"
    app.out.out(file.read_text(encoding="utf-8"), end="")
