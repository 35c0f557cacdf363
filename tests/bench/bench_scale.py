"""What a run on a hundred nodes with fifty clients costs this program, on a simulated platform.

    make bench NAME=scale [ARGS="--nodes 100 --clients 50 --transactions 100000000 --hours 0.2"]

Goal: wall time, CPU and memory of the orchestrator at a size that nobody has at hand, stage by
stage, so that what limits it is seen. Method: `run/experiment.execute` carries out one run of the
built-in PostgreSQL form (one primary, all others standbys) and the real code of sysbench's records.
Nothing is started: the platform waits as long as an engine took here (LATENCY_S), SQL answers at
once. What clients and collectors leave is that of a real run of the TPC-C-derived mix, a minute of
one node, its disk's server, client and machine (tests/fixtures/recorded-run, with its source):
each node goes through its counters again and again, beginning at another second; latencies are
drawn from its distributions by type, and made shorter by one factor so that the threads serve as
many transactions as are asked for. Records are written beforehand by another process; telemetry has
all its seconds at once. Memory is the peak of resident memory in each stage (VmHWM of
/proc/self/status).

Not in it: the time of the database and of the measured window, and what a platform's own client
needs for each call.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from orchestrator.databases.postgresql import PostgreSQL
from orchestrator.facts import DatabaseFacts
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.load_generators.sysbench.records import RECORD
from orchestrator.model import (
    Cluster,
    ClusterSpec,
    Node,
    Phase,
    Sample,
    Volume,
    Workload,
)
from orchestrator.parts import ClientLoad, Disks, NodesData, Parts
from orchestrator.powers import Completed, ContainerSpec, ContainerState, World
from orchestrator.report.sections import latency
from orchestrator.run import experiment
from orchestrator.system import store
from orchestrator.system.clock import SystemClock
from orchestrator.tier import Tier
from orchestrator.tiers.dry import DryTier
from tests.bench.recorded_run import RECORDED, samples
from tests.bench.stages import Stages
from tests.fakes import FakeContainer, FakeImages, FakePlatform, QuietProgress
from tests.plans import a_profile, a_workload, planned

# Medians of 8 containers (48 calls of exec and state, 24 of logs) on a Docker engine 29 of a
# machine with 2 cores that others used too.
LATENCY_S = {
    "start": 0.60,
    "remove": 0.12,
    "stop": 0.22,
    "exec": 0.134,
    "state": 0.0077,
    "logs": 0.061,
}
THREADS = 8  # of a client
START_S, WARMUP_S = 1_000_000.0, 30.0
LOG = "LOG:  checkpoint complete: wrote 1000 buffers\n" * 2000


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--nodes", type=int, default=100)
    arguments.add_argument("--clients", type=int, default=50)
    arguments.add_argument("--transactions", type=float, default=1e8)
    arguments.add_argument(
        "--hours", type=float, default=0.2, help="of the measured window"
    )
    arguments.add_argument("--make", help="only write records to this folder")
    asked = arguments.parse_args()
    if asked.make:
        make_records(Path(asked.make), asked)
        return 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        raw = Path(folder) / "records"
        raw.mkdir()
        subprocess.run(
            [
                sys.executable,
                "-m",
                "tests.bench.bench_scale",
                *sys.argv[1:],
                "--make",
                str(raw),
            ],
            check=True,
        )
        Console().print(carried_out(asked, raw, Path(folder)))
    return 0


# ------------------------------------------------------------------ what clients leave


def make_records(out: Path, asked: argparse.Namespace) -> None:
    """Closed loops: each thread's transactions one after the other."""
    dice = np.random.default_rng(1)
    count = math.ceil(asked.transactions / (asked.clients * THREADS))
    duration_us = (WARMUP_S + asked.hours * 3600) * 1e6
    kinds = RECORDED["transactions"]
    shares = np.array([kind["share"] for kind in kinds.values()])
    latencies_us = np.array([kind["latency_us"] for kind in kinds.values()])
    for client, thread in itertools.product(
        range(1, asked.clients + 1), range(THREADS)
    ):
        rows = np.zeros(count, RECORD)
        rows["type"] = dice.choice(len(kinds), count, p=shares / shares.sum())
        place = dice.random(count) * (latencies_us.shape[1] - 1)
        low = place.astype(np.intp)
        below, above = (
            latencies_us[rows["type"], low],
            latencies_us[rows["type"], low + 1],
        )
        latency_us = below + (place - low) * (above - below)
        latency_us *= duration_us / latency_us.sum()
        rows["latency_us"] = latency_us
        rows["start_ns"] = START_S * 1e9 + 1000 * (np.cumsum(latency_us) - latency_us)
        rows["outcome"] = np.where(dice.random(count) < 0.005, 1, 0)
        folder = out / f"client-{client}"
        folder.mkdir(exist_ok=True)
        rows.tofile(folder / f"latency-{thread}.bin")
        (folder / "recorder.json").write_text(json.dumps({"types": list(kinds)}))
        (folder / "sysbench.out").write_text("")


