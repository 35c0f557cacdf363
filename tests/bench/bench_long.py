"""What a campaign of two days costs this program: 500 runs in made-up time, then their report.

    make bench NAME=long [ARGS="--repeats 25 --nodes 3 --threads 1"]
    make bench NAME=long ARGS="--repeats 5 --times 10"    # 1,000 runs, of which 100 are made

Goal: memory of the program that measures, and memory and time of `tierbench analyze`, `report` and
`status`, as ratios of what they may take: 300 MB; 1 GB and 60 s, of `status` 1 s. CPU stands beside
the time, for a busy machine. Method: `run/experiment.execute` carries out the plan on the parts of
a rehearsal: five tiers × four workloads × 25 repetitions, each of 5.76 minutes, which a clock that
nobody waits for passes at once. It is asked at the end whether more runs are wanted, as a real
campaign is. Each run leaves telemetry of real length: a row a second of each counter of each node,
client and machine that were recorded in tests/fixtures/recorded-run. Transactions are made up;
there are as many as so many `threads` serve.

The programs are processes of their own. Memory is resident memory: of the one that measures also
with its parts imported and before each fiftieth run; its peak is before the report.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from orchestrator.databases.dry import DryDatabase
from orchestrator.load_generators.dry import DryGenerator
from orchestrator.model import Node, Phase, Plan, Run, Sample
from orchestrator.parts import ClientLoad, Parts
from orchestrator.planning.durations import timed
from orchestrator.platforms.dry import DryPlatform
from orchestrator.powers import World
from orchestrator.run import experiment
from orchestrator.run.runs_ahead import schedule
from orchestrator.system import run_folders, stored_json
from orchestrator.system.clock import MadeUpClock
from orchestrator.tiers.dry import DryTier
from tests import ROOT
from tests.bench.recorded_run import samples
from tests.fakes import QuietProgress
from tests.plans import a_profile, a_workload, planned
from tests.tiers import a_tier

TIERS = {
    "hdd": 500,
    "standard": 2_000,
    "premium": 5_000,
    "premium-v2": 10_000,
    "ultra": 20_000,
}
WORKLOADS = ("point-select", "point-select-20", "insert", "tpcc")
WARMUP_S, MEASURE_S, START_S = 45.6, 300.0, 1_750_000_000.0
MOST_MB, MOST_REPORT_MB = 300.0, 1000.0
MOST_S = {"analyze": 60.0, "report": 60.0, "status": 1.0}
EVERY = 50  # runs


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "--repeats", type=int, default=25, help="of each of 20 cells"
    )
    arguments.add_argument("--nodes", type=int, default=3)
    arguments.add_argument(
        "--threads", type=int, default=1, help="some 100 transactions/s each"
    )
    arguments.add_argument(
        "--times", type=int, default=1, help="each run so often, as more repetitions"
    )
    arguments.add_argument(
        "--make", type=Path, help="only make the runs, in this folder"
    )
    arguments.add_argument(
        "--campaign", type=Path, help="only report this one, already made"
    )
    asked = arguments.parse_args()
    if asked.make:
        carry_out(asked, asked.make)
        repeat((asked.make / "results" / "latest").resolve(), asked.times)
        return 0
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        made = asked.campaign or Path(folder) / "results" / "latest"
        if not asked.campaign:
            own = [
                sys.executable,
                "-m",
                "tests.bench.bench_long",
                *sys.argv[1:],
                "--make",
                folder,
            ]
            subprocess.run(own, check=True, cwd=ROOT)
        table = Table(
            "",
            "memory, MB",
            "of 1 GB",
            "may take, s",
            "time, s",
            "ratio",
            "CPU, s",
            "ratio",
        )
        for command, most_s in MOST_S.items():
            mb, took_s, cpu_s = reported(command, made)
            row = [f"{mb:.0f}", f"{mb / MOST_REPORT_MB:.2f}", f"{most_s:g}"]
            for seconds in (took_s, cpu_s):
                row += [f"{seconds:.1f}", f"{seconds / most_s:.2f}"]
            table.add_row(f"tierbench {command}", *row)
        Console().print(table)
    return 0


def reported(command: str, folder: Path) -> tuple[float, float, float]:
    """Peak of memory in MB, seconds, and seconds of CPU, of a command in a process of its own."""
    began_s = time.monotonic()
    words = [sys.executable, "-m", "orchestrator", command, str(folder)]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, (
        f"`tierbench {command}` ended with {process.returncode}"
    )
    cpu_s = used.ru_utime + used.ru_stime
    return used.ru_maxrss / 1024, time.monotonic() - began_s, cpu_s


# ------------------------------------------------------------------ the campaign


class LongCollector:
    """All seconds of a run at its first reading, each node's as they were recorded."""

    name = "simulated"

    def __init__(self) -> None:
        self.given = threading.Event()

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        if not self.given.is_set():
            for second in range(round(WARMUP_S + MEASURE_S)):
                yield from samples(nodes, second, now_s + second)
            self.given.set()


