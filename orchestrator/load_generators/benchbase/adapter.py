"""BenchBase as a load generator: the TPC-C-derived workload of its own, on its own schema.

Creating, loading and executing are separate starts of it. Its configuration is rendered from the
workload's YAML (benchbase_config), its files are read into the table from which all figures are
made (benchbase_results). What differs from the built-in workload: docs/METHOD.md.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orchestrator.analysis import transactions
from orchestrator.errors import LoadError
from orchestrator.facts import GeneratorFacts
from orchestrator.load_generators.benchbase import config, results
from orchestrator.load_generators.benchbase.distribution import HOME_VARIABLE, find, provide
from orchestrator.load_generators.common import consistency
from orchestrator.load_generators.common.client import client_container
from orchestrator.model import Cluster, ClusterSpec, Measurement, Node, Phase, Workload
from orchestrator.parts import Result
from orchestrator.platforms import own_images
from orchestrator.powers import Completed, World
from orchestrator.system import sql
from orchestrator.units import format_number

_CONFIG = "benchbase.xml"
_SCRIPTS = "benchbase"  # below workloads/
_START = (
    'printf %s "$BENCHBASE_XML" > /tmp/benchbase.xml && cd "$BENCHBASE_FOLDER" && exec java "$@"'
)
# Numbers and times must not follow the language or the time zone of whoever made the image.
_JAVA_OPTIONS = (
    f"-Dlog4j.configuration=file:/workloads/{_SCRIPTS}/log4j.properties",
    f"-Dattempts=/out/{results.ATTEMPTS}",
    "-Duser.language=en",
    "-Duser.country=US",
    "-Duser.timezone=UTC",
)
_WHAT = ("-b", "tpcc", "-c", "/tmp/benchbase.xml")
_TELL_PROGRESS = ("-im", "1000", "-mt", "throughput")
_BEGUN, _MEASURING, _ENDED = "PHASE START", "Warmup complete", "TERMINATE"
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z ")
_THROUGHPUT = re.compile(r"Throughput: ([\d.]+) txn/sec")
_STAMP_S = 0.001  # stamps are cut to whole milliseconds
_LOAD_TIMEOUT_S = 24 * 3600.0
_STOP_GRACE_S = 120.0
_LONGEST_PAUSE_S = 140.0  # a terminal ends only after its keying and thinking
# Decided per row, so not to be given where rows do not tell.
_NEEDS_OUTCOMES = {"nopm", "rollbacks", "failures", "retries"}


class BenchBase:
    name = config.NAME

    def __init__(self, home: Path | None = None, connect: sql.Connect = sql.session) -> None:
        self._home, self._connect = home, connect

    @classmethod
    def from_environment(cls) -> BenchBase:
        home = os.environ.get(HOME_VARIABLE)
        return cls(Path(home) if home else None)

    def check(self, workload: Workload, spec: ClusterSpec, world: World) -> None:
        asked = config.settings(workload)
        provide(self._home, spec.database, world)
        if asked.warehouses_reached < asked.warehouses:
            world.progress.warn(
                f"BenchBase's {asked.terminals} terminals each stay at one warehouse: "
                f"{asked.warehouses_reached} of {asked.warehouses} are reached, the rest of the "
                "data lies idle"
            )

    def loader_version(self, workload: Workload, world: World) -> str:
        """Hash of our scripts, and which BenchBase it is."""
        ours = own_images.content_hash(world.root / "workloads" / _SCRIPTS)
        return f"{ours}-{find(self._home, '', world).identity}"

    def client(self, network: str, out: Path, world: World) -> AbstractContextManager[Node]:
        found = find(self._home, "", world)
        return client_container(found.image, network, out, world, found.mounts)

    # -------------------------------------------------------------- loading

    def load(self, workload: Workload, cluster: Cluster, client: Node, world: World) -> None:
        asked, xml = self._rendered(workload, cluster, world)
        for step in ("create", "load"):
            world.progress.step(f"loading {workload.dataset.family}: BenchBase, {step}")
            done = self._start([f"--{step}=true"], xml, cluster, client, _LOAD_TIMEOUT_S, world)
            if done.exit_code != 0:
                raise LoadError(
                    f"BenchBase could not {step} {workload.dataset.family}: {_complaint(done)}",
                    evidence=_tail(done),
                )
        world.progress.step(f"counting what was loaded into {workload.dataset.family}")
        with self._connect(sql.local(cluster.endpoints[0]), _LOAD_TIMEOUT_S) as asking:
            wrong = miscounted(asking.rows(COUNT_ROWS)[0], asked.warehouses)
        if wrong:
            # BenchBase's loader logs a failed batch and goes on, and ends as if all were well.
            raise LoadError(
                f"BenchBase loaded something else than {asked.warehouses} warehouses: {wrong}",
                evidence=_tail(done),
            )

    # -------------------------------------------------------------- running

    def run(
        self, workload: Workload, cluster: Cluster, client: Node, out: Path, world: World
    ) -> tuple[Phase, Phase]:
        asked, xml = self._rendered(workload, cluster, world)
        (out / _CONFIG).write_text(xml)
        begun: dict[str, float] = {}

        def on_line(line: str) -> None:
            for mark in (_BEGUN, _MEASURING, _ENDED):
                if mark in line:
                    begun.setdefault(mark, _stamp(line) or world.clock.now())
            said = _THROUGHPUT.search(line)
            if said:
                world.progress.step(_progress(begun, float(said[1]), workload, world.clock.now()))

        timeout_s = workload.warmup_s + asked.lead_in_s + workload.measure_s + _STOP_GRACE_S
        done = self._start(
            ["--execute=true", "-d", "/out", "-jh", f"/out/{results.HISTOGRAMS}", *_TELL_PROGRESS],
            xml,
            cluster,
            client,
            timeout_s + (_LONGEST_PAUSE_S if asked.thinks else 0.0),
            world,
            on_line,
        )
        (out / "command.txt").write_text(shlex.join(done.argv) + "\n")
        (out / "benchbase.out").write_text(results.plain(done.out))
        (out / "benchbase.err").write_text(results.plain(done.err))
        state = results.final_state(out)
        if done.exit_code != 0 or state not in (None, "EXIT") or len(begun) < 3:
            raise LoadError(
                f"BenchBase ended with exit code {done.exit_code}, state {state or 'unknown'}: "
                f"{_complaint(done)}",
                advice="its output is among the raw files of the run",
                evidence=_tail(done),
            )
        middle_s = begun[_MEASURING] + asked.lead_in_s
        return (
            Phase("warm-up", begun[_BEGUN], middle_s),
            Phase("measure", middle_s, begun[_ENDED] + _STAMP_S),
        )

    def _rendered(
        self, workload: Workload, cluster: Cluster, world: World
    ) -> tuple[config.Settings, str]:
        asked = config.settings(workload)
        template = (world.root / "workloads" / config.TEMPLATE).read_text()
        driver = find(self._home, cluster.database, world).driver
        return asked, config.render(template, asked, cluster, driver)

    def _start(
        self,
        arguments: Sequence[str],
        xml: str,
        cluster: Cluster,
        client: Node,
        timeout_s: float,
        world: World,
        on_line: Callable[[str], None] | None = None,
    ) -> Completed:
        """One start of BenchBase, to its end.

        The password is in the environment alone: it stands in no file and no command line.
        """
        return world.platform.exec(
            client.container or "",
            ["sh", "-c", _START, "sh", *_JAVA_OPTIONS, "-jar", "benchbase.jar", *_WHAT, *arguments],
            env={
                "PGPASSWORD": cluster.endpoints[0].password,
                "BENCHBASE_FOLDER": find(self._home, cluster.database, world).folder,
                "BENCHBASE_XML": xml,
            },
            timeout_s=timeout_s,
            on_line=on_line,
            watch=[node.container for node in cluster.nodes if node.container],
            user="0",  # the official image has a user of its own, who may not write to /out
        )

    # -------------------------------------------------------------- afterwards

    def verify(self, workload: Workload, cluster: Cluster, world: World) -> Mapping[str, Any]:
        """The conditions of the built-in workload that BenchBase keeps; a broken one voids a run.

        It does not keep those of customers' balances to the cent: it computes money in binary
        floating point, and Payment overwrites a balance that it has read before.
        """
        world.progress.step("checking that the data are still consistent")
        text = (world.root / "workloads" / _CONDITIONS).read_text()
        found = consistency.check(conditions_on_its_tables(text), cluster.endpoints[0])
        consistency.raise_if_broken(found)
        return {"consistency": [asdict(one) for one in found], "not_checked": list(_NOT_KEPT)}

    def read(self, workload: Workload, out: Path, start_s: float, end_s: float) -> Result:
        table, facts = results.read_table(out)
        found = transactions.measurements(table, start_s, end_s, None)
        if not facts["outcomes_known"]:
            found = tuple(one for one in found if one.metric not in _NEEDS_OUTCOMES)
        # BenchBase keeps nothing of the warm-up, so there are no intervals of it, not empty ones.
        return Result(
            measurements=found,
            intervals=transactions.intervals(table, {"measure": (start_s, end_s)}),
            latencies=table,
            facts=GeneratorFacts.read({**facts, **_facts(workload, found)}),
        )


def _facts(workload: Workload, found: Sequence[Measurement]) -> Mapping[str, Any]:
    asked = config.settings(workload)
    served = next((m.value for m in found if (m.metric, m.scope) == ("throughput_per_s", "all")), 0)
    return {
        "generator": config.NAME,
        "queueing_in_latency": False,
        "warmup_recorded": False,
        "seeded": False,
        "terminals": asked.terminals,
        "warehouses_reached": asked.warehouses_reached,
        "arrival_rate_per_s": asked.arrival_rate or None,
        "served_of_asked": served / asked.arrival_rate if asked.arrival_rate else None,
    }


# ------------------------------------------------------------------ what was loaded

# TPC-C specification 5.11, clause 4.3.3.1; order lines are as many as their orders say.
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


def miscounted(counted: Mapping[str, Any], warehouses: int) -> str:
    """What is wrong with a row of COUNT_ROWS, in words; "" where all is as it should be."""
    wanted = {table: count * warehouses for table, count in _PER_WAREHOUSE.items()}
    wanted |= {"item": _ITEMS, "order_line": int(counted["ordered_lines"] or 0)}
    return "; ".join(
        f"{table} has {counted[table]:,} rows, not {count:,}"
        for table, count in wanted.items()
        if counted[table] != count
    )


_CONDITIONS = "tpcc/consistency.sql"
_NOT_KEPT = ("c10", "c12")


def conditions_on_its_tables(text: str) -> str:
    """The built-in workload's conditions for BenchBase's schema: one table has another name."""
    header, *blocks = re.split(r"^(?=-- name: )", text, flags=re.MULTILINE)
    kept = [block for block in blocks if block.split(";")[0].split()[-1] not in _NOT_KEPT]
    return header + re.sub(r"\borders\b", "oorder", "".join(kept))


# ------------------------------------------------------------------ the console


def _stamp(line: str) -> float | None:
    """Unix seconds of a line's time stamp, which is in UTC."""
    found = _STAMP.match(line)
    if found is None:
        return None
    return datetime.fromisoformat(found[1]).replace(tzinfo=UTC).timestamp()


def _progress(
    begun: Mapping[str, float], throughput_per_s: float, workload: Workload, now_s: float
) -> str:
    if _MEASURING not in begun:
        elapsed_s = now_s - begun.get(_BEGUN, now_s)
        return f"warm-up {elapsed_s:.0f}/{workload.warmup_s:g} s"
    if _ENDED in begun:
        return "waiting until BenchBase's terminals have ended"
    elapsed_s = now_s - begun[_MEASURING]
    rate = f"{format_number(throughput_per_s)} transactions/s"
    return f"measuring {elapsed_s:.0f}/{workload.measure_s:g} s: {rate}"


def _complaint(done: Completed) -> str:
    """The first line in which BenchBase, or Java, says what went wrong."""
    lines = [line for line in results.plain(done.out + done.err).splitlines() if line.strip()]
    bad = [line for line in lines if "ERROR" in line or "Exception" in line]
    return next(iter(bad or lines[-1:]), "no output")


def _tail(done: Completed) -> str:
    return results.plain(done.out + done.err)[-4000:]
