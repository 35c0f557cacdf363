"""The doors of the program: each takes a text that a person or another program wrote.

A door may refuse a text with an error of ours, and telemetry with the OSError that is counted as a
gap. Nothing else may come out of one.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator import tier_catalog, units
from orchestrator.cli.prepare import prices as prices_command
from orchestrator.collectors import node_exporter
from orchestrator.collectors.common import node_by_node
from orchestrator.databases.yugabytedb import collector as yugabytedb
from orchestrator.design import factors, slo
from orchestrator.design.disk_matrix import MatrixCell
from orchestrator.errors import UNREADABLE, TierbenchError
from orchestrator.extensions.benchbase import results as benchbase
from orchestrator.extensions.sysbench_stock import results as stock
from orchestrator.kernel import block_devices, mounts
from orchestrator.keys import addresses
from orchestrator.load_generators import fio
from orchestrator.model import Node
from orchestrator.planning import overrides, profiles, recorded_disk, workloads
from orchestrator.run.clients import several_clients
from orchestrator.tier_catalog import aws_prices, azure_prices, price_lists
from orchestrator.yugabyte import counters
from tests import ROOT, aws_answers
from tests.azure_answers import P6_ANSWER, ULTRA_ANSWER
from tests.catalog import CATALOG
from tests.faults import hosts
from tests.plans import CLUSTER, profile_text

POINT = MatrixCell("random", 50, 4096, 8)
_LATENCY = {"mean": 1000.0, "N": 9, "bins": {"900": 4, "1080": 5}}
_WAYS = {way: {"bw_bytes": 4096, "lat_ns": _LATENCY} for way in ("read", "write")}
FIO = {"fio version": "fio-3.39", "jobs": [{"error": 0, **_WAYS}]}
_RATES = (
    "iops_read",
    "iops_write",
    "iops_mixed",
    "bytes_per_s_read",
    "bytes_per_s_write",
)
RECORDED = {
    "schema_version": 1,
    "source": "fio on a P15 in westeurope",
    "as_of": "2026-11-01",
    "limits": dict.fromkeys(_RATES, 1102.0),
    "latency": {
        "read_quantiles_s": {"0": 0.0003, "0.5": 0.0005, "1": 0.02},
        "write_quantiles_s": {"0": 0.0009, "0.5": 0.002, "1": 0.03},
    },
}
FIXTURES = ROOT / "tests/fixtures"
CLUSTERS = {
    "small": CLUSTER,
    **{
        file.stem: file.read_text()
        for file in (ROOT / "profiles/clusters").glob("*.yaml")
    },
}
PROFILE = profile_text()
WORKLOAD = (ROOT / "workloads/insert.yaml").read_text()
PRICES = {"azure/P15": {"per_disk": 38.0}, "azure/premium-v2": {"per_gib": 0.08}}


@dataclass(frozen=True)
class Door:
    """`enter` reads a text; `may` are the errors that its caller catches, beside ours."""

    name: str
    examples: tuple[str, ...]
    enter: Callable[[str], object]
    may: tuple[type[Exception], ...] = ()

    def take(self, text: str) -> object:
        """What came of the text; None if it was refused."""
        try:
            return self.enter(text)
        except TierbenchError:
            return None
        except self.may:
            return None


class PagesOfAMachine:
    """A machine whose every file is this text."""

    name = "test"

    def __init__(self, text: str) -> None:
        self._text = text

    def read(self, path: str) -> str:
        return self._text


def _profile(text: str) -> object:
    return profiles.read_profile(
        "x", text, profiles.Nameable(CLUSTERS, CATALOG), "smoke"
    )


def _tier(text: str) -> object:
    return _profile(f"question: q\ntitle: t\ncluster: small\ntier: {{{text}}}\n")


def _workload(text: str) -> object:
    return workloads.read_workload("x", text, "smoke")


def _fio(text: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        (file := Path(folder) / "fio.json").write_text(text, errors="replace")
        with several_clients.reading("fio"):
            return fio.point_figures(POINT, fio._json(file))


def _benchbase(name: str) -> Callable[[str], object]:
    """A finished execution of which one file has another text."""

    def enter(text: str) -> object:
        with tempfile.TemporaryDirectory() as folder:
            for file in (FIXTURES / "benchbase/with-attempts").iterdir():
                Path(folder, file.name).write_bytes(file.read_bytes())
            Path(folder, name).write_text(text, errors="replace")
            with several_clients.reading("BenchBase"):
                table, _ = benchbase.read_table(Path(folder))
                return [*table["latency_s"], *table["start_s"]]

    return enter


def _listed(components: Mapping[str, Any]) -> str:
    return price_lists.format_list(
        components, "USD", "westeurope", "2026-11-01", "the provider"
    )


def _price_list(text: str) -> object:
    return price_lists.with_prices(CATALOG, {"x.yaml": text}).types


def _azure(text: str) -> object:
    """As `prices update` does it: the answer, and the list that is written and read again."""

    def answered(*_: object) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise OSError("no JSON") from error  # as the HTTP client says it

    items = list(prices_command.pages({}, azure_prices.URL, answered))
    return _price_list(_listed(azure_prices.components(items, CATALOG)))


def _aws(text: str) -> object:
    return _price_list(
        _listed(aws_prices.components(text.splitlines(), "USD", CATALOG))
    )


def _override(text: str) -> object:
    # What its load generator takes is asked of it later.
    given = overrides.read([text], ["x"], "smoke", lambda *_: {})
    return workloads.read_workload("x", WORKLOAD, "smoke", "x.yaml", given).title


def _telemetry(
    read: Callable[[str], Iterable[node_by_node.Reading]],
) -> Callable[[str], object]:
    """As the sampler reads it."""
    node = Node("node-1", "database")
    return lambda text: list(
        node_by_node.each([node], lambda _: ((0.0, each) for each in read(text)))
    )


def _mounts(text: str) -> object:
    return [mount.path for mount in mounts.parsed(text)]


def _diskstats(text: str) -> Iterator[node_by_node.Reading]:
    for row in block_devices.counter_rows(PagesOfAMachine(text)).values():  # type: ignore[arg-type]
        yield from block_devices.readings(row)


def _texts(folder: str, pattern: str) -> tuple[str, ...]:
    return tuple(file.read_text() for file in sorted((ROOT / folder).glob(pattern)))


def _metrics() -> str:
    metric = {"name": "rocksdb_block_cache_hit", "value": 12}
    timer = {
        "name": "handler_latency_yb_ysqlserver_SQLProcessor_SelectStmt",
        "count": 3,
        "sum": 9,
    }
    latency = {"name": "log_sync_latency", "total_count": 4, "total_sum": 900}
    return json.dumps(
        [{"type": "tablet", "id": "a", "metrics": [metric, timer, latency]}]
    )


MOUNTS = (
    "24 30 0:22 / /proc rw,nosuid shared:13 - proc proc rw\n"
    r"30 1 259:1 / /mnt/my\040disk rw,noatime shared:1 - ext4 /dev/nvme0n1p1 rw,discard"
    + "\n"
)
DISKSTATS = (
    "   8       0 sda 4410 1217 409154 1743 1921 2341 98170 2213 0 2484 3957 0 0 0 0 12 1\n"
    " 259       0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11\n"
)


def doors() -> Iterator[Door]:
    yield Door("profile", (PROFILE, *_texts("profiles", "*.yaml")), _profile)
    yield Door(
        "tier",
        (
            "type: azure/P30",
            "type: aws/gp3, size: 500GiB, iops: 6000, throughput: 200MiB/s",
        ),
        _tier,
    )
    yield Door("workload", _texts("workloads", "*.yaml"), _workload)
    yield Door(
        "catalog",
        _texts("profiles/catalog", "*.yaml"),
        lambda text: tier_catalog.catalog.read({"x.yaml": text}),
    )
    yield Door("price list", (_listed(PRICES),), _price_list)
    answer = {"Items": [*ULTRA_ANSWER, *P6_ANSWER], "NextPageLink": None}
    caught = (OSError, *UNREADABLE)
    yield Door("Azure's prices", (json.dumps(answer),), _azure, caught)
    of_aws = aws_answers.price_list(*aws_answers.TOKYO, *aws_answers.MACHINES)
    yield Door("AWS's prices", (of_aws,), _aws, (ValueError,))
    yield Door(
        "recorded disk",
        (json.dumps(RECORDED),),
        lambda text: recorded_disk.read("x", text),
    )
    yield Door(
        "objective",
        ("p99 < 50 ms", "failures < 0.1 %, throughput > 100/s"),
        lambda t: slo.parse(t, "x"),
    )
    of_loads = partial(factors.parse, question="load")
    yield Door("sweep", ("rate=100,200,400", "threads=1,2,4"), of_loads)
    yield Door("latency at", ("70%",), factors.parse_latency_at)
    yield Door("change", ("x.threads=8", "dataset.tables=3"), _override)
    yield Door(
        "addresses", ("db-1:5433,db-2 user=a", "postgresql://a@b:1/c"), addresses.read
    )
    yield Door("bytes", ("4KiB", "1_000"), units.parse_bytes, (ValueError,))
    yield Door("bytes per second", ("125MB/s",), units.parse_bytes_per_s, (ValueError,))
    yield Door("seconds", ("1.5ms", "2 h"), units.parse_seconds, (ValueError,))
    yield Door("fio", (json.dumps(FIO),), _fio)
    stock_outputs = _texts("tests/fixtures/sysbench-1.0.20", "oltp*.out")
    yield Door("sysbench", stock_outputs, stock.parse)
    for file in sorted((FIXTURES / "benchbase/with-attempts").iterdir()):
        if file.suffix in (".csv", ".json") or "attempts" in file.name:
            yield Door(
                f"BenchBase {file.name}", (file.read_text(),), _benchbase(file.name)
            )
    yield Door(
        "node_exporter",
        _texts("tests/fixtures/node-exporter-1.5.0", "page.txt"),
        _telemetry(lambda text: node_exporter.readings(text, ["vda"])),
        (OSError,),
    )
    for name, parse in (
        ("storage", counters.storage),
        ("statements", counters.statements),
    ):
        read = _telemetry(partial(yugabytedb._readings, parse))
        yield Door(f"YugabyteDB's {name}", (_metrics(),), read, (OSError,))
    yield Door("diskstats", (DISKSTATS,), _telemetry(_diskstats), (OSError,))
    yield Door("mounts", (MOUNTS,), _mounts, (OSError,))
    for name, examples, files in hosts.of_a_kernel():
        yield Door(name, examples, _telemetry(files), (OSError,))
    for name, example, ask in hosts.of_servers():
        yield Door(name, (example,), ask, (OSError,))
    yield Door("PostgreSQL's log", (hosts.LOG,), hosts.checkpoints)
    yield Door("database of ours", (hosts.note(),), hosts.remembered)


def odd_numbers(read: object) -> list[float]:
    """The numbers in what a door gave that no measurement or limit has: negative, or no number."""
    if is_dataclass(read) and not isinstance(read, type):
        return odd_numbers([getattr(read, field.name) for field in fields(read)])
    if isinstance(read, Mapping):
        return odd_numbers(list(read.values()))
    if isinstance(read, (list, tuple)):
        return [number for part in read for number in odd_numbers(part)]
    if isinstance(read, float) and (math.isnan(read) or read < 0):
        return [read]
    return [read] if isinstance(read, int) and read < 0 else []
