"""`tierbench report`, `export`, `status` and `verify`: of a stored campaign what was found, what
other programs take, how it stands, and whether its figures are those of its raw files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

from typer import Exit, Option

from orchestrator.cli import RESULTS
from orchestrator.cli.app import App
from orchestrator.cli.campaign_app import CampaignApp
from orchestrator.cli.options import CampaignArgument, ResultsOption, SloOption, takes
from orchestrator.errors import EXIT_DIFFERS, UnavailableError, UsageError
from orchestrator.units import counted


@takes()
def report(
    app: CampaignApp,
    campaign: CampaignArgument = "latest",
    brief: Annotated[bool, Option("--brief", help="Print what goes into a ticket.")] = False,
    as_markdown: Annotated[bool, Option("--markdown", help="The same, as Markdown.")] = False,
    results: ResultsOption = RESULTS,
) -> None:
    """Shows the newest campaign again (or the one named)."""
    from orchestrator.system import stored_campaigns

    folder = stored_campaigns.resolve(results, campaign)
    if not (brief or as_markdown):
        app.show(folder)
        return
    from orchestrator.cli.concluding import judged
    from orchestrator.report import for_the_ticket

    _write(for_the_ticket(*judged(folder), "md" if as_markdown else "txt"), None)


@takes()
def export(
    app: App,
    folder: CampaignArgument,
    form: Annotated[str, Option("--format", help="csv, junit or openmetrics.")],
    output: Annotated[Path | None, Option(help="A file; default: standard output.")] = None,
    slo: SloOption = None,
    results: ResultsOption = RESULTS,
) -> None:
    """Writes the figures and verdicts of a campaign for CI servers and other programs."""
    from orchestrator.cli import concluding
    from orchestrator.report.exports import FORMATS
    from orchestrator.system import stored_campaigns

    if form not in FORMATS:
        raise UsageError(f"no format {form!r} is known", advice=f"one of {', '.join(FORMATS)}")
    loaded, verdict = concluding.judged(stored_campaigns.resolve(results, folder), slo)
    _write(FORMATS[form](loaded, verdict), output)


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


@takes()
def status(
    app: App, campaign: CampaignArgument = "latest", results: ResultsOption = RESULTS
) -> None:
    """Says how a campaign stands, also from another terminal: reads its folder only."""
    from orchestrator.run import status
    from orchestrator.system import stored_campaigns

    for line in status.described(stored_campaigns.resolve(results, campaign), app.clock.now()):
        app.out.print(line, markup=False, highlight=False, soft_wrap=True)


@takes()
def verify(
    app: App, campaign: CampaignArgument = "latest", results: ResultsOption = RESULTS
) -> None:
    """Counts a campaign's figures again from its raw files; exit 1 if any differs."""
    from orchestrator.cli import verify
    from orchestrator.system import stored_campaigns

    count = 0
    for where, checked, differences in verify.checks(stored_campaigns.resolve(results, campaign)):
        for line in (f"{where}: {checked}", *(f"  differs: {text}" for text in differences)):
            app.out.print(line, markup=False, highlight=False, soft_wrap=True)
        count += len(differences)
    text = counted(count, "difference") if count else "no difference"
    app.out.print(text, highlight=False)
    if count:
        raise Exit(EXIT_DIFFERS)