# ------------------------------------------------------------------ the simulated outside


class EveryImage(FakeImages):
    def present(self, tag: str) -> bool:
        return True


class SimulatedPlatform(FakePlatform):
    """Answers as late as an engine does, and counts its calls."""

    def __init__(self) -> None:
        super().__init__(answer=lambda *_: "")
        self.images = EveryImage((), (), self.asked)
        self.calls = dict.fromkeys(LATENCY_S, 0)

    def _takes(self, call: str) -> None:
        self.calls[call] += 1
        time.sleep(LATENCY_S[call])

    @contextmanager
    def running(self, spec: ContainerSpec) -> Iterator[FakeContainer]:
        self._takes("start")
        with super().running(spec) as container:
            yield replace(container, process_id=None)
            self._takes("remove")

    def exec(self, container: str, argv: Sequence[str], **options: Any) -> Completed:
        self._takes("exec")
        return super().exec(container, argv, **options)

    def state(self, container: str) -> ContainerState:
        self._takes("state")
        return super().state(container)

    def stop(self, container: str, timeout_s: float) -> None:
        self._takes("stop")

    def logs(self, container: str, tail: int | None = None) -> str:
        self._takes("logs")
        return LOG if tail is None else "database system is shut down\n"


class Answers:
    """A session with the primary, whose standbys have all caught up."""

    def __init__(self, standbys: int) -> None:
        self._row = {"server_version": "17.2", "replicas_caught_up": standbys}

    def rows(self, sql: str) -> list[dict[str, Any]]:
        return [self._row]

    def copy(self, sql: str, text: str) -> None: ...


class SimulatedPostgreSQL(PostgreSQL):
    """The nodes of the real one; it has no tables to warm and no facts to read."""

    def check(self, spec: ClusterSpec, world: World) -> None:
        """More standbys than a user would have."""

    def settle(self, cluster: Cluster, world: World) -> None: ...

    def warm(self, cluster: Cluster, world: World) -> None: ...

    def facts(self, cluster: Cluster, world: World) -> DatabaseFacts:
        return DatabaseFacts()


class SimulatedTier(DryTier):
    """Disks that a container of each serves; they take no time to make, and hold no data yet."""

    name = "emulated"

    def snapshots(self, *_: Any) -> tuple[Path, ...]:
        return ()

    @contextmanager
    def attached(self, tier: Tier, data: NodesData, world: World) -> Iterator[Disks]:
        numbers = range(len(data.sizes_bytes))
        servers = [
            Node(f"disk-{number}", "disk", f"disk-{number}") for number in numbers
        ]
        volumes = (
            Volume(one.name, "", restored=True, server=one, kept=False)
            for one in servers
        )
        yield Disks(tuple(volumes), {})


class SimulatedCollector:
    """All seconds of the run at its first reading, each node's as they were recorded."""

    name = "simulated"

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self.done = threading.Event()

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        for second in range(0 if self.done.is_set() else self._seconds):
            yield from samples(nodes, second, START_S + second)
        self.done.set()


