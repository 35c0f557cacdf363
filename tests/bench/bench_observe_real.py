"""What an observation predicts of smaller disks, held against those disks: with PostgreSQL.

    make bench NAME=observe_real ARGS="--folder /tmp/observed --seeds 5 --minutes 30"

Goal: the bands hold what real parts do. Method: pgbench with a seeded schedule of rates (`-R`, an
open load) on a PostgreSQL of little memory, on an emulated disk of 20,000 IOPS whose counters are
read every second; the same schedule then on disks on which 0.5, 5 and 30 % of the seconds are
predicted to be at the cap, of which the share is read from their own counters. What is finished
stays in the folder, and the same line goes on. Needs root, Docker and the image of PostgreSQL
(`make setup`); nothing else may run. Exit 1 if fewer than nine in ten bands hold.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from orchestrator.analysis.observed.demand import QUANTITIES, Demand, demands, grown
from orchestrator.analysis.observed.judging import Observed, judged
from orchestrator.analysis.observed.replay import ENDS, RateCap, together
from orchestrator.cli import root
from orchestrator.platforms import own_images

FAST, SHARES = 20_000, (0.005, 0.05, 0.3)
Size = tuple[int, str]  # scale of pgbench, 15 MB each, and memory, which holds less
SIZE: Size = 50, "320m"
UNIT_BYTES = 2**18
NAME = "observe-trial"
PROFILE = """title: {iops} IOPS
question: What does an observation predict?
cluster: azure-d8s-v5
tier: {{iops: {iops}, throughput: 500MB/s, read_latency: 0.3ms, write_latency: 0.3ms}}
"""


def run(*words: str) -> str:
    """What a command prints; what it says if it fails is shown."""
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE).stdout


def tierbench(*words: str) -> str:
    return run(str(root() / ".venv/bin/tierbench"), *words)


@contextmanager
def disk(folder: Path) -> Iterator[tuple[Path, str]]:
    """A fast one, because tables are loaded first: where it is mounted, and its device."""
    profile, at = folder / "disk.yaml", folder / "mnt"
    profile.write_text(PROFILE.format(iops=FAST))
    at.mkdir(exist_ok=True)
    tierbench("disk", "up", str(profile), "--at", str(at), "--size", "4GiB", "--name", NAME)
    try:
        mounts = Path("/proc/self/mounts").read_text().splitlines()
        (source,) = (line.split()[0] for line in mounts if line.split()[1] == str(at))
        yield at, Path(source).name
    finally:
        tierbench("disk", "down", NAME, "--yes")


@contextmanager
def database(at: Path, size: Size) -> Iterator[None]:
    """A PostgreSQL whose data are on the disk, with the tables of pgbench."""
    scale, memory = size
    (at / "pg").mkdir(exist_ok=True)
    run("chmod", "0777", str(at / "pg"))
    script = (
        "initdb -D /data/pg/d -A trust >/dev/null && exec postgres -D /data/pg/d"
        " -c shared_buffers=32MB -c listen_addresses= -c unix_socket_directories=/tmp"
        " -c max_wal_size=256MB -c checkpoint_timeout=60s"
    )
    image = own_images.tag(root(), "postgres")
    limits = ("--memory", memory, "--memory-swap", memory, "--network", "none")
    shell = (
        "--entrypoint",
        "sh",
        image,
        "-c",
        f"PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin); {script}",
    )
    run(
        "docker",
        "run",
        "-d",
        "--rm",
        "--user",
        "postgres",
        "--name",
        NAME,
        *limits,
        "-v",
        f"{at}:/data",
        *shell,
    )
    try:
        for _ in range(60):
            time.sleep(1)
            if "1" in psql("select 1", check=False):
                break
        pgbench("-i", "-q", "-s", str(scale))
        yield
    finally:
        run("docker", "rm", "-f", NAME)


def psql(query: str, check: bool = True) -> str:
    words = ["docker", "exec", NAME, "sh", "-c", f'psql -h /tmp -At -c "{query}" postgres']
    done = subprocess.run(words, check=check, text=True, capture_output=True)
    return done.stdout


def pgbench(*options: str) -> None:
    path = "PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin)"
    words = f"{path}; pgbench -h /tmp {' '.join(options)} postgres >/dev/null 2>&1"
    subprocess.run(["docker", "exec", NAME, "sh", "-c", words], check=True)


def load(seed: int, seconds: float) -> None:
    """Steps of 5 to 20 s at rates of transactions that differ by a hundred times."""
    steps, end_s = random.Random(seed), time.monotonic() + seconds
    while (left_s := end_s - time.monotonic()) > 3:
        rate, length_s = 2 ** steps.uniform(0, 6.6), steps.uniform(5, 20)
        pgbench(
            f"--random-seed={steps.getrandbits(30)}",
            "-n",
            "-c8",
            "-j2",
            f"-R{rate:.1f}",
            f"-T{max(2, round(min(length_s, left_s)))}",
        )


def counted(device: str, stop: threading.Event, rows: list[list[float]]) -> None:
    """Counters of the device every second, with the time of the reading."""
    while not stop.wait(1 - time.time() % 1):
        for line in Path("/proc/diskstats").read_text().splitlines():
            words = line.split()
            if words[2] == device:
                reads, read_sectors, writes, written = (float(words[n]) for n in (3, 5, 7, 9))
                rows.append([time.time(), reads, writes, 512 * read_sectors, 512 * written])


def demand_on(folder: Path, iops: int, seed: int, seconds: float, size: Size = SIZE) -> Demand:
    """What was served on such a disk under the schedule; measured once, and kept."""
    kept = folder / f"seed-{seed}-{iops}.json"
    if not kept.exists():
        rows, stop = list[list[float]](), threading.Event()
        with disk(folder) as (at, device), database(at, size):
            psql("checkpoint")  # what loading has left to write is no part of the load
            run("sync", "-f", str(at))
            tierbench("disk", "set", NAME, f"iops={iops}")
            reader = threading.Thread(target=counted, args=(device, stop, rows))
            reader.start()
            load(seed, seconds)
            stop.set()
            reader.join()
        kept.write_text(json.dumps(rows))
    table = pd.DataFrame(json.loads(kept.read_text()), columns=["time_s", *QUANTITIES])
    (demand,) = demands(grown(table.assign(node="db", device="disk")))
    return demand


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=30)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    held = []
    for seed in range(asked.seeds):
        fast = demand_on(asked.folder, FAST, seed, 60 * asked.minutes)
        for share in SHARES:
            iops = round(Observed((fast,), share / 0.9).needs[0])
            cap = RateCap("IOPS", "ios", iops, iops)
            said = judged(fast, (cap,), UNIT_BYTES)
            there = demand_on(asked.folder, iops, seed, 60 * asked.minutes)
            # It serves what it can and cannot ask for more: the share of seconds that it served so.
            low, high = (together(there, [cap], UNIT_BYTES, end).asks.mean() for end in ENDS)
            held.append(said.less <= high and low <= said.more)
            print(
                f"seed {seed}, {iops} IOPS: said {100 * said.waits[0]:.2f} to "
                f"{100 * said.queues[1]:.2f} %, with a tenth less or more {100 * said.less:.2f} to "
                f"{100 * said.more:.2f} %, "
                f"there {100 * low:.2f} to {100 * high:.2f} %{'' if held[-1] else '  missed'}",
                flush=True,
            )
    print(f"{sum(held)} of {len(held)} bands hold")
    return 0 if sum(held) >= 0.9 * len(held) else 1


if __name__ == "__main__":
    sys.exit(main())
