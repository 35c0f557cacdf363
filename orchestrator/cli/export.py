"""`tierbench export`: a stored campaign in the format of another program."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from orchestrator.cli import campaign
from orchestrator.cli.options import SloOption
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.report.exports import FORMATS
from orchestrator.system import store


def command(kept: Path) -> Callable[..., None]:
    """The command; `kept`: where campaigns are unless named."""

    def export(
        folder: Annotated[Path, Argument(help="A results folder, or `latest`.")],
        form: Annotated[str, Option("--format", help=f"One of {', '.join(FORMATS)}.")],
        output: Annotated[Path | None, Option(help="A file; default: standard output.")] = None,
        slo: SloOption = None,
        results: Annotated[Path, Option(help="Where `latest` is looked for.")] = kept,
    ) -> None:
        """Writes the figures and verdicts of a campaign for CI servers and other programs."""
        if form not in FORMATS:
            raise UsageError(f"no format {form!r} is known", advice=f"one of {', '.join(FORMATS)}")
        loaded, verdict = campaign.judged(chosen(folder, results), slo)
        _write(FORMATS[form](loaded, verdict), output)

    return export


def chosen(folder: Path, results: Path) -> Path:
    """The folder itself, or the newest campaign of `results`. UsageError if there is none."""
    if str(folder) != "latest":
        return folder
    newest = store.newest(results)
    if newest is None:
        raise UsageError(f"no campaign in {results} yet", advice="run `make demo` first")
    return newest


def _write(text: str, output: Path | None) -> None:
    if output is not None:
        try:
            output.write_bytes(text.encode("utf-8"))
        except OSError as error:
            raise UnavailableError(f"{output} cannot be written: {error}") from error
        return
    try:
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.flush()
    except BrokenPipeError:
        # Who reads has seen enough (`| head`). Nothing is left for the interpreter to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
