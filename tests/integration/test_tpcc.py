"""The TPC-C-derived workload's own rules, held against its Lua and a real PostgreSQL.

Goal: terminals share connections, input and rollbacks are as the specification has them, and
statements travel as they were asked to. Method: LuaJIT in the client's image runs the workload's
modules with a clock of its own, so that nothing depends on speed; one warehouse is loaded for what
needs a server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.figures import transactions
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.load_generators.sysbench.records import RECORD, Records
from orchestrator.model import Cluster, Node, Workload
from orchestrator.parts import ClientLoad
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import World
from tests.integration import one_warehouse, servers
from tests.integration.conftest import make_world

pytestmark = pytest.mark.docker

GENERATOR = Sysbench()
PRELUDE = """
package.path = "/workloads/lib/?.lua;/workloads/tpcc/?.lua;" .. package.path
math.randomseed(1)
local now_us = 1e6
package.loaded.clock = {now_us = function() return now_us end}
local json, terminals = require("json"), require("terminals")
local TYPES = {{keying_s = 18, think_s = 12}, {keying_s = 3, think_s = 12},
               {keying_s = 2, think_s = 10}, {keying_s = 2, think_s = 5},
               {keying_s = 2, think_s = 5}}
"""
# One connection takes a terminal and is stuck in its transaction; another goes on.
STUCK = """
terminals.create(1, TYPES, {45, 43, 4, 4, 4}, 1, 1)
local stuck, other = terminals.schedule(TYPES), terminals.schedule(TYPES)
stuck.due_us()
local _, theirs = stuck.current()
local played, longest_us = {}, 0
for d = 1, 10 do played[d] = 0 end
for _ = 1, 1000 do
   local due_us = other.due_us()
   now_us = math.max(now_us, due_us)
   longest_us = math.max(longest_us, now_us - due_us)
   local _, d = other.current()
   played[d] = played[d] + 1
   other.done(now_us)
end
print(json{theirs = theirs, played = played, longest_us = longest_us})
"""
# What the kernel may put off the end of a thread's sleep by, in ns.
SLACK = """
local ffi = require("ffi")
package.loaded.clock = nil
local clock = require("clock")
local by_default_ns = ffi.C.prctl(30, 0)
clock.wake_on_time()
print(json{by_default_ns = by_default_ns, ns = ffi.C.prctl(30, 0)})
"""
# Every tenth update of a district meets a conflict, whatever it is for.
CONFLICTS = """
CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF random() < 0.1 THEN RAISE EXCEPTION 'made up' USING ERRCODE = '40001'; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER conflict BEFORE UPDATE ON district FOR EACH ROW EXECUTE FUNCTION conflict();
"""
# Few connections and long transactions, in virtual time.
BUSY = """
terminals.create(1, TYPES, {45, 43, 4, 4, 4}, 1, 1)
local threads, waited, late = {}, 0, 0
for i = 1, 5 do threads[i] = {wake_us = now_us, schedule = terminals.schedule(TYPES)} end
local sleeping, all_busy_since_us = #threads, math.huge
for _ = 1, 200000 do
   local thread = threads[1]
   for _, other in ipairs(threads) do
      if other.wake_us < thread.wake_us then thread = other end
   end
   now_us = thread.wake_us
   local was_running = thread.running
   if was_running then
      thread.schedule.done(now_us)
      thread.running, sleeping = false, sleeping + 1
   end
   local due_us = thread.schedule.due_us()
   if now_us < due_us then
      thread.wake_us = due_us
   else
      if due_us < now_us then
         waited = waited + 1
         if sleeping > 1 or due_us < all_busy_since_us then late = late + 1 end
      end
      thread.running, sleeping = true, sleeping - 1
      if sleeping == 0 and not was_running then all_busy_since_us = now_us end
      thread.wake_us = now_us + math.random() * 20e6
   end
