"""Turns a workload into BenchBase's XML configuration, and says what its loader must have made.

The same YAML drives the built-in workload and BenchBase; `bind` converts one to the other.
What BenchBase cannot do is refused here, before anything is started. No secret is in the XML."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.design import tpcc_data
from orchestrator.errors import KeyPlace, Mistake, UsageError, require_none
from orchestrator.keys import addresses, shipped_yaml
from orchestrator.load_generators.common.client import jdbc_options
from orchestrator.load_generators.common.options import mistakes
from orchestrator.load_generators.common.rules import WorkloadRules
from orchestrator.model import (
    TLS_IF_OFFERED,
    Cluster,
    Dataset,
    Workload,
)
from orchestrator.powers import World

NAME = "benchbase"
TEMPLATE = "benchbase/tpcc.xml.jinja"
FAMILY = "benchbase-tpcc"
YUGABYTEDB_DDL = "/workloads/benchbase/yugabytedb.sql"

TERMINALS_PER_WAREHOUSE = 10
MAX_TERMINALS = 1_000
_DEFAULTS: Mapping[str, Any] = {
    "isolation": "read committed",
    "weights": "45,43,4,4,4",
    "arrival_rate": 0,
    "max_attempts": 10,  # the built-in workload has the same
}
# No option is `seed`: BenchBase would start all terminals with the same random numbers. So data and
# keys differ from run to run.
_OPTIONS = ("think", *_DEFAULTS)

_TPCC = shipped_yaml.shipped(__package__, "tpcc.yaml")
TYPES: Sequence[Mapping[str, Any]] = _TPCC["types"]


@dataclass(frozen=True)
class JdbcDriver:
    """A JDBC driver. `type` is BenchBase's name of the database; `spread` is the URL option that
    spreads connections over several nodes."""

    type: str
    class_name: str
    scheme: str
    spread: str


POSTGRESQL = JdbcDriver(
    "POSTGRES", "org.postgresql.Driver", "postgresql", "loadBalanceHosts=true"
)
YUGABYTEDB = JdbcDriver(
    "YUGABYTE", "com.yugabyte.Driver", "yugabytedb", "load-balance=true"
)


@dataclass(frozen=True)
class BenchBaseSettings:
    """The load in the XML: of `workload`, whose options all have values. One that thinks, with
    keying and think times, has ten terminals per warehouse. `arrival_rate`: transactions per
    second, 0 for a closed loop."""

    workload: Workload
    warehouses: int
    terminals: int
    arrival_rate: float
    weights: tuple[int, ...]

    @property
    def rate(self) -> str:
        """The XML's rate."""
        if self.arrival_rate:
            return f"{self.arrival_rate:g}"
        # BenchBase's sample, 10000, is a closed loop that drops transactions.
        return "unlimited"

    @property
    def lead_in_s(self) -> int:
        """The time from BenchBase's start of measuring to our window: the longest keying time."""
        if not self.workload.thinks:
            return 0
        # BenchBase leaves out transactions that were being keyed in when it began to measure.
        longest_ms: int = max(kind["keying_ms"] for kind in TYPES)
        return longest_ms // 1000

    @property
    def warehouses_reached(self) -> int:
        """How many warehouses are used: each of BenchBase's terminals stays at one warehouse."""
        return min(self.terminals, self.warehouses)


def bind(workload: Workload) -> Workload:
    """The built-in TPC-C-derived workload as BenchBase's, data set too. UsageError for others."""
    if workload.dataset.family not in (tpcc_data.FAMILY, FAMILY):
        raise UsageError(
            f"BenchBase cannot run {workload.name}: it is used for the "
            "TPC-C-derived workload only",
            advice="leave out --generator (GENERATOR), or take the workload tpcc",
        )
    data = Dataset(FAMILY, workload.dataset.parameters, like=tpcc_data.FAMILY)
    return replace(workload, generator=NAME, script=TEMPLATE, dataset=data)


def check(workload: Workload) -> None:
    """UsageError listing what it cannot do, however many clients share the terminals."""
    # There are so many clients that each has one terminal: the number is checked when it is known.
    settings(replace(workload, threads=1), parts=2**31)


def settings(workload: Workload, part: int = 1, parts: int = 1) -> BenchBaseSettings:
    """Reads BenchBase's settings from `workload`. UsageError lists everything it cannot do. Of
    terminals that think, whose number the warehouses give, one of several clients gets its part;
    `workload` has the other parts already."""
    _refuse(workload, _mistakes(workload))
    workload = replace(workload, options={**_DEFAULTS, **workload.options})
    warehouses = int(workload.dataset.parameters["warehouses"])
    terminals = workload.threads
    if workload.thinks:
        # The first clients have one more, if they cannot be equal.
        terminals = (TERMINALS_PER_WAREHOUSE * warehouses + parts - part) // parts
    weights = []
    for weight in str(workload.options["weights"]).split(","):
        weights.append(int(weight))
    result = BenchBaseSettings(
        workload=workload,
        warehouses=warehouses,
        terminals=terminals,
        arrival_rate=float(workload.options["arrival_rate"]),
        weights=tuple(weights),
    )
    _refuse(workload, _contradictions(result))
    return result


