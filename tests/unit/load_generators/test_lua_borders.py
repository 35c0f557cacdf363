"""Numbers of the load generators' Lua at their borders: refused or exact, and never another one.

Needs Debian's luajit.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.units import MOST_SEED
from tests import lua_scripts

INT4 = """
local codec = require("pq_codec")
local parameters = codec.new_parameters()
parameters.args[1] = VALUE
codec.encode({n = 1, "KIND"}, parameters)
print(codec.int(parameters.values[0] + OFFSET))
"""
ELEMENT_AT = 24  # of an array: behind its head of 20 bytes and its length


@pytest.mark.parametrize("number", [0, -(2**31), 2**31 - 1])
def test_an_int4_is_what_was_given(number: int) -> None:
    one = INT4.replace("VALUE", str(number)).replace("KIND", "i").replace("OFFSET", "0")
    assert int(lua_scripts.run(one).stdout) == number
    several = INT4.replace("VALUE", f"{{n = 1, [0] = {number}}}").replace("KIND", "I")
    done = lua_scripts.run(several.replace("OFFSET", str(ELEMENT_AT)))
    assert int(done.stdout) == number


@pytest.mark.parametrize("number", ["2147483648", "-2147483649", "3e9", "1.5", "0/0"])
@pytest.mark.parametrize("kind", ["i", "I"])
def test_what_is_no_int4_is_refused(number: str, kind: str) -> None:
    """3,000,000,000 was sent as -1,294,967,296: a key that no row has, which is found faster."""
    value = number
    if kind == "I":
        value = f"{{n = 1, [0] = {number}}}"
    script = INT4.replace("VALUE", value).replace("KIND", kind)
    done = lua_scripts.run(script.replace("OFFSET", "0"))
    assert done.returncode != 0
    assert "is no int4" in done.stderr


def test_a_tenth_parameter_is_refused() -> None:
    """Memory behind the nine was written."""
    done = lua_scripts.run('require("pq_codec").oids("iiiiiiiiii")')
    assert "a statement has 10 parameters: at most 9 work" in done.stderr


BULK_ROW = """
local formula = require("formula")
local buffer = formula.buffer(1)
local bytes = formula.fill(buffer, ID, ID)
io.write(require("ffi").string(buffer, bytes))
"""


def test_the_last_bulk_id_is_written_whole() -> None:
    done = lua_scripts.run(BULK_ROW.replace("ID", str(10**12 - 1)), "bulk")
    assert done.stdout.split("\t")[0] == "999999999999"


def test_a_bulk_id_of_13_digits_is_refused() -> None:
    """Its digits were read from beyond a table: bytes that are no digits came into the data."""
    done = lua_scripts.run(BULK_ROW.replace("ID", str(10**12)), "bulk")
    assert "id 1000000000000 has more than 12 digits" in done.stderr


DRAWS = """
local seeds = require("seeds")
for thread = 0, 2 do
   math.randomseed(seeds.thread(SEED, thread))
   io.write(string.format("%.17g ", math.random()))
end
"""


@pytest.mark.parametrize("seed", [0, 1, MOST_SEED])
def test_threads_draw_different_numbers(seed: int) -> None:
    drawn = lua_scripts.run(DRAWS.replace("SEED", str(seed))).stdout.split()
    assert len(set(drawn)) == 3


def test_a_seed_by_which_threads_would_draw_alike_is_refused() -> None:
    """A seed of 3e12 times 65,536 is beyond 2^53, where thread 1 and thread 2 are one number."""
    done = lua_scripts.run(DRAWS.replace("SEED", "3e12"))
    assert (
        f"--seed is too large, so threads would draw alike: give at most {MOST_SEED}"
        in (done.stderr)
    )


def test_all_that_is_seeded_tells_the_largest_seed_from_its_neighbours() -> None:
    """The parts of sysbench's tables have the most: 1,024 tables of 65,536 parts."""
    script = """
    local seeds = require("seeds")
    local table_seed = seeds.combined(SEED, 1023, 1024)
    local last = seeds.combined(table_seed, 65535, 65536)
    print(string.format("%.0f %.0f", last, last - 1))
    """
    done = lua_scripts.run(script.replace("SEED", str(MOST_SEED)))
    last = (MOST_SEED * 1024 + 1023) * 65536 + 65535
    assert done.stdout.split() == [str(last), str(last - 1)]


def test_figures_are_written_as_they_are() -> None:
    """Fractions had six digits: 1,234,567.89 s were written as 1.23457e+06."""
    script = 'print(require("json"){elapsed_s = 1234567.89, rows = 2^40, late = 0.1})'
    told = json.loads(lua_scripts.run(script).stdout)
    assert told == {"elapsed_s": 1234567.89, "rows": 2**40, "late": 0.1}


@pytest.mark.parametrize("value", ["1/0", "-1/0", "0/0", "5LL", "print"])
def test_what_json_does_not_have_is_refused(value: str) -> None:
    done = lua_scripts.run(f'print(require("json"){{figure = {value}}})')
    assert done.returncode != 0
    assert "of JSON" in done.stderr


RETRIES = """
local recorder = require("recorder")
local records = recorder.open("FOLDER", 0, {"t"}, true)
records:add(0LL, 1, 2^33, 2^33, 0, 0, recorder.COMMITTED, 70000)
print(records.buffer[0].retries, records.buffer[0].latency_us, records.buffer[0].queue_us)
records:close()
"""


def test_a_record_holds_the_most_that_its_fields_can(tmp_path: Path) -> None:
    """70,000 retries were recorded as 4,464."""
    done = lua_scripts.run(RETRIES.replace("FOLDER", str(tmp_path)))
    assert done.stdout.split() == ["65535", "4294967295", "4294967295"], done.stderr
