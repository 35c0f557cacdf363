"""The commands under `tierbench prices`: asks providers' public price services."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from orchestrator.cli.common.app import App
from orchestrator.cli.common.command_making import takes
from orchestrator.errors import UNREADABLE, UnavailableError
from orchestrator.system import files, http_client

if TYPE_CHECKING:
    from orchestrator.tier_catalog.catalog import Catalog

MAX_PAGES = 50  # pages of one request; a disk family has one or two

prices = typer.Typer(
    help="Prices of the providers' own services.", no_args_is_help=True
)


@prices.callback()
def group() -> None:
    """The group of commands. Without a callback its only command would be the group itself."""


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
    megabytes for a region. Google Cloud has no such service that answers without an account."""
    from orchestrator.planning import project_files
    from orchestrator.tier_catalog import aws_prices, azure_prices, price_lists

    service = {"azure": azure_prices, "aws": aws_prices}[provider]
    rows = project_files.catalog(app.root)
    # Its default depends on the provider, so it cannot be that of the option.
    region = region or service.REGION
    url = app.price_services.get(provider, service.URL)
    app.progress.step(f"asking {service.SOURCE}")
    components = _answered(provider, url, region, currency, rows)
    if not components:
        raise UnavailableError(
            f"the price service has no disk or machine of {region} in {currency}",
            f"name the region as {provider} does, such as {service.REGION}",
        )
    # Prices change, so the list says on which day they were read.
    today = datetime.fromtimestamp(app.clock.now(), UTC).date().isoformat()
    text = price_lists.format_list(components, currency, region, today, service.SOURCE)
    folder = (app.user_files or app.root) / project_files.PRICES
    target = file or folder / f"{provider}-{region}-{currency}.yaml"
    _replace(target, text, rows)
    app.progress.done()
    app.out.print(f"{len(components)} prices of {region} in {currency}: {target}")


def _replace(target: Path, text: str, rows: Catalog) -> None:
    """Writes the list, over an older one. UsageError if it is none."""
    from orchestrator.tier_catalog import price_lists

    # Read as a campaign will read it: a list that is refused must not replace one that works.
    price_lists.with_prices(rows, {str(target): text})
    files.make_folder(target.parent)
    files.write_text(target, text, private=False)


def _answered(
    provider: str, url: str, region: str, currency: str, rows: Catalog
) -> dict[str, dict[str, Any]]:
    """Prices by catalog row. UnavailableError if the service does not answer as it should."""
    try:
        return _components(provider, url, region, currency, rows)
    except (OSError, *UNREADABLE) as error:
        raise UnavailableError(
            f"the price service of {provider} did not answer as expected: {error}",
            "try again; or give `price` in the profile, or a file with --prices",
        ) from error


def _components(
    provider: str, url: str, region: str, currency: str, rows: Catalog
) -> dict[str, dict[str, Any]]:
    """Prices by catalog row. Raises what reading an answer of another form raises."""
    from orchestrator.tier_catalog import aws_prices, azure_prices

    # Line by line, because a region's file has hundreds of megabytes.
    if provider == "aws":
        lines = http_client.public_lines(f"{url}/{region}/index.csv")
        return aws_prices.components(lines, currency, rows)
    items: list[Mapping[str, Any]] = []
    for question in azure_prices.questions(region, currency, rows):
        items += pages(question, url)
    return azure_prices.components(items, rows)


def pages(
    question: Mapping[str, str],
    url: str,
    get: Callable[..., Any] = http_client.get_public_json,
) -> Iterator[Mapping[str, Any]]:
    """The items of all pages of one answer. OSError, KeyError or TypeError if it is none."""
    answer = get(url, question)
    # An answer that always names a next page would be read for ever.
    for _ in range(MAX_PAGES):
        yield from answer["Items"]
        further = str(answer.get("NextPageLink") or "")
        if not further:
            return
        # An answer must not send this program to another host, such as one of the local network.
        if not http_client.is_at(further, url):
            raise OSError(f"its next page is at another address: {further}")
        answer = get(further)
    raise OSError(f"more than {MAX_PAGES} pages")