class LongGenerator(DryGenerator):
    """The rehearsal's, which begins when the run's telemetry is there."""

    def __init__(self, collector: LongCollector) -> None:
        self._collector = collector

    def run(self, load: ClientLoad) -> tuple[Phase, Phase]:
        self._collector.given.wait()
        return super().run(load)


class Told(QuietProgress):
    """Shows the memory before each fiftieth run, and clears what was said until then."""

    def __init__(self, collector: LongCollector) -> None:
        super().__init__()
        self._collector, self._began_s = collector, time.monotonic()

    def run(self, title: str, number: int, total: int, left_s: float) -> None:
        self._collector.given.clear()
        if number % EVERY == 1:
            took_s = time.monotonic() - self._began_s
            print(
                f"before run {number} of {total}: {resident_mb():.0f} MB, {took_s:.0f} s"
            )
            self.said.clear()


def carry_out(asked: argparse.Namespace, folder: Path) -> None:
    print(f"parts imported: {resident_mb():.0f} MB")
    collector = LongCollector()
    platform: Any = DryPlatform()
    clock, progress = MadeUpClock(START_S), Told(collector)
    world = World(clock, None, platform, progress, folder / "cache", ROOT)  # type: ignore[arg-type]
    generator = LongGenerator(collector)
    parts = Parts(
        {"postgresql": DryDatabase()},
        {"sysbench": generator},
        {"emulated": DryTier()},
        (collector,),
    )
    following = schedule.retried, partial(schedule.decided, progress)
    experiment.execute(
        a_long_plan(asked), parts, world, folder / "results", {}, following
    )
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"at the end: {resident_mb():.0f} MB; peak {peak_mb:.0f}, {peak_mb / MOST_MB:.2f} of 300 MB"
    )


def a_long_plan(asked: argparse.Namespace) -> Plan:
    profiles = [
        replace(
            a_profile(name, asked.nodes),
            tier=a_tier(name, name, "emulated", iops, 200_000_000, 0.001, 0.001),
        )
        for name, iops in TIERS.items()
    ]
    workloads = [
        replace(
            a_workload(name),
            warmup_s=WARMUP_S,
            measure_s=MEASURE_S,
            threads=asked.threads,
        )
        for name in WORKLOADS
    ]
    return timed(planned(profiles, workloads, asked.repeats))


def repeat(campaign: Path, times: int) -> None:
    """Makes each run of a campaign `times` as often: the same files as further repetitions. What
    they cost to judge is what other runs would; their figures say nothing."""
    plan_file = campaign / "plan.json"
    plan = stored_json.plain(plan_file)
    made = list(plan["runs"])
    for more in range(1, times):
        for run in made:
            further = {
                **run,
                "number": run["number"] + more * len(made),
                "repetition": run["repetition"] + more * plan["repetitions"],
            }
            plan["runs"].append(further)
            before = campaign / "runs" / Run(**run).slug
            _repeat_run(before, campaign / "runs" / Run(**further).slug, further)
    plan["repetitions"] *= times
    _write_sealed(plan_file, plan)


def _repeat_run(before: Path, after: Path, run: dict[str, Any]) -> None:
    """The same files under another number, but for the record."""
    shutil.copytree(before, after, copy_function=os.link)
    file = after / run_folders.RECORD
    _write_sealed(file, {**stored_json.plain(file), "run": run})


def _write_sealed(file: Path, content: dict[str, Any]) -> None:
    """Over what was there, with the checksum of this content."""
    del content[stored_json.CHECKSUM]
    stored_json.write(file, content)


def resident_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(
        int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")
    )


if __name__ == "__main__":
    sys.exit(main())
