"""`tierbench export`: a stored campaign in the format of another program."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from typer import Option

from orchestrator.cli.options import CampaignArgument, ResultsOption, SloOption
from orchestrator.errors import UnavailableError, UsageError


def command(kept: Path) -> Callable[..., None]:
    """The command; `kept`: where campaigns are unless named."""

    def export(
        folder: CampaignArgument,
        form: Annotated[str, Option("--format", help="csv, junit or openmetrics.")],
        output: Annotated[Path | None, Option(help="A file; default: standard output.")] = None,
        slo: SloOption = None,
        results: ResultsOption = kept,
    ) -> None:
        """Writes the figures and verdicts of a campaign for CI servers and other programs."""
        from orchestrator.cli import campaign
        from orchestrator.report.exports import FORMATS
        from orchestrator.system import stored_campaigns

        if form not in FORMATS:
            raise UsageError(f"no format {form!r} is known", advice=f"one of {', '.join(FORMATS)}")
        loaded, verdict = campaign.judged(stored_campaigns.resolve(results, folder), slo)
        _write(FORMATS[form](loaded, verdict), output)

    return export


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
