"""The commands under `tierbench prices`: asks providers' public price services."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import typer

from orchestrator.cli.app import App
from orchestrator.cli.options import takes
from orchestrator.errors import UNREADABLE, UnavailableError
from orchestrator.keys.messages import failure
from orchestrator.system import files, http_client

MAX_PAGES = 50  # of one request; a disk family has one or two

prices = typer.Typer(
    help="Prices of the providers' own services.", no_args_is_help=True
)
prices.callback()(
    lambda: None
)  # without one its only command would be the group itself


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
    from orchestrator.tier_catalog import aws_prices, azure_prices
    from orchestrator.tier_catalog import prices as prices_of

    service = {"azure": azure_prices, "aws": aws_prices}[provider]
    rows = project_files.catalog(app.root)
    region = region or service.REGION
    url = app.price_services.get(provider, service.URL)
    app.progress.step(f"asking {service.SOURCE}")
    try:
        if provider == "azure":
            questions = azure_prices.questions(region, currency, rows)
            items = [item for asked in questions for item in pages(asked, url)]
            components = azure_prices.components(items, rows)
        else:
            lines = http_client.public_lines(f"{url}/{region}/index.csv")
            components = aws_prices.components(lines, currency, rows)
    except (OSError, *UNREADABLE) as error:
        raise failure(
            UnavailableError, "no prices", provider=provider, error=error
        ) from error
    if not components:
        told = {"region": region, "currency": currency, "provider": provider}
        raise failure(UnavailableError, "unknown region", **told, known=service.REGION)
    today = datetime.fromtimestamp(app.clock.now(), UTC).date().isoformat()
    text = prices_of.format_list(components, currency, region, today, service.SOURCE)
    folder = (app.own or app.root) / project_files.PRICES
    target = file or folder / f"{provider}-{region}-{currency}.yaml"
    prices_of.with_prices(rows, {str(target): text})
    target.parent.mkdir(parents=True, exist_ok=True)
    files.write_text(target, text)
    app.progress.done()
    app.out.print(f"{len(components)} prices of {region} in {currency}: {target}")


def pages(
    question: Mapping[str, str],
    url: str,
    get: Callable[..., Any] = http_client.get_public_json,
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
