"""What BenchBase must have loaded: rows of each table, and the conditions that these keep."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from orchestrator.powers import World

# TPC-C specification 5.11, clause 4.3.3.1. The number of order lines follows from the orders.
_PER_WAREHOUSE = {
    "warehouse": 1,
    "district": 10,
    "customer": 30_000,
    "history": 30_000,
    "oorder": 30_000,
    "new_order": 9_000,
    "stock": 100_000,
}
_ITEMS = 100_000
COUNT_ROWS = "SELECT {}, (SELECT sum(o_ol_cnt) FROM oorder) AS ordered_lines".format(
    ", ".join(
        f"(SELECT count(*) FROM {table}) AS {table}"
        for table in (*_PER_WAREHOUSE, "item", "order_line")
    )
)


def miscounted(counts: Mapping[str, Any], warehouses: int) -> str:
    """Says which tables have a wrong number of rows, given a row of COUNT_ROWS; "" if none."""
    expected = {table: count * warehouses for table, count in _PER_WAREHOUSE.items()}
    expected |= {"item": _ITEMS, "order_line": int(counts["ordered_lines"] or 0)}
    return "; ".join(
        f"{table} has {counts[table]:,} rows, not {count:,}"
        for table, count in expected.items()
        if counts[table] != count
    )


_CONDITIONS = "tpcc/consistency.sql"
# BenchBase breaks these by itself (`BenchBase.verify`).
NOT_KEPT = ("c10", "c12")


def conditions(world: World) -> str:
    return conditions_on_its_tables((world.root / "workloads" / _CONDITIONS).read_text())


def conditions_on_its_tables(text: str) -> str:
    """Adapts the built-in workload's conditions to BenchBase's schema, which renames one table."""
    header, *blocks = re.split(r"^(?=-- name: )", text, flags=re.MULTILINE)
    kept = [block for block in blocks if block.split(";")[0].split()[-1] not in NOT_KEPT]
    return re.sub(r"\borders\b", "oorder", header + "".join(kept))