class SimulatedClients(Sysbench):
    """Clients that have left `raw` when their window is over, which is at once."""

    def __init__(
        self, raw: Path, collector: SimulatedCollector, stages: Stages
    ) -> None:
        self._raw, self._collector, self._stages = raw, collector, stages

    @contextmanager
    def client(self, *arguments: Any) -> Iterator[Node]:
        with super().client(*arguments) as client:
            yield client
            if client.name == "client-1":
                self._stages.begin("take all down, keep the nodes' logs")

    def load(
        self, workload: Workload, cluster: Cluster, client: Node, world: World
    ) -> None:
        self._stages.begin("checkpoints before the run")

    def run(self, load: ClientLoad) -> tuple[Phase, Phase]:
        share = load.share
        assert share is not None, "there are several clients"
        for file in (self._raw / load.client.name).iterdir():
            os.link(file, load.out / file.name)
        if share.number == 1:
            self._stages.begin("telemetry of the whole window")
            self._collector.done.wait()
        share.begin()
        if share.number == 1:
            self._stages.begin("disks' counters at the end")
        middle_s = START_S + WARMUP_S
        warmup = Phase("warm-up", START_S, middle_s)
        return warmup, Phase("measure", middle_s, middle_s + load.workload.measure_s)

    def verify(
        self, workload: Workload, cluster: Cluster, world: World
    ) -> dict[str, Any]:
        self._stages.begin("merge records, compute figures")
        return {}

    def result(self, *arguments: Any) -> Any:
        result = super().result(*arguments)
        self._stages.begin("write records and samples")
        return result


# ------------------------------------------------------------------ measuring


class Told(QuietProgress):
    """The steps of the orchestrator begin stages."""

    def __init__(self, stages: Stages) -> None:
        super().__init__()
        self._stages = stages

    def step(self, text: str, expected_s: float | None = None) -> None:
        names = {
            "starting": "start nodes and clients",
            "warm-up,": "disks' counters at the begin",
        }
        if name := names.get(text.split()[0]):
            self._stages.begin(name)


def carried_out(asked: argparse.Namespace, raw: Path, folder: Path) -> Table:
    stages, collector = Stages(), SimulatedCollector(round(asked.hours * 3600))
    stages.begin("check and plan")
    platform = SimulatedPlatform()
    world = World(
        SystemClock(),
        None,  # type: ignore[arg-type]
        platform,
        Told(stages),
        folder,
        Path(__file__).parents[2],
    )
    workload = replace(
        a_workload("tpcc"),
        script="tpcc/tpcc.lua",
        warmup_s=WARMUP_S,
        measure_s=asked.hours * 3600,
        statements_per_transaction=None,
        threads=THREADS * asked.clients,
    )
    profile = a_profile(nodes=asked.nodes)
    cluster = replace(profile.cluster, clients=asked.clients)
    plan = planned([replace(profile, cluster=cluster)], [workload])
    parts = Parts(
        {
            "postgresql": SimulatedPostgreSQL(
                lambda *_: nullcontext(Answers(asked.nodes - 1))
            )
        },
        {"sysbench": SimulatedClients(raw, collector, stages)},
        {"emulated": SimulatedTier()},
        (collector,),
    )
    campaign = experiment.execute(plan, parts, world, folder / "results", {})
    stages.begin("read it back")
    (run,) = store.load(campaign).runs
    sampled = sum(map(len, run.sampled.parts()))
    assert run.record.outcome == "done", run.record.failure
    stages.begin("latency by percentile, from the stored records")
    latency.of_runs([run], ["all"])
    stages.end()
    return stages.table(
        f"{asked.nodes} nodes, {asked.clients} clients, {asked.transactions:,.0f} transactions, "
        f"{sampled:,} samples; calls: {platform.calls}"
    )


if __name__ == "__main__":
    sys.exit(main())
