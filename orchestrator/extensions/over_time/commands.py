"""`tierbench history`, `compare-results` and `baseline`: what stored campaigns say together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from typer import Argument, Option

from orchestrator.cli import RESULTS
from orchestrator.cli.common import completion, forms, options as asked
from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.errors import (
    EXIT_INCONCLUSIVE,
    EXIT_WORSE,
    CutError,
    TierbenchError,
    UsageError,
)

if TYPE_CHECKING:
    from orchestrator.analysis.campaigns.campaign_list import Entry
    from orchestrator.analysis.results import Results
    from orchestrator.extensions.over_time.trend import Trend

_DATABASES = completion.databases()
NameArgument = Annotated[str, Argument(autocompletion=completion.baselines)]


@takes(shown_as=forms.OF_LISTS)
def history(
    app: App,
    profile: Annotated[str | None, asked.profile_named()] = None,
    workload: Annotated[str | None, asked.workload_named()] = None,
    database: Annotated[str | None, completion.among(_DATABASES, "on it.")] = None,
    since: str | None = None,
    show_trend: Annotated[bool, Option("--trend")] = False,
    fail_if_worse: bool = False,
    across_machines: bool = False,
    results: asked.ResultsOption = RESULTS,
) -> None:
    """Lists what was measured, observed and predicted, the newest first; with --trend, where a
    tier's rate changed."""
    from orchestrator.extensions.over_time import campaign_tables
    from orchestrator.report.rendering.terminal import TableView

    if show_trend and not (profile and workload):
        raise UsageError(
            "--trend shows one profile and one workload: give --profile and --workload"
        )
    if (fail_if_worse or across_machines) and not show_trend:
        raise UsageError(
            "--fail-if-worse and --across-machines belong to --trend: give it too"
        )
    since_s = _since(since, app.clock.now())
    entries = []
    for entry in _entries(app, results):
        if entry.is_of(profile, workload, database, since_s):
            entries.append(entry)
    if not show_trend:
        # This goes to standard error, because scripts read the empty list.
        if not entries:
            app.err.print(
                f"{escape(str(results))} has nothing that matches.\n"
                "  → `tierbench history` without these options lists all"
            )
        table = TableView(campaign_tables.campaign_list(entries))
        app.out.show(entries, table, names=[entry.folder for entry in entries])
        return
    rates = _trend(results, entries, str(profile), str(workload), across_machines)
    app.out.show(rates, TableView(campaign_tables.trend(rates)))
    if fail_if_worse and rates.worse:
        raise typer.Exit(EXIT_WORSE)
    # The newest campaign alone is far off, or left out: one more campaign answers it.
    if fail_if_worse and rates.open:
        raise typer.Exit(EXIT_INCONCLUSIVE)


def _entries(app: App, results: Path) -> Sequence[Entry]:
    """Campaigns and what extensions keep beside them, the newest first."""
    from orchestrator.system import stored_answers, stored_campaigns, wrong_names

    entries: list[Entry] = []
    folders = list(stored_campaigns.folders(results))
    for kept in stored_answers.beside_campaigns(results):
        entries.append(kept.entry)
        # An observation has a time in its name too, and would pass for a broken campaign.
        if results / kept.entry.folder in folders:
            folders.remove(results / kept.entry.folder)
    if not folders and not entries:
        raise wrong_names.no_campaign_yet(results)
    try:
        saved = stored_campaigns.baselines(results)
    # Campaigns are then listed without their names.
    except CutError as error:
        saved = {}
        problem = f"{error.what}: {error.advice}"
        app.err.print(escape(problem))
    for folder in folders:
        campaign = stored_campaigns.entry(folder, saved)
        entries.append(campaign)
        for kept in stored_answers.in_folder(folder, campaign):
            entries.append(kept.entry)
    return sorted(entries, key=_newest_first)


def _newest_first(entry: Entry) -> float:
    """What has no time is at the end."""
    if entry.began_s is None:
        return math.inf
    return -entry.began_s


def _trend(
    results: Path, entries: Sequence[Entry], profile: str, workload: str, across: bool
) -> Trend:
    from orchestrator.extensions.over_time.trend import trend
    from orchestrator.system import store

    campaigns = []
    for entry in entries:
        # `history` without --trend lists those that cannot be read, with why.
        if not entry.fault and entry.is_campaign:
            # Records alone: of a campaign only its mean counts, and reading tables takes long.
            campaigns.append(store.load_without_tables(results / entry.folder))
    allowed: frozenset[str] = frozenset()
    if across:
        allowed = frozenset(["machines"])
    rates = trend(campaigns, profile, workload, allowed)
    if rates is None:
        raise UsageError(
            f"no campaign has finished runs of {profile} × {workload} with a rate",
            "`tierbench history` lists what was measured",
        )
    return rates


