"""`tierbench prices update` against a server on this machine that answers in pages, as recorded."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from typer.testing import CliRunner

from orchestrator import tier_catalog
from orchestrator.cli.common.app import App
from orchestrator.cli.main import program
from orchestrator.errors import UnavailableError
from tests import aws_answers
from tests.azure_answers import P6_ANSWER, V2_ANSWER
from tests.catalog import CATALOG, at


@dataclass
class Service:
    url: str
    items: tuple[Any, ...] = (*P6_ANSWER, *V2_ANSWER)
    questions: list[dict[str, list[str]]] = field(default_factory=list)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """The disks that were recorded, two items a page."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = parse_qs(urlparse(self.path).query)
            found.questions.append(asked)
            wanted = asked["$filter"][0]
            items = [one for one in found.items if f"'{one['productName']}'" in wanted]
            skip = int(asked.get("$skip", ["0"])[0])
            query = urlparse(self.path).query.partition("&$skip")[0]
            more = f"{found.url}?{query}&$skip={skip + 2}"
            content: dict[str, Any] = {
                "Items": items[skip : skip + 2],
                "NextPageLink": more if len(items) > skip + 2 else None,
            }
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    found = Service(f"http://127.0.0.1:{server.server_port}/api/retail/prices")
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield found
    server.shutdown()
    server.server_close()


def update(service: Service, file: Path) -> Any:
    options = ["--region", "ukwest", "--currency", "GBP", "--file", str(file)]
    app = App(price_services={"azure": service.url})
    return CliRunner().invoke(program, ["prices", "update", *options], obj=app)


def test_writes_a_list_that_profiles_then_use(service: Service, tmp_path: Path) -> None:
    file = tmp_path / "lists" / "azure.yaml"
    done = update(service, file)
    assert done.exit_code == 0, done.output
    assert "2 prices of ukwest in GBP" in " ".join(done.output.split())
    rows = tier_catalog.with_prices(CATALOG, {file.name: file.read_text()})
    wanted = at("azure/premium-v2", "250GiB", iops=10000, throughput="250MB/s")
    price = tier_catalog.choose(rows, wanted, "tier").tier.price
    assert price and (price.monthly, price.currency, price.region) == (
        54.57,
        "GBP",
        "ukwest",
    )
    assert "Azure Retail Prices API" in price.source
    assert service.questions[0]["currencyCode"] == ["'GBP'"]
    assert (
        sum("$skip" in question for question in service.questions) == 2
    )  # of five items


@dataclass
class Files:
    """`files`: path → what the server on this machine has there; `short`: announced bytes that
    never come."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    short: bytes = b""


@pytest.fixture
def aws_list(monkeypatch: pytest.MonkeyPatch) -> Iterator[Files]:
    there = Files()

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = there.files.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"") + len(there.short)))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    there.url = (
        f"http://127.0.0.1:{server.server_port}/offers/v1.0/aws/AmazonEC2/current"
    )
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield there
    server.shutdown()
    server.server_close()


TOKYO = "/offers/v1.0/aws/AmazonEC2/current/ap-northeast-1/index.csv"


def update_aws(service: Files, file: Path) -> Any:
    options = ["--provider", "aws", "--region", "ap-northeast-1", "--file", str(file)]
    app = App(price_services={"aws": service.url})
    return CliRunner().invoke(program, ["prices", "update", *options], obj=app)


def test_an_aws_list_is_written_from_the_file_of_a_region(
    aws_list: Files, tmp_path: Path
) -> None:
    listed = (*aws_answers.TOKYO, aws_answers.MACHINES[1])
    aws_list.files[TOKYO] = aws_answers.price_list(*listed).encode()
    file = tmp_path / "aws.yaml"
    done = update_aws(aws_list, file)
    assert done.exit_code == 0, done.output
    assert "7 prices of ap-northeast-1 in USD" in " ".join(done.output.split())
    rows = tier_catalog.with_prices(CATALOG, {file.name: file.read_text()})
    wanted = at("aws/gp3", "100GiB", iops=4000, throughput="225MiB/s")
    price = tier_catalog.choose(rows, wanted, "tier").tier.price
    assert price and (price.monthly, price.region) == (20.40, "ap-northeast-1")
    assert "AWS Price List" in price.source


@pytest.mark.parametrize(
    ("body", "short", "said"),
    [
        (None, b"", "404"),
        (b"<html>moved</html>", b"", "no column"),
        (aws_answers.price_list(*aws_answers.TOKYO).encode(), b"more", "4 bytes early"),
        (
            aws_answers.price_list(*aws_answers.NOT_OF_A_REGION).encode(),
            b"",
            "has no disk",
        ),
    ],
)
def test_an_aws_answer_that_is_not_whole_writes_nothing(
    aws_list: Files, tmp_path: Path, body: bytes | None, short: bytes, said: str
) -> None:
    aws_list.short, aws_list.files = short, {TOKYO: body} if body is not None else {}
    done = update_aws(aws_list, tmp_path / "aws.yaml")
    assert isinstance(done.exception, UnavailableError)
    assert said in done.exception.what
    assert not list(tmp_path.iterdir())


def test_a_provider_without_such_a_service_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        program, ["prices", "update", "--provider", "gcp"], obj=App()
    )
    assert done.exit_code and "'gcp' is not one of 'azure'" in done.output
    assert not list(tmp_path.iterdir())


def test_another_answer_is_told_and_writes_nothing(
    service: Service, tmp_path: Path
) -> None:
    service.items = ({"productName": "Ultra Disks", "type": "Consumption"},)
    done = update(service, tmp_path / "azure.yaml")
    assert isinstance(done.exception, UnavailableError)
    assert (
        "the price service of azure did not answer as expected" in done.exception.what
    )
    assert not list(tmp_path.iterdir())


def test_a_region_without_disks_writes_nothing(
    service: Service, tmp_path: Path
) -> None:
    service.items = ()
    done = update(service, tmp_path / "azure.yaml")
    assert isinstance(done.exception, UnavailableError)
    assert not list(tmp_path.iterdir())


def test_a_listed_price_says_for_how_long_it_is() -> None:
    listed = CliRunner().invoke(
        program, ["tiers", "list", "--provider", "azure"], obj=App()
    )
    assert listed.exit_code == 0
    assert "135.17/disk USD a month" in listed.output
