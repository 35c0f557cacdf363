"""`tierbench report`, `export`, `status` and `verify`: of a stored campaign what was found, what
other programs take, how it stands, and whether its figures are those of its raw files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from rich.markup import escape
from typer import Exit, Option

from orchestrator import errors
from orchestrator.cli import RESULTS
from orchestrator.cli.common import forms, options as asked, streams
from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.cli.common.run_names import campaign_and_run
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.system import files
from orchestrator.texts import foreign_text, prose

if TYPE_CHECKING:
    from orchestrator.analysis.results import Results
    from orchestrator.cli.look.verify import Check


@takes(shown_as=forms.OF_ANSWERS)
def report(
    app: CampaignApp,
    campaign: asked.CampaignArgument = "latest",
    results: asked.ResultsOption = RESULTS,
) -> None:
    """Shows the newest campaign again, or the one named; writes nothing. For CAMPAIGN/RUN it shows
    what was predicted from that run."""
    if _is_of_run(app, campaign, results):
        _show_of_run(app, campaign, results)
        return
    app.show_again(app.folder(results, campaign))


def _is_of_run(app: CampaignApp, text: str, results: Path) -> bool:
    """Whether it names a run of a campaign: `CAMPAIGN/RUN`, or the run's folder. A path may name a
    campaign, or nothing that there is."""
    if "/" not in text.rstrip("/"):
        return False
    from orchestrator.system import stored_campaigns

    # What has a plan is a campaign, however many slashes its path has.
    if stored_campaigns.at_path(results, text) is not None:
        return False
    try:
        app.folder(results, campaign_and_run(text).campaign)
    except errors.UsageError:
        # It is then refused as a campaign, which says what there is.
        return False
    return True


def _show_of_run(app: CampaignApp, text: str, results: Path) -> None:
    """What an extension keeps of a run. UsageError if none keeps anything."""
    from orchestrator.cli.common import documents
    from orchestrator.registry.installed import family
    from orchestrator.registry.references import ObjectPlace
    from orchestrator.system import store

    name, slug = campaign_and_run(text)
    campaign = store.load(app.folder(results, name))
    _require_run(campaign, name, slug)
    for owned in family("pages", dict[str, str]()).values():
        stored_page = ObjectPlace(owned.entry, owned.origin).imported()
        page = stored_page(campaign, name, slug)
        if page is not None:
            documents.show(app, page.content, page.document)
            return
    raise errors.UsageError(
        f"nothing was predicted from {text}",
        f"`tierbench predict {text}` predicts; `tierbench report {name}` shows the campaign",
    )


def _require_run(campaign: Results, name: str, slug: str) -> None:
    """UsageError if the campaign has no run of that name."""
    slugs: list[str] = []
    for run in campaign.runs:
        slugs.append(run.record.run.slug)
    if slug in slugs:
        return
    its_runs = prose.listed(prose.first_few(slugs))
    raise errors.UsageError(
        f"{name} has no run {slug}",
        f"`tierbench report {name}` shows the campaign; its runs are {its_runs}",
    )


@takes()
def export(
    app: App,
    folder: asked.CampaignArgument,
    form: Annotated[Literal["csv", "junit", "openmetrics"], Option("--format")],
    file: Path | None = None,
    slo: asked.SloOption = None,
    results: asked.ResultsOption = RESULTS,
) -> None:
    """Writes the figures and verdicts of a campaign for CI servers and other programs."""
    from orchestrator.cli.measure import concluding
    from orchestrator.report.exports import FORMATS

    loaded, verdict = concluding.judged(app.folder(results, folder), slo)
    text = foreign_text.printable(FORMATS[form](loaded, verdict))
    if file is None:
        # Other programs read it, so it is UTF-8 whatever the locale says.
        streams.write_utf_8(text)
    else:
        _write(text, file)


def _write(text: str, output: Path) -> None:
    """Into a file, or what is no file, such as a pipe, which takes it as it comes."""
    # A pipe or /dev/stdout cannot be replaced whole by a renamed file.
    if not output.exists() or output.is_file():
        files.write_named(output, text)
        return
    try:
        output.write_bytes(text.encode("utf-8", errors="backslashreplace"))
    except OSError as error:
        raise errors.UnavailableError(
            f"{output} cannot be written: {error.strerror}", "name another file"
        ) from error


@takes(shown_as=forms.OR_JSON)
def status(
    app: App,
    campaign: asked.CampaignArgument = "latest",
    follow: bool = False,
    results: asked.ResultsOption = RESULTS,
) -> None:
    """Says how a campaign stands, also from another terminal: reads its folder only."""
    from orchestrator.run.progress import status

    # A log would get the escape sequences of each drawing.
    if follow and (app.out.as_json or not app.out.is_terminal):
        raise errors.UsageError(
            "--follow needs a terminal, and shows no JSON",
            "leave it out; the campaign's own output has a line for each run",
        )
    folder = app.folder(results, campaign)
    if follow:
        _follow(app, folder)
        return
    lines = [*status.described(folder, app.clock.now())]
    app.out.show(
        {"folder": folder.resolve(), "lines": lines}, *[escape(line) for line in lines]
    )


_FOLLOWED_EVERY_S = 2.0  # a campaign writes its state as often (`live_view`)


def _follow(app: App, folder: Path) -> None:
    """Shows how a campaign stands until it has ended, in the place of what stood before: the panel
    of its own terminal while it goes on, else in lines."""
    from rich.live import Live

    from orchestrator.cli.common.live_panel import panel
    from orchestrator.run.progress import live_state, status

    # Drawn when there is something new: rich's own thread would draw four times a second.
    with Live(console=app.out, auto_refresh=False) as screen:
        while True:
            state = live_state.kept(folder, app.clock.now())
            # There is none before the first panel is drawn, when it has ended, or where it was
            # killed.
            if state is not None:
                screen.update(panel(state, app.clock.now()), refresh=True)
            else:
                lines = [*status.described(folder, app.clock.now())]
                text = "\n".join([escape(line) for line in lines])
                screen.update(text, refresh=True)
                if status.ENDED in lines:
                    return
            app.clock.sleep(_FOLLOWED_EVERY_S)


@takes(shown_as=forms.OR_JSON)
def verify(
    app: App,
    campaign: asked.CampaignArgument = "latest",
    keep: bool = False,
    results: asked.ResultsOption = RESULTS,
) -> None:
    """Counts a campaign's figures again from its raw files; exit 1 if any differs."""
    from orchestrator.cli.look import verify

    facts = []
    count = 0
    folder = app.folder(results, campaign)
    for check in verify.checks(folder):
        facts.append(check._asdict())
        count += len(check.differences)
        # Each as it is found: a campaign of many runs takes minutes.
        if not app.out.as_json:
            _print_check(check, app)
    summary = "no difference"
    if count:
        summary = prose.counted(count, "difference")
    if keep:
        verify.keep(folder, count, app.clock.now())
    app.out.show(facts, summary)
    if count:
        raise Exit(errors.EXIT_DIFFERS)


def _print_check(check: Check, app: App) -> None:
    lines = [f"{check.where}: {check.checked}"]
    lines += [f"  differs: {text}" for text in check.differences]
    for line in lines:
        app.out.print_line(line)
