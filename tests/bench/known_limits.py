"""Limits known by construction, on real parts: the built-in PostgreSQL on emulated disks.

Each is one short run, with `--confirm` where that can change its limit. What a profile cannot say
is done beside the run, to its containers or to this machine, for as long as its load generator is
there (`BESIDE`).
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests import ROOT

# As much data as four times the memory of a small node; and as little as fits into any.
BIG = {"tables": 4, "table_size": 500_000}
SMALL = {"tables": 2, "table_size": 20_000}
FAST = {
    "iops": 20_000,
    "throughput": "500MB/s",
    "read_latency": "0.5ms",
    "write_latency": "0.5ms",
}
FAR = {**FAST, "read_latency": "10ms", "write_latency": "10ms"}
POLL_S, MEASURE_S = 0.5, 15


def reads(data: Mapping[str, int], threads: int, **options: Any) -> dict[str, Any]:
    return _workload(
        "sysbench/point_select.lua", "sysbench-tables", data, threads, options
    ) | {"writes": False}


def inserts(threads: int, **options: Any) -> dict[str, Any]:
    return _workload("sysbench/insert.lua", "sysbench-tables", SMALL, threads, options)


def orders(threads: int, weights: str) -> dict[str, Any]:
    """One warehouse; `weights`: of New-Order, Payment, Order-Status, Delivery, Stock-Level."""
    options = {"think": "none", "isolation": "read committed", "weights": weights}
    return _workload("tpcc/tpcc.lua", "tpcc", {"warehouses": 1}, threads, options)


def sums(threads: int) -> dict[str, Any]:
    """Ten sums over half of a small table each: much CPU of the server, little of its client."""
    options: dict[str, Any] = dict.fromkeys(
        ("point_selects", "simple_ranges", "order_ranges", "distinct_ranges"), 0
    )
    options |= {"rand_type": "uniform", "sum_ranges": 10, "range_size": 10_000}
    stock = _workload("oltp_read_only", "sysbench-stock", SMALL, threads, options)
    return stock | {"generator": "sysbench-stock", "writes": False}


def _workload(
    script: str,
    data: str,
    sizes: Mapping[str, int],
    threads: int,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    smoke = {"dataset": dict(sizes), "threads": threads, "loader_threads": 2}
    smoke |= {"warmup": "4s"}
    tables = {"statements_per_transaction": 10} if data == "sysbench-tables" else {}
    return {
        "title": "a known limit",
        "generator": "sysbench",
        "script": script,
        "dataset": data,
        "options": dict(options),
        "scales": {"smoke": smoke},
        **tables,
    }


@dataclass(frozen=True)
class Limit:
    """`causes`: names that are right. `lever`: what `--confirm` changes of it, if anything.
    `network`: the rate of each link, if that is limited.
    `beside`: of `BESIDE`. `of_cap`: it is measured on a fast disk first, whose IOPS shall then be
    that share of the cap. `both_caps`: it is measured with its IOPS capped first, and what these
    move is then the cap of its bandwidth."""

    causes: Sequence[str]
    workload: Mapping[str, Any]
    tier: Mapping[str, Any] = field(default_factory=dict)
    cpus: float = 1.0
    memory: str = "192MiB"
    nodes: int = 1
    lever: str = ""
    beside: str = ""
    network: str = ""
    of_cap: float | None = None
    both_caps: bool = False
    measure_s: int = MEASURE_S

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Its profile and its workload as files."""
        tier = {"enforcement": "emulated", **FAST, **self.tier}
        cluster = {
            "database": "postgresql",
            "nodes": self.nodes,
            "replication_factor": self.nodes,
            "node": {
                "smoke": {"cpus": self.cpus, "memory": self.memory, "disk": "2GiB"}
            },
        }
        cluster |= {"network": self.network} if self.network else {}
        profile = {"question": "Which limit has it?", "title": "known", "tier": tier}
        folder.mkdir(parents=True, exist_ok=True)
        files = folder / "known.yaml", folder / "load.yaml"
        files[0].write_text(yaml.safe_dump({**profile, "cluster": cluster}))
        scales = {
            "smoke": {
                **self.workload["scales"]["smoke"],
                "measure": f"{self.measure_s}s",
            }
        }
        files[1].write_text(yaml.safe_dump({**self.workload, "scales": scales}))
        return files


