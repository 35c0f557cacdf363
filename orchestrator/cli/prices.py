"""The commands under `tierbench prices`: asks providers' public price services."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from orchestrator.cli.app import App
from orchestrator.cli.options import takes
from orchestrator.errors import UNREADABLE, UnavailableError
from orchestrator.keys.messages import failure
from orchestrator.system import files, http_client

if TYPE_CHECKING:
    from orchestrator.tier_catalog.catalog import Catalog

Components = Mapping[str, Mapping[str, Any]]
MAX_PAGES = 50  # of one request; a disk family has one or two

prices = typer.Typer(help="Prices of the providers' own services.", no_args_is_help=True)
prices.callback()(lambda: None)  # without one its only command would be the group itself


@prices.command()
@takes()
def update(
    app: App,
    provider: Literal["azure", "aws"] = "azure",
    region: str = "",
    currency: str = "USD",
    file: Path | None = None,
) -> None:
    """Asks a provider for its list prices and writes a list that profiles then use.

    Of the disks and virtual machines of the catalog. AWS answers with a file of hundreds of
    megabytes for a region. Google Cloud has no such service that answers without an account.
    """
    from orchestrator.planning import project_files
    from orchestrator.tier_catalog import aws_prices, azure_prices
    from orchestrator.tier_catalog import prices as prices_of

    services = {"azure": (azure_prices, _azure), "aws": (aws_prices, _aws)}
    (service, ask), rows = services[provider], project_files.catalog(app.root)
    region = region or service.REGION
    app.progress.step(f"asking {service.SOURCE}")
    try:
        components = ask(region, currency, rows, app.price_services.get(provider, service.URL))
    except (OSError, *UNREADABLE) as error:
        raise failure(UnavailableError, "no prices", provider=provider, error=error) from error
    if not components:
        asked = {"region": region, "currency": currency, "provider": provider}
        raise failure(UnavailableError, "unknown region", **asked, known=service.REGION)
    today = datetime.fromtimestamp(app.clock.now(), UTC).date().isoformat()
    text = prices_of.format_list(components, currency, region, today, service.SOURCE)
    folder = (app.own or app.root) / project_files.PRICES
    target = file or folder / f"{provider}-{region}-{currency}.yaml"
    prices_of.with_prices(rows, {str(target): text})
    target.parent.mkdir(parents=True, exist_ok=True)
    files.write_text(target, text)
    app.progress.done()
    app.out.print(f"{len(components)} prices of {region} in {currency}: {target}")


def _azure(region: str, currency: str, rows: Catalog, url: str) -> Components:
    from orchestrator.tier_catalog import azure_prices

    questions = azure_prices.questions(region, currency, rows)
    items = [item for asked in questions for item in pages(asked, url)]
    return azure_prices.components(items, rows)


def _aws(region: str, currency: str, rows: Catalog, url: str) -> Components:
    from orchestrator.tier_catalog import aws_prices

    lines = http_client.public_lines(f"{url}/{region}/index.csv")
    return aws_prices.components(lines, currency, rows)


def pages(
    question: Mapping[str, str], url: str, get: Callable[..., Any] = http_client.get_public_json
) -> Iterator[Mapping[str, Any]]:
    """The items of all pages of one answer. OSError, KeyError or TypeError if it is none."""
    answer = get(url, question)
    for _ in range(MAX_PAGES):
        yield from answer["Items"]
        further = str(answer.get("NextPageLink") or "")
        if not further:
            return
        if not further.startswith(url):
            raise OSError(f"its next page is elsewhere: {further}")
        answer = get(further)
    raise OSError(f"more than {MAX_PAGES} pages")
