"""The SQL of sysbench's tables, as the loader's Lua writes it for each database.

Goal: layout on YugabyteDB is said, never left to a default. Method: the Lua itself, in the client's
image.
"""

from __future__ import annotations

import json

import pytest

from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.powers import World

pytestmark = pytest.mark.docker

NETWORK = "tierbench-tables"
SLICES = """
package.path = "/workloads/sysbench/?.lua;/workloads/lib/?.lua;" .. package.path
local tables, dialects = require("tables"), require("dialects")
local loader, yugabytedb = require("loader"), dialects.named("yugabytedb")
print(table.concat(yugabytedb.slices({"s_w_id", "s_i_id"}, 3, 2), "; "))
print(table.concat(yugabytedb.slices({"id"}, 2, 1), "; "))
print(table.concat(yugabytedb.slices(nil, nil, 2), "; "))
print(table.concat(dialects.named("postgresql").slices({"w_id"}, 2, 2), "; "))
print(table.concat(tables.slices(yugabytedb, {sharding = "range", rows = 10}, 3), "; "))
local function tried(rows, ...)
   local words, tries = {...}, {}
   local ok, wrong = pcall(loader.check_counts, rows, 10,
      function(n) return yugabytedb.slices({"id"}, 2, n) end,
      function(conditions)
         tries[#tries + 1] = #conditions
         return words[#tries]
      end)
   print(tostring(ok), tostring(wrong), table.concat(tries, ","))
end
tried(10)
tried(25)
tried(25, "wrong")
tried(25, "wrong", "wrong again")
"""
IDS = """
package.path = "/workloads/sysbench/?.lua;/workloads/lib/?.lua;" .. package.path
local tables, dialects = require("tables"), require("dialects")
for _, case in ipairs({{"postgresql", "hash"}, {"yugabytedb", "range"}, {"yugabytedb", "hash"}}) do
   local found = tables.ids(dialects.named(case[1]), {sharding = case[2]}, 2999, 5001)
   for _, ids in ipairs(found) do print((ids:gsub("(%d+), [%d, ]*, (%d+)", "%1, ..., %2"))) end
end
"""
SCRIPT = """
package.path = "/workloads/sysbench/?.lua;/workloads/lib/?.lua;" .. package.path
local tables, dialect = require("tables"), require("dialects").named("%s")
local layout = {sharding = "%s", tablets = %d, rows = 1000}
print((tables.create(dialect, 1, layout):gsub("%%s+", " ")))
print(tables.create_index(dialect, 1, layout))
print(tables.cache_sequence(dialect, 1, 0) or "-")
"""


@pytest.mark.usefixtures("nothing_left")
def test_the_layout_is_said_where_the_database_shards(world: World) -> None:
    expected = {
        ("postgresql", "hash", 3): ("NOT NULL)", "ON sbtest1 (k)", "-"),
        ("yugabytedb", "hash", 0): (
            ", PRIMARY KEY ((id) HASH))",
            "ON sbtest1 ((k) HASH)",
            "ALTER SEQUENCE sbtest1_id_seq CACHE 1000",
        ),
        ("yugabytedb", "hash", 6): (
            ", PRIMARY KEY ((id) HASH)) SPLIT INTO 6 TABLETS",
            "ON sbtest1 ((k) HASH) SPLIT INTO 6 TABLETS",
            "ALTER SEQUENCE sbtest1_id_seq CACHE 1000",
        ),
        ("yugabytedb", "range", 3): (
            ", PRIMARY KEY (id ASC)) SPLIT AT VALUES ((334), (667))",
            "ON sbtest1 (k ASC) SPLIT AT VALUES ((334), (667))",
            "ALTER SEQUENCE sbtest1_id_seq CACHE 1000",
        ),
    }
    with (
        world.platform.network(NETWORK, 1),
        Sysbench().client(NETWORK, world) as client,
    ):
        for case, ends in expected.items():
            argv = ("luajit", "-e", SCRIPT % case)
            done = world.platform.container(str(client.container)).exec(
                argv, timeout_s=20
            )
            assert done.exit_code == 0, done.err
            lines = done.out.splitlines()
            assert [
                line.endswith(end) for line, end in zip(lines, ends, strict=True)
            ] == [True] * 3


