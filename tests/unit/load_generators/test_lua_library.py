"""The load generators' Lua library, run by LuaJIT against a PostgreSQL of this machine.

Goal: what a workload asks for in vain is an error and not a crash, and no record of a run is lost
or repeated. Needs Debian's luajit and postgresql, and for one test sysbench.
"""

from __future__ import annotations

import os
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import ROOT, lua_scripts
from tests.integration import local_servers

LIBRARY = ROOT / "workloads/lib/?.lua"
CONNECT = (
    'local pq = require("pq")\n'
    'local c = pq.connect{host = "127.0.0.1", port = PORT, user = "postgres", db = "postgres"}\n'
)
RECORD = struct.Struct("<qIIIBBH")  # as lib/recorder.lua has it


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    local_servers.program("luajit")
    # Not in the tests' own folder, into which the server's user may not look.
    with (
        tempfile.TemporaryDirectory(prefix="tierbench-lua-") as folder,
        local_servers.postgresql(Path(folder)) as port,
    ):
        yield port


def connected(port: int, script: str) -> subprocess.CompletedProcess[str]:
    return lua_scripts.run(CONNECT.replace("PORT", str(port)) + script)


@pytest.mark.parametrize("batches", ["true", "false"])
def test_what_a_send_returns_names_its_result(port: int, batches: str) -> None:
    """Results were counted by hand against the sends above them. Until the next send after a flush
    they stay, and then the first is a new one."""
    done = connected(
        port,
        f"""
        local number = c:prepare("SELECT $1::int4", "i")
        c:start_pipeline({batches})
        for round = 1, 2 do
           local results = {{}}
           for i = 1, 5 do results[i] = c:send(number, 10 * round + i) end
           c:flush()
           for i = 5, 1, -1 do io.write(c:int(results[i], 0, 0), " ") end
           earlier = earlier or results[1]
        end
        c:int(earlier, 0, 0)
        """,
    )
    assert done.stdout == "15 14 13 12 11 25 24 23 22 21 ", done
    assert "result 0 was asked for, and those from 5 to 9 are kept" in done.stderr


@pytest.mark.parametrize(("batches", "left"), [("true", "0"), ("false", "1")])
def test_a_statement_by_itself_does_not_share_the_fate_of_the_next(
    port: int, batches: str, left: str
) -> None:
    """Before one Sync both are undone; a Sync each, and the first one stays."""
    done = connected(
        port,
        f"""
        c:exec("CREATE TEMPORARY TABLE sent (n int4)")
        local insert = c:prepare("INSERT INTO sent VALUES ($1) RETURNING n", "i")
        local divide = c:prepare("SELECT 1 / $1", "i")
        local count = c:prepare("SELECT count(*)::int4 FROM sent WHERE n = 9")
        c:start_pipeline({batches})
        for _ = 1, 20 do
           local first = c:send(insert, 5)
           local second = c:send(divide, 1)
           local third = c:send(insert, 7)
           c:flush()
           assert(c:int(first, 0, 0) == 5)
           assert(c:int(second, 0, 0) == 1)
           assert(c:int(third, 0, 0) == 7)
        end
        local ok, failure = pcall(function()
           c:send(insert, 9)
           c:send(divide, 0)
           c:flush()
        end)
        assert(not ok and failure.sqlstate == "22012" and not failure.lost, tostring(failure))
        local after = c:send(divide, 1)
        c:flush()
        assert(c:int(after, 0, 0) == 1)
        local left = c:send(count)
        c:flush()
        io.write(c:int(left, 0, 0))
        """,
    )
    assert done.stdout == left, done


@pytest.mark.parametrize("batches", ["true", "false"])
@pytest.mark.parametrize(("results", "fits"), [(32, True), (33, False)])
def test_a_transaction_keeps_32_results(
    port: int, batches: str, results: int, fits: bool
) -> None:
    done = connected(
        port,
        f"""
        local statement = c:prepare("SELECT 7::int4")
        c:start_pipeline({batches})
        for _ = 1, {results} do c:send(statement) end
        c:flush()
        for i = 0, c.kept - 1 do assert(c:int(i, 0, 0) == 7) end
        print(c.kept)
        """,
    )
    if fits:
        assert (done.returncode, done.stdout) == (0, "32\n"), done.stderr
    else:
        assert done.returncode == 1, done
        assert "a transaction keeps more than 32 results" in done.stderr


@pytest.mark.parametrize(("numbers", "fits"), [(8189, True), (8190, False)])
def test_an_array_is_as_long_as_the_buffer(port: int, numbers: int, fits: bool) -> None:
    """20 + 8n bytes in 65,536: beyond them it wrote over memory of others."""
    done = connected(
        port,
        f"""
        local statement = c:prepare("SELECT sum(x)::int4 FROM unnest($1) x", "I")
        c:start_pipeline(true)
        local numbers = {{n = {numbers}}}
        for i = 0, numbers.n - 1 do numbers[i] = 1 end
        c:run(statement, numbers)
        print(c:int(0, 0, 0))
        """,
    )
    if fits:
        assert (done.returncode, done.stdout) == (0, f"{numbers}\n"), done.stderr
    else:
        assert done.returncode == 1, done
        assert "more than 65536 bytes" in done.stderr


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("c:int(0, 0, 0)", "it is NULL"),
        ("c:int(0, 0, 1)", "it has 8 bytes"),
        ("c:int(0, 5, 0)", "it has 1 rows of 2 columns"),
        ("c:int(0, 0, 2)", "it has 1 rows of 2 columns"),
        ("c:text(0, 5, 0)", "it has 1 rows of 2 columns"),
        ("c:int(1, 0, 0)", "result 1 was asked for, and those from 0 to 0 are kept"),
        ("c:rows(-1)", "result -1 was asked for, and those from 0 to 0 are kept"),
        ("c:affected(40)", "result 40 was asked for, and those from 0 to 0 are kept"),
    ],
)
def test_a_value_that_is_not_there_is_an_error(port: int, asked: str, why: str) -> None:
    done = connected(
        port,
        f"""
        local statement = c:prepare("SELECT NULL::int4, 1::int8")
        c:start_pipeline(true)
        c:run(statement)
        print({asked})
        """,
    )
    assert done.returncode == 1, done
    assert why in done.stderr


