"""The commands under `tierbench prices`: asks providers' public price services."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from orchestrator.cli.console import ConsoleProgress
from orchestrator.errors import UnavailableError
from orchestrator.planning import project_files
from orchestrator.system import http_client, store
from orchestrator.system.clock import SystemClock
from orchestrator.tier_catalog import azure_prices, price_lists

MAX_PAGES = 50  # of one request; a disk family has one or two

RegionOption = Annotated[str, typer.Option(help="The provider's own name of the region.")]
CurrencyOption = Annotated[str, typer.Option(help="Three letters, such as USD.")]
OutOption = Annotated[Path | None, typer.Option(help="The file; default: in profiles/prices.")]


def prices_app(root: Path, out: Console, progress: ConsoleProgress) -> Any:
    """The commands, for the program's own folder and console."""
    app = typer.Typer(help="Prices of the providers' own services.", no_args_is_help=True)

    @app.callback()
    def group() -> None:
        """Prices of the providers' own services."""

    @app.command()
    def update(
        region: RegionOption = "eastus", currency: CurrencyOption = "USD", file: OutOption = None
    ) -> None:
        """Asks Azure for its list prices of disks and writes a price list that profiles then use.

        AWS and Google Cloud have no such service that answers a small question without an account.
        """
        rows = project_files.catalog(root)
        items: list[Mapping[str, Any]] = []
        for question in azure_prices.questions(region, currency):
            progress.step(f"asking {azure_prices.URL}")
            items += pages(question)
        found = azure_prices.components(items, rows)
        if not found:
            raise UnavailableError(
                f"the price service knows no disk of {region} in {currency}",
                advice="name the region as Azure does, such as eastus or westeurope",
            )
        today = datetime.fromtimestamp(SystemClock().now(), UTC).date().isoformat()
        text = price_lists.format_list(found, currency, region, today, azure_prices.SOURCE)
        target = file or root / project_files.PRICES / f"azure-{region}-{currency}.yaml"
        price_lists.with_prices(rows, {str(target): text})
        target.parent.mkdir(parents=True, exist_ok=True)
        store.write_text(target, text)
        progress.done()
        out.print(f"{len(found)} prices of {region} in {currency}: {target}", highlight=False)

    return app


def pages(question: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    """The items of all pages of one answer. UnavailableError if the service does not answer."""
    try:
        answer = http_client.get_public_json(azure_prices.URL, question)
        for _ in range(MAX_PAGES):
            yield from answer["Items"]
            if not answer.get("NextPageLink"):
                return
            answer = http_client.get_public_json(answer["NextPageLink"])
        raise OSError(f"more than {MAX_PAGES} pages")
    except (OSError, KeyError, TypeError) as error:
        raise UnavailableError(
            f"Azure's price service did not answer as expected: {error}",
            advice="try again; or give `price` in the profile, or a file with --prices",
        ) from error