BURST = {"iops": 400, "burst": {"iops": 1_600, "duration": "8s", "start": "full"}}
EMPTY = {"iops": 400, "burst": {"iops": 1_600, "duration": "600s", "start": "empty"}}
LIMITS: Mapping[str, Limit] = {
    "IOPS cap": Limit(["iops_cap"], reads(BIG, 16), {"iops": 500}, lever="IOPS"),
    "bytes cap": Limit(
        ["bandwidth_cap"], reads(BIG, 16), {"throughput": "8MB/s"}, lever="bandwidth"
    ),
    "high latency": Limit(["latency_bound"], reads(BIG, 8), FAR, lever="disk latency"),
    "burst emptied in mid-run": Limit(
        ["burst_exhausted"], reads(BIG, 16), BURST, lever="IOPS"
    ),
    "burst emptied before it": Limit(["iops_cap"], reads(BIG, 16), EMPTY, lever="IOPS"),
    "node CPU (quota)": Limit(
        ["cpu_bound"], reads(SMALL, 8), cpus=0.3, lever="node CPU"
    ),
    "client CPU": Limit(
        ["client_bound"], reads(SMALL, 16), beside="slow client", lever="client CPU"
    ),
    "one core": Limit(["single_core"], sums(1), cpus=2.0, memory="512MiB"),
    "network": Limit(["network_bound"], reads(SMALL, 8), beside="narrow network"),
    "hot row": Limit(["contention"], orders(16, "0,100,0,0,0"), FAR, memory="512MiB"),
    "data in memory": Limit(["in_cache"], reads(SMALL, 1), cpus=2.0),
    "log sync alone": Limit(
        ["latency_bound"], inserts(4), FAR, memory="512MiB", lever="disk latency"
    ),
    "one slow node of three": Limit(
        ["slow_node"],
        inserts(6),
        cpus=0.5,
        memory="256MiB",
        nodes=3,
        beside="slow disk",
    ),
    # Two sessions that read: more of them would help, and so would a shorter read.
    "few sessions": Limit(
        ["few_sessions", "latency_bound"],
        reads(BIG, 2),
        memory="416MiB",
        lever="disk latency",
    ),
    "two within 5 %": Limit(
        ["unattributed"], reads(BIG, 16), {"iops": 1_000}, both_caps=True
    ),
    "cap at 87 % beside a full CPU": Limit(
        ["cpu_bound"], reads(BIG, 16), cpus=0.15, lever="node CPU", of_cap=0.87
    ),
    "cap reached 4 s in 10": Limit(
        ["iops_cap"],
        reads(BIG, 2),
        {"iops": 1_500},
        measure_s=120,  # so that each change lasts for a whole round of 10 s
        memory="416MiB",
        lever="IOPS",
        beside="reads at times",
    ),
    "served rate": Limit(["load_bound"], reads(SMALL, 8, arrival_rate=60)),
    "busy host": Limit(["machine_bound"], reads(SMALL, 8), beside="busy host"),
}


def _docker(*words: str) -> str:
    done = subprocess.run(
        ["docker", *words], stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip()


def running(name: str) -> str:
    """The one of the run that ends with this name, not of a gate or of what loads; "" if it is not
    there."""
    names = _docker(
        "ps", "--filter", "label=tierbench", "--format", "{{.Names}}"
    ).split()
    return next((full for full in names if full.endswith(f"-1-{name}")), "")


def _limit_client(stop: threading.Event) -> None:
    # As `--confirm` sets it: the engine refuses one form of a limit where it was given the other.
    _docker(
        "update", "--cpu-period", "100000", "--cpu-quota", "20000", running("client")
    )
    stop.wait()


def _narrow(stop: threading.Event) -> None:
    """1 Mbit/s out of the server's network namespace."""
    process = _docker("inspect", "--format", "{{.State.Pid}}", running("node-1"))
    shape = ["tc", "qdisc", "add", "dev", "eth0", "root", "tbf"]
    shape += ["rate", "1mbit", "burst", "4kb", "latency", "200ms"]
    subprocess.run(["nsenter", "--target", process, "--net", *shape], check=True)
    stop.wait()


def _slow_disk(stop: threading.Event) -> None:
    """The program that serves the first node's disk gets little CPU, as on a busy machine."""
    _docker("update", "--cpus", "0.01", running("disk-node-1"))
    stop.wait()


def _read_at_times(stop: threading.Event) -> None:
    """What the cap gives in 4 s, every 10 s: 64 programs in the node read past its cache."""
    script = (
        "file=$(find / -path '/proc' -prune -o -path '*/base/*' -type f -size +30M -print "
        "| head -1); for n in $(seq 64); do "
        "dd if=$file of=/dev/null bs=8k count=94 skip=$((n * 50)) iflag=direct 2>/dev/null & "
        "done; wait"
    )
    node = running("node-1")
    while not stop.is_set():
        work = subprocess.Popen(["docker", "exec", node, "sh", "-c", script])
        stop.wait(10)
        work.wait()


def _keep_busy(stop: threading.Event) -> None:
    """Four loops in containers of their own: outside of any the engine's containers may starve
    them."""
    image = _docker("inspect", "--format", "{{.Image}}", running("client"))
    command = ["run", "--detach", "--rm", "--init", "--entrypoint", "sh", image, "-c"]
    loops = [_docker(*command, "while :; do :; done") for _ in range(4)]
    stop.wait()
    _docker("kill", *loops)


BESIDE: Mapping[str, Callable[[threading.Event], None]] = {
    "slow client": _limit_client,
    "narrow network": _narrow,
    "slow disk": _slow_disk,
    "reads at times": _read_at_times,
    "busy host": _keep_busy,
}


@contextmanager
def beside(what: str) -> Iterator[None]:
    """Does it from when a load generator is there until the block ends."""
    stop = threading.Event()

    def wait_for_load() -> None:
        while not running("client"):
            if stop.wait(POLL_S):
                return
        BESIDE[what](stop)

    if what not in BESIDE:
        yield
        return
    thread = threading.Thread(target=wait_for_load, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=30)


def measure(limit: Limit, folder: Path) -> None:
    """One campaign of one run, kept under `folder`."""
    profile, workload = limit.write(folder)
    command = [
        *(sys.executable, "-m", "orchestrator", "run", "--profile", str(profile)),
        *("--workload", str(workload), "--scale", "smoke", "--db", "postgresql"),
        *(
            "--results",
            str(folder / "results"),
            *(["--confirm"] if limit.lever else []),
        ),
        *("--nodes", str(limit.nodes)),  # however few cores this machine has
    ]
    with beside(limit.beside):
        # A run that was repeated is judged too, though it makes the campaign inconclusive.
        subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False)