@pytest.mark.slow
def test_what_waits_for_an_answer_is_called_each_second(port: int) -> None:
    done = connected(
        port,
        """
        local statement = c:prepare("SELECT pg_sleep(2.5)")
        local calls = 0
        c.while_waiting = function() calls = calls + 1 end
        c:start_pipeline(true)
        c:run(statement)
        c:run(statement)
        print(calls)
        """,
    )
    assert (done.returncode, done.stdout) == (0, "4\n"), done.stderr


def test_a_connection_that_is_cut_is_lost_as_before(port: int) -> None:
    done = connected(
        port,
        """
        local statement = c:prepare("SELECT pg_terminate_backend(pg_backend_pid())")
        c:start_pipeline(true)
        local ok, failure = pcall(c.run, c, statement)
        print(ok, failure.sqlstate, failure.lost)
        """,
    )
    assert done.returncode == 0, done
    assert done.stdout.split() == ["false", "57P01", "true"]


ADDING = """
local recorder = require("recorder")
local records = recorder.open(OUT, 0, {"read"}, true)
local function add(number) records:add(number, 0, number, 0, 0, 0, 0, 0) end
"""


def starts(file: Path) -> list[int]:
    """What each record has as its start; the file has nothing but whole records."""
    content = file.read_bytes()
    assert len(content) % RECORD.size == 0
    return [record[0] for record in RECORD.iter_unpack(content)]


@pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root, to mount a small file system"
)
def test_records_that_were_written_in_part_are_not_repeated(tmp_path: Path) -> None:
    """The disk is full in the midst of a record, and has room again when the thread ends."""
    local_servers.program("luajit")
    small = tmp_path / "small"
    small.mkdir()
    kept = tmp_path / "kept"
    script = (
        ADDING.replace("OUT", f'"{small}"')
        + f"""
        for number = 1, 2730 do
           local ok, problem = pcall(add, number)
           if not ok then print(problem) end
        end
        os.remove("{small}/other")
        records:close()
        os.execute("cp {small}/latency-0.bin {kept}")
    """
    )
    mount = (
        'mount -t tmpfs -o size=64k none "$1" && head -c 45056 /dev/zero >"$1/other" && '
        'shift && exec "$@"'
    )
    search = f'package.path = "{LIBRARY};" .. package.path\n'
    argv = ["unshare", "--mount", "sh", "-c", mount, "x", str(small)]
    argv += ["luajit", "-e", search + script]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "cannot write records: No space left on device" in done.stdout
    assert starts(kept) == list(range(1, 2731))


STATEMENTS = 10  # of a transaction
THREADS = 2


def test_a_stall_loses_no_record_before_it(port: int, tmp_path: Path) -> None:
    """The run is killed while the table that all threads want is locked. What PostgreSQL counted
    is recorded, but for the transactions that were under way."""
    sysbench = local_servers.program("sysbench")
    psql = ["psql", "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", str(port)]
    psql += ["-U", "postgres", "-v", "ON_ERROR_STOP=1", "-c"]

    def query(sql: str) -> str:
        argv = [*psql, sql]
        done = subprocess.run(argv, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    query("CREATE TABLE sbtest1 (id int PRIMARY KEY, k int, c text, pad text)")
    query("INSERT INTO sbtest1 SELECT i, i, 'c', 'p' FROM generate_series(1, 100) i")
    argv = [
        *(sysbench, str(ROOT / "workloads/sysbench/point_select.lua")),
        *("--db-driver=pgsql", "--pgsql-host=127.0.0.1", f"--pgsql-port={port}"),
        *("--pgsql-user=postgres", "--pgsql-db=postgres", f"--out={tmp_path}"),
        *("--tables=1", "--table-size=100", f"--threads={THREADS}", "--time=60"),
        *(f"--statements={STATEMENTS}", "run"),
    ]
    counted_before = scans(query)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as load:
        records = tmp_path / "latency-0.bin"
        while not (records.exists() and records.stat().st_size):
            assert load.poll() is None, load.communicate()
            time.sleep(0.05)
        time.sleep(0.5)
        lock = (
            "BEGIN; LOCK sbtest1 IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3); COMMIT"
        )
        with subprocess.Popen([*psql, lock], stdout=subprocess.DEVNULL):
            time.sleep(2.5)
            load.kill()
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tierbench-load'"
    while query(sessions) != "0":
        time.sleep(0.1)
    counted = scans(query) - counted_before
    recorded = 0
    for file in tmp_path.glob("latency-*.bin"):
        recorded += file.stat().st_size // RECORD.size
    assert recorded > 0
    assert 0 <= counted - recorded * STATEMENTS <= THREADS * STATEMENTS


def scans(query: Callable[[str], str]) -> int:
    return int(
        query(
            "SELECT seq_scan + idx_scan FROM pg_stat_user_tables WHERE relname = 'sbtest1'"
        )
    )