def _since(text: str | None, now_s: float) -> float | None:
    """The begin of a day (UTC), or so many days before now. UsageError for another text."""
    if text is None:
        return None
    days = text.removesuffix("d")
    if days != text and days.isdigit():
        return now_s - timedelta(days=int(days)).total_seconds()
    try:
        # Folders are named by times in UTC, so its days are meant.
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
        return day.timestamp()
    except ValueError as error:
        raise UsageError(
            f"--since {text!r} is not a day", "write 2026-11-21, or 30d for days ago"
        ) from error


@takes(shown_as=forms.OF_TABLES)
def compare_results(
    app: App,
    a: asked.CampaignArgument,
    b: asked.CampaignArgument = "latest",
    margin: asked.MarginOverTimeOption = None,
    p99_margin: asked.P99MarginOverTimeOption = None,
    fail_if_worse: bool = False,
    accept_inconclusive: bool = False,
    across_machines: bool = False,
    across_tiers: bool = False,
    results: asked.ResultsOption = RESULTS,
) -> None:
    """What changed from one stored campaign to another: each tier and workload in both."""
    from orchestrator.extensions.over_time import comparing, comparison_table
    from orchestrator.report.rendering import markdown
    from orchestrator.report.rendering.terminal import TableView
    from orchestrator.system import store

    earlier = app.folder(results, a)
    later = app.folder(results, b)
    # Two names, such as `latest` and a baseline, may be of one folder.
    if earlier.resolve() == later.resolve():
        raise UsageError(
            f"{a} and {b} are the same campaign, {earlier.resolve().name}",
            "name an earlier one first; `tierbench history` lists them",
        )
    before = store.load(earlier)
    after = store.load(later)
    # Campaigns are compared only if machines and tiers are alike, unless an option allows more.
    allowed = set()
    if across_machines:
        allowed.add("machines")
    if across_tiers:
        allowed.add("tiers")
    # The others say how much campaigns of one tier differ from day to day.
    others = _stored(results, (before.name, after.name))
    compared = comparing.compare(before, after, margin, allowed, p99_margin, others)
    if not compared.deltas:
        raise UsageError(
            f"{before.name} and {after.name} share no tier and workload with "
            "figures that can be compared",
            "`tierbench history` lists what each measured",
        )
    table = comparison_table.comparison(compared)
    if app.out.form == forms.MARKDOWN:
        # `out.out`, because `show` would break lines and read brackets as styles.
        app.out.out(markdown.table(table))
    else:
        app.out.show(compared, TableView(table))
    # A tier proven worse goes before what is open, as in `compare`.
    if fail_if_worse and compared.has("worse"):
        raise typer.Exit(EXIT_WORSE)
    if compared.has("inconclusive") and not accept_inconclusive:
        raise typer.Exit(EXIT_INCONCLUSIVE)


def _stored(results: Path, but: Sequence[str]) -> Iterator[Results]:
    """The other stored campaigns that can be read; `history` lists those that cannot."""
    from orchestrator.system import store, stored_campaigns

    for folder in stored_campaigns.folders(results):
        with suppress(TierbenchError):
            if folder.name not in but:
                yield store.load_without_tables(folder)


baseline = typer.Typer(help="Names for stored campaigns, to compare later ones with.")


@baseline.command(name="set")
@takes()
def save(
    app: App,
    name: NameArgument,
    campaign: asked.CampaignArgument,
    results: asked.ResultsOption = RESULTS,
) -> None:
    """Names a campaign."""
    from orchestrator.system import stored_campaigns

    folder = stored_campaigns.save_baseline(results, name, campaign)
    app.out.print(f"{name} = {folder.name}")


@baseline.command(name="list")
@takes(shown_as=forms.OF_LISTS)
def show(app: App, results: asked.ResultsOption = RESULTS) -> None:
    """Lists all names."""
    from orchestrator.system import stored_campaigns

    saved = stored_campaigns.baselines(results)
    lines = [f"{name} = {folder}" for name, folder in saved.items()]
    if not lines:
        lines = ["no baseline yet: `tierbench admin baseline set NAME FOLDER`"]
    app.out.show(saved, *lines, names=saved)


@baseline.command(name="remove")
@takes()
def remove(
    app: App, name: NameArgument, results: asked.ResultsOption = RESULTS
) -> None:
    """Forgets a name; its campaign stays."""
    from orchestrator.system import stored_campaigns

    stored_campaigns.remove_baseline(results, name)
