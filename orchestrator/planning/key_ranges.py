"""Which loads of stock sysbench ask for ranges of a key. Pure.

YugabyteDB shards keys by their hash unless it is told otherwise. Rows then lie in no order of the
key, so each range reads a whole table: with ten tables of a million rows `oltp_read_only` and
`oltp_read_write` made less than ten transactions a second, and `oltp_write_only` more than 5,000
(yugabyte/yugabyte-db issue 23585).
"""

from __future__ import annotations

from orchestrator.model import Workload

SETTING = "yb_use_hash_splitting_by_default"  # of a session
WHAT = "keys are sharded by their hash, so each range of keys reads a whole table"
ADVICE = (
    "set `tserver.ysql_pg_conf_csv: yb_use_hash_splitting_by_default=false` (from 2024.2 on), or "
    "take `options: {range_selects: off}`"
)
_OF_PRIMARY_KEY = ("oltp_read_only", "oltp_read_write")
_OF_INDEX = "select_random_ranges"


def are_read(workload: Workload) -> bool:
    """Whether it reads ranges of a key that only SETTING shards by its order. A script of a user's
    own is not read for that."""
    if workload.generator != "sysbench-stock":
        return False
    by_range = workload.dataset.parameters.get("range_key_partitioning", "off")  # of the fork
    selects = workload.options.get("range_selects", "on")
    return workload.script == _OF_INDEX or (
        workload.script in _OF_PRIMARY_KEY and _is_on(selects) and not _is_on(by_range)
    )


def _is_on(option: object) -> bool:
    return str(option).lower() in ("on", "true", "1", "yes")