def _refuse(workload: Workload, wrong: Iterable[tuple[str, str]]) -> None:
    place = KeyPlace(f"workloads/{workload.name}.yaml")
    what = f"BenchBase cannot run {workload.name} as its file asks"
    advice = "correct the file, or leave out --generator (GENERATOR)"
    mistakes: list[Mistake] = []
    for key, text in wrong:
        mistakes.append(Mistake.at(place.below_path(key), text))
    require_none(mistakes, what, advice)


def _mistakes(workload: Workload) -> Iterator[tuple[str, str]]:
    yield from mistakes(workload, {"options": _OPTIONS, "dataset": ("warehouses",)})
    if "warehouses" not in workload.dataset.parameters:
        yield "dataset.warehouses", "this key is missing"
    times_s = {"warmup": workload.warmup_s, "measure": workload.measure_s}
    for key, seconds in times_s.items():
        if seconds != int(seconds):
            yield key, f"BenchBase counts whole seconds (given: {seconds:g} s)"


def render(
    template: str, settings: BenchBaseSettings, cluster: Cluster, driver: JdbcDriver
) -> str:
    """Returns the XML for `cluster`. BenchBase reads the password from PGPASSWORD."""
    # Whoever only asks what a workload may set does not wait for it.
    from jinja2 import Environment, StrictUndefined

    # The URL has `&`, which XML reserves.
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True
    )
    ddl = None
    if cluster.database == "yugabytedb":
        ddl = YUGABYTEDB_DDL
    page = environment.from_string(template)
    return page.render(
        settings=settings,
        types=TYPES,
        driver=driver,
        url=_url(cluster, driver),
        user=cluster.endpoints[0].user,
        ddl=ddl,
    )


def _url(cluster: Cluster, driver: JdbcDriver) -> str:
    hosts: list[str] = []
    for endpoint in cluster.endpoints:
        hosts.append(str(addresses.Server(endpoint.host, endpoint.port)))
    # The second option lets the driver send a batch of rows as one INSERT.
    options = ["ApplicationName=tierbench", "reWriteBatchedInserts=true"]
    if cluster.tls != TLS_IF_OFFERED:
        options += jdbc_options(cluster.tls)
    if len(cluster.endpoints) > 1:
        options.append(driver.spread)
    database = cluster.endpoints[0].database
    return f"jdbc:{driver.scheme}://{','.join(hosts)}/{database}?{'&'.join(options)}"


def _contradictions(settings: BenchBaseSettings) -> Iterator[tuple[str, str]]:
    if settings.workload.thinks and settings.arrival_rate:
        yield "options", "`think: spec` and `arrival_rate` exclude each other"
    if settings.terminals > MAX_TERMINALS:
        yield (
            "threads",
            (
                f"{settings.terminals:,} terminals are more than {MAX_TERMINALS:,}, "
                "and BenchBase gives each a thread and a connection. The built-in "
                "workload shares connections"
            ),
        )


# ------------------------------------------------------------------ what must be loaded

_COUNTED = (*_TPCC["rows_per_warehouse"], "item", "order_line")
_COUNTS = ", ".join(f"(SELECT count(*) FROM {table}) AS {table}" for table in _COUNTED)
COUNT_ROWS = f"SELECT {_COUNTS}, (SELECT sum(o_ol_cnt) FROM oorder) AS ordered_lines"


def miscounted(counts: Mapping[str, Any], warehouses: int) -> str:
    """Says which tables have a wrong number of rows, given a row of COUNT_ROWS; "" if none."""
    expected: dict[str, int] = {}
    for table, count in _TPCC["rows_per_warehouse"].items():
        expected[table] = count * warehouses
    expected |= _TPCC["rows"]
    # Each order has 5 to 15 lines, drawn at random, and says how many it has.
    expected["order_line"] = int(counts["ordered_lines"] or 0)
    wrong: list[str] = []
    for table, count in expected.items():
        if counts[table] != count:
            wrong.append(f"{table} has {counts[table]:,} rows, not {count:,}")
    return "; ".join(wrong)


# These conditions concern customers' balances. BenchBase breaks them by itself. It computes money
# in binary floating point, and Payment overwrites a balance that it read before.
NOT_KEPT = ("c10", "c12")


def conditions(world: World) -> str:
    file = world.root / "workloads" / "tpcc" / "consistency.sql"
    return conditions_on_its_tables(file.read_text(encoding="utf-8"))


def conditions_on_its_tables(text: str) -> str:
    """Adapts the built-in workload's conditions to BenchBase's schema, which renames one table."""
    header, *blocks = re.split(r"^(?=-- name: )", text, flags=re.MULTILINE)
    kept = [header]
    for block in blocks:
        name = block.split(";")[0].split()[-1]
        if name not in NOT_KEPT:
            kept.append(block)
    return re.sub(r"\borders\b", "oorder", "".join(kept))


RULES = WorkloadRules(check=check, converted=bind)
