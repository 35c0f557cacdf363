"""What sampling costs a cluster that is measured: `make bench NAME=telemetry`.

    python -m tests.bench.bench_telemetry [--seconds 120] [--block 5]

Three nodes of PostgreSQL on one disk each, read once a second by all collectors, those of sessions
too. Goals: below 0.5 % of a core, and throughput with sampling ÷ without not below 0.97 (lower end
of the interval of 90 %). Method: one load, in which sampling is on and off in blocks that take
turns; a block and the mean of its neighbours are one ratio. CPU is this program's in blocks with
sampling less that in blocks without. Beside it, under the same load, `docker stats` (its own
process and the engine's growth) and `sar 1` where they are installed.
"""

from __future__ import annotations

import argparse
import math
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev

from scipy.stats import t as student

from orchestrator.analysis.results import RunData
from orchestrator.cli import main as command_line
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.collectors.sessions import session_waits
from orchestrator.model import Cluster, Node, Sample
from orchestrator.parts import Collector, Parts
from orchestrator.powers import Platform
from orchestrator.system import store
from tests.bench import known_limits

GOAL_CPU_PCT, GOAL_RATIO, NODES = 0.5, 0.97, 3
BESIDE_S = 15.0  # for each of the other programs
TICKS_PER_S = 100.0