end
print(json{waited = waited, late = late})
"""
OVERDUE = """
terminals.create(1, TYPES, {45, 43, 4, 4, 4}, 1, 1)
local one, two = terminals.schedule(TYPES), terminals.schedule(TYPES)
one.due_us()
print(json{two = two.overdue(1e12), one = one.overdue(1e12), left = two.due_us() == math.huge})
"""

# The terminals of three programs that share ten of them: each has its own, on the cards and at the
# times of one program that has them all.
PARTS = """
local function first_turns(part, parts)
   math.randomseed(7)
   terminals.create(1, TYPES, {45, 43, 4, 4, 4}, part, parts)
   local schedule, turns = terminals.schedule(TYPES), {}
   for _ = 1, terminals.of_part(1, part, parts) do
      local due_us = schedule.due_us()
      local w, d, card = schedule.current()
      turns[#turns + 1] = string.format("%d %d %d %.0f", w, d, card, due_us)
      schedule = terminals.schedule(TYPES)
   end
   assert(schedule.due_us() == math.huge)
   return turns
end
local shared = {}
for part = 1, 3 do
   for _, turn in ipairs(first_turns(part, 3)) do shared[#shared + 1] = turn end
end
print(json{shared = shared, alone = first_turns(1, 1), first = terminals.of_part(1, 1, 3)})
"""


@dataclass(frozen=True)
class Bench:
    """A client, and one loaded warehouse that it reaches."""

    cluster: Cluster
    workload: Workload
    client: Node
    out: Path
    world: World
    server: servers.Server

    def lua(self, program: str) -> dict[str, Any]:
        """What a program prints as JSON."""
        (self.out / "program.lua").write_text(PRELUDE + program)
        client = self.world.platform.container(self.client.container or "")
        client.put(self.out / "program.lua", "/tmp/program.lua")
        done = client.exec(["luajit", "/tmp/program.lua"], timeout_s=60)
        assert done.exit_code == 0, done.err
        printed: dict[str, Any] = json.loads(done.out)
        return printed

    def run(self, measure_s: float, threads: int, **options: Any) -> Any:
        """The transactions of one run, as a table."""
        for old in self.out.glob("latency-*.bin"):
            old.unlink()
        clear = ("sh", "-c", "rm -f /out/latency-*")
        self.world.platform.container(self.client.container or "").exec(
            clear, timeout_s=20
        )
        workload = replace(
            self.workload,
            options={"seed": 1, **options},
            threads=threads,
            warmup_s=0.0,
            measure_s=measure_s,
        )
        GENERATOR.run(
            ClientLoad(workload, self.cluster, self.client, self.out, self.world)
        )
        return pd.concat(Records.of_folder(self.out))

    def count(self, question: str) -> int:
        ((number,),) = self.server.ask(question)
        assert isinstance(number, int)
        return number

    def sound(self) -> None:
        """The consistency conditions hold."""
        GENERATOR.verify(self.workload, self.cluster, self.world)


@pytest.fixture(scope="module")
def bench(
    engine: DockerPlatform, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    world = make_world(engine)
    out = tmp_path_factory.mktemp("out")
    with one_warehouse.loaded(world) as made:
        yield Bench(made.cluster, made.workload, made.client, out, world, made.server)


# ------------------------------------------------------------------ terminals


def test_any_free_connection_serves_the_next_terminal(bench: Bench) -> None:
    found = bench.lua(STUCK)
    played = found["played"]
    assert played.pop(found["theirs"] - 1) == 0
    assert min(played) > 50  # the other nine go on as if nothing was stuck
    assert found["longest_us"] == 0


def test_a_terminal_waits_only_while_all_connections_are_busy(bench: Bench) -> None:
    found = bench.lua(BUSY)
    assert found["waited"] > 1000
    assert found["late"] == 0


def test_a_terminal_that_is_overdue_at_the_end_is_counted_once(bench: Bench) -> None:
    assert bench.lua(OVERDUE) == {"two": 9, "one": 1, "left": True}


def test_several_programs_share_the_terminals_and_play_what_one_would(
    bench: Bench,
) -> None:
    found = bench.lua(PARTS)
    assert len(found["alone"]) == 10 and found["first"] == 4
    assert sorted(found["shared"]) == sorted(found["alone"])


@pytest.mark.slow
def test_the_threads_of_sysbench_share_the_terminals(bench: Bench) -> None:
    """Ten terminals play about seven cards in that time; ten for each thread would play 56."""
    table = bench.run(15.0, 8, think="spec")
    assert 1 <= len(table) <= 25
    described = json.loads((bench.out / "recorder.json").read_text())
    assert described["mode"]["terminals"] == 10


# ------------------------------------------------------------------ what a seed is for


def types_of_threads(out: Path) -> list[list[int]]:
    """Of each thread the numbers of its transactions' types, in turn."""
    threads = []
    for file in sorted(out.glob("latency-*.bin")):
        threads.append(np.fromfile(file, RECORD)["type"].tolist())
    return threads


def test_what_a_thread_asks_for_does_not_depend_on_how_often_it_had_to_repeat(
    bench: Bench,
) -> None:
    bench.server.ask(CONFLICTS)
    try:
        runs = []
        for _ in range(2):
            table = bench.run(3.0, 4)
            assert table["retries"].sum() > 20
            runs.append(types_of_threads(bench.out))
    finally:
        bench.server.ask("DROP FUNCTION conflict CASCADE")
    for one, again in zip(*runs, strict=True):
        both = min(len(one), len(again))
        assert both > 20 and one[:both] == again[:both]


def test_threads_wake_up_on_time(bench: Bench) -> None:
    slack = bench.lua(SLACK)
    assert slack["ns"] == 1 < slack["by_default_ns"]


# ------------------------------------------------------------------ rollbacks


@pytest.mark.slow
def test_a_rolled_back_new_order_has_processed_its_valid_lines(bench: Bench) -> None:
    """The server counts rows that were inserted, those rolled back as well."""
    lines = "SELECT count(*) FROM order_line"
    before = bench.count(lines)
    bench.server.ask("SELECT pg_stat_reset()")
    table = bench.run(5.0, 2, weights="1,0,0,0,0")
    inserted = bench.count(
        "SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'order_line'"
    )
    rolled_back = int((table["outcome"] == transactions.ROLLED_BACK).sum())
    assert (table["outcome"] != transactions.FAILED).all() and rolled_back > 0
    assert table["retries"].sum() == 0
    lost = inserted - (bench.count(lines) - before)
    assert 4 * rolled_back <= lost <= 14 * rolled_back
    bench.sound()


# ------------------------------------------------------------------ statements on their way


@pytest.mark.parametrize(
    ("dialect", "options", "batched"),
    [
        ("postgresql", {}, True),
        ("postgresql", {"batches": 0}, False),
        ("yugabytedb", {}, False),
        ("yugabytedb", {"batches": 1}, True),
    ],
)
def test_statements_travel_as_the_database_needs_it_unless_asked(
    dialect: str, options: dict[str, Any], batched: bool, bench: Bench
) -> None:
    """The data set says which database it was loaded for."""
    bench.server.ask(
        f"UPDATE tpcc_facts SET value = '{dialect}' WHERE name = 'dialect'"
    )
    table = bench.run(2.0, 2, **options)
    assert (table["outcome"] != transactions.FAILED).all() and len(table) > 20
    result = GENERATOR.read(bench.workload, bench.out, 0.0, 1.0)
    assert result.facts.statements_batched is batched
    bench.sound()