@pytest.mark.usefixtures("nothing_left")
def test_counts_in_slices_are_exact_and_one_statement_has_the_last_word(
    world: World,
) -> None:
    with (
        world.platform.network(NETWORK, 1),
        Sysbench().client(NETWORK, world) as client,
    ):
        argv = ("luajit", "-e", SLICES)
        done = world.platform.container(str(client.container)).exec(argv, timeout_s=20)
    assert done.exit_code == 0, done.err
    stock = "yb_hash_code(s_w_id, s_i_id)"
    said = [
        json.loads(line)["message"] for line in done.out.splitlines() if line[0] == "{"
    ]
    assert said == ["wrong", "wrong"]
    assert [line for line in done.out.splitlines() if line[0] != "{"] == [
        f"{stock} < 32768; {stock} >= 32768",
        "true",
        "true",
        "true",
        "true AND id <= 3; id > 3 AND id <= 6; id > 6",
        "true\tnil\t1",
        "true\tnil\t3",
        "true\tnil\t3,1",
        "false\twrong again\t3,1",
    ]


@pytest.mark.usefixtures("nothing_left")
def test_rows_of_a_part_are_found_by_their_key(world: World) -> None:
    """Before a part is loaded again: a range of hashed ids would read the whole table."""
    with (
        world.platform.network(NETWORK, 1),
        Sysbench().client(NETWORK, world) as client,
    ):
        done = world.platform.container(str(client.container)).exec(
            ("luajit", "-e", IDS), timeout_s=20
        )
    assert done.exit_code == 0, done.err
    assert done.out.splitlines() == [
        *("id BETWEEN 2999 AND 5001",) * 2,
        "id IN (2999, ..., 3998)",
        "id IN (3999, ..., 4998)",
        "id IN (4999, ..., 5001)",
    ]


TPCC = """
package.path = "/workloads/tpcc/?.lua;/workloads/lib/?.lua;" .. package.path
local schema, dialect = require("schema"), require("dialects").named("%s")
for _, t in ipairs(schema.tables) do
   if t.warehouse then print(schema.belongs(t, 7)) end
   if t.name == "stock" then print(schema.create_table(dialect, t, 0):match("PRIMARY KEY .*")) end
   if t.name == "orders" then print(schema.create_indexes(dialect, t, 0)[1]) end
end
"""


@pytest.mark.usefixtures("nothing_left")
def test_a_warehouse_is_found_by_its_keys_and_not_by_reading_tables(
    world: World,
) -> None:
    """Only history has no key: nothing else finds its rows. The layout is that of yugabyte/tpcc."""
    with (
        world.platform.network(NETWORK, 1),
        Sysbench().client(NETWORK, world) as client,
    ):
        argv = ("luajit", "-e", TPCC % "yugabytedb")
        done = world.platform.container(str(client.container)).exec(argv, timeout_s=20)
    assert done.exit_code == 0, done.err
    districts = "d_id IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)"
    assert done.out.splitlines() == [
        "w_id = 7",
        f"d_w_id = 7 AND {districts}",
        f"c_w_id = 7 AND c_{districts}",
        "h_w_id = 7",
        "s_w_id = 7",
        "PRIMARY KEY ((s_w_id) HASH, s_i_id ASC))",
        f"o_w_id = 7 AND o_{districts}",
        "CREATE INDEX IF NOT EXISTS orders_by_customer ON orders "
        "((o_w_id, o_d_id) HASH, o_c_id ASC, o_id DESC)",
        f"no_w_id = 7 AND no_{districts}",
        f"ol_w_id = 7 AND ol_{districts}",
    ]