@dataclass
class Switch:
    """Whether a moment is in a block with sampling. Blocks count from the window's begin."""

    block_s: float

    def on(self, now_s: float) -> bool:
        return int(now_s // self.block_s) % 2 == 0


@dataclass
class Switched:
    """A collector that reads nothing in blocks without sampling."""

    inner: Collector
    switch: Switch

    def __post_init__(self) -> None:
        self.name = self.inner.name

    def read(self, nodes: Sequence[Node], now_s: float) -> Iterable[Sample]:
        return self.inner.read(nodes, now_s) if self.switch.on(now_s) else ()


@dataclass
class Used:
    """CPU that this program used in whole blocks, in s a second; and where the clock stood."""

    switch: Switch
    blocks: list[tuple[float, float]]
    over: threading.Event

    def watch(self) -> None:
        block_s = self.switch.block_s
        while not self.over.is_set():
            begin_s = math.ceil(time.time() / block_s) * block_s
            if self.over.wait(begin_s - time.time()):
                return
            before_s = time.process_time()
            if self.over.wait(begin_s + 0.98 * block_s - time.time()):
                return
            self.blocks.append(
                (begin_s, (time.process_time() - before_s) / (0.98 * block_s))
            )

    def pct(self, sampling: bool, window: tuple[float, float]) -> list[float]:
        return [
            100 * used
            for begin_s, used in self.blocks
            if window[0] <= begin_s <= window[1] - self.switch.block_s
            and self.switch.on(begin_s) == sampling
        ]


def switched_app(switch: Switch) -> CampaignApp:
    """The program with collectors that are switched."""
    app = CampaignApp()

    def parts(platform: Platform | None = None) -> Parts:
        every = app.parts(platform)
        return replace(
            every,
            collectors=[Switched(own, switch) for own in every.collectors],
            connected=switched_waits,
        )

    @contextmanager
    def switched_waits(cluster: Cluster) -> Iterator[Sequence[Collector]]:
        with session_waits(cluster) as every:
            yield [Switched(own, switch) for own in every]

    return replace(app, parts=parts)


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean, and the two ends of its interval of 90 %."""
    half = (
        float(student.ppf(0.95, len(values) - 1))
        * stdev(values)
        / math.sqrt(len(values))
    )
    return fmean(values), fmean(values) - half, fmean(values) + half


def cpu_s(process: int) -> float:
    """User and system time of a process, without its children."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def beside(command: Sequence[str], server: str = "") -> float | None:
    """CPU of a program, in % of a core, with what that of the server named so has grown by against
    a time as long without it; None if it is not installed."""
    if not shutil.which(command[0]):
        return None
    names = {
        int(path.parent.name): path.read_text().strip()
        for path in Path("/proc").glob("[0-9]*/comm")
    }
    servers = [process for process, name in names.items() if name == server]
    before_s = [cpu_s(process) for process in servers]
    time.sleep(BESIDE_S)
    alone_s = [cpu_s(process) - s for process, s in zip(servers, before_s, strict=True)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as program:
        before_s = [cpu_s(process) for process in servers]
        time.sleep(BESIDE_S)
        used_s = cpu_s(program.pid) + _of_children_s(program.pid)
        used_s += sum(
            cpu_s(process) - s for process, s in zip(servers, before_s, strict=True)
        )
        program.kill()
    return 100 * (used_s - sum(alone_s)) / BESIDE_S


def _of_children_s(process: int) -> float:
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return sum(cpu_s(int(child)) for child in children)


PROGRAMS = {
    "docker stats": (["docker", "stats"], "dockerd"),
    "sar 1": (["sar", "1"], ""),
}


def measured_run(
    app: CampaignApp, results: str, workload: str, seconds: float
) -> RunData:
    words = ["run", "--profile", "ultra", "--workload", workload, "--scale", "smoke"]
    words += ["--db", "postgresql", "--nodes", str(NODES), "--results", results]
    if code := command_line.exit_code([*words, "--set", f"measure={seconds:g}s"], app):
        raise SystemExit(code)
    (run,) = store.load(Path(results) / "latest").done
    return run


def ratios(run: RunData, switch: Switch, window: tuple[float, float]) -> list[float]:
    """Throughput of each block with sampling over the mean of its two neighbours without."""
    rates: dict[int, list[float]] = {}
    intervals = run.intervals[["time_s", "throughput_per_s"]]
    for time_s, rate in intervals.itertuples(index=False, name=None):
        if window[0] <= time_s <= window[1] - 1:
            rates.setdefault(int(time_s // switch.block_s), []).append(float(rate))
    whole = {
        number: fmean(own)
        for number, own in rates.items()
        if len(own) >= switch.block_s - 1
    }
    return [
        rate / fmean([whole[number - 1], whole[number + 1]])
        for number, rate in whole.items()
        if number % 2 == 0 and {number - 1, number + 1} <= set(whole)
    ]


def others_beside_a_load(
    app: CampaignApp, results: str, workload: str
) -> dict[str, float | None]:
    """What other programs that watch use, each on the same load."""
    found: dict[str, float | None] = {}

    def look() -> None:
        while not known_limits.running("client"):
            time.sleep(0.5)
        time.sleep(10)
        found.update({name: beside(*command) for name, command in PROGRAMS.items()})

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    measured_run(app, results, workload, 2 * BESIDE_S * len(PROGRAMS) + 15)
    thread.join(timeout=60)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--block", type=float, default=5.0)
    parser.add_argument("--workload", default="insert")
    asked = parser.parse_args()
    switch = Switch(asked.block)
    used, app = Used(switch, [], threading.Event()), switched_app(switch)
    threading.Thread(target=used.watch, daemon=True).start()
    with tempfile.TemporaryDirectory() as results:
        run = measured_run(app, results, asked.workload, asked.seconds)
        used.over.set()
        others = others_beside_a_load(app, results, asked.workload)
    measure = run.record.phase("measure")
    assert measure is not None
    window = measure.start_s, measure.end_s
    return told(ratios(run, switch, window), used, window, others)


def told(
    each: Sequence[float],
    used: Used,
    window: tuple[float, float],
    others: dict[str, float | None],
) -> int:
    ratio, low, high = interval(each)
    sampling, without = used.pct(True, window), used.pct(False, window)
    cpu_pct = fmean(sampling) - fmean(without)
    print("| what | CPU, % of a core |")
    print("| --- | ---: |")
    print(f"| sampling of {NODES} nodes, by this program | {cpu_pct:.2f} |")
    for name, pct in others.items():
        print(f"| `{name}` | {'not installed' if pct is None else f'{pct:.2f}'} |")
    what = "throughput with sampling ÷ without"
    print(f"{what}: {ratio:.3f} ({low:.3f} to {high:.3f}), {len(each)} pairs")
    met = cpu_pct < GOAL_CPU_PCT and low >= GOAL_RATIO
    print(
        f"goals (< {GOAL_CPU_PCT} % of a core, ≥ {GOAL_RATIO}): {'met' if met else 'missed'}"
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
