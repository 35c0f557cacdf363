"""A PostgreSQL on a standing disk of its own, under a seeded schedule of pgbench."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from orchestrator.cli import root
from orchestrator.platforms import own_images

Load = Literal["open", "closed"]

FAST = 20_000
PROFILE = f"""title: a fast disk
question: What does an observation predict?
cluster: azure-d8s-v5
tier: {{iops: {FAST}, throughput: 500MB/s, read_latency: 0.3ms, write_latency: 0.3ms}}
"""
_ONE = threading.Lock()  # disks are put up and taken down one at a time
_PROGRAMS = "PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin)"


def run(*words: str) -> str:
    """What a command prints; what it says if it fails is shown."""
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE).stdout


def tierbench(*words: str) -> str:
    with _ONE:
        return run(str(root() / ".venv/bin/tierbench"), *words)


@dataclass(frozen=True)
class Server:
    """A disk of its own and a PostgreSQL on it, both called `name`. `folder` has the image;
    settings: more options of PostgreSQL."""

    folder: Path
    name: str
    memory: str
    settings: str = ""

    @property
    def image(self) -> Path:
        """Not where disks are mounted: what serves one would hold the mounts beside it."""
        return self.folder / "images" / f"{self.name}.img"

    @contextmanager
    def disk(self) -> Iterator[str]:
        """Put up fast, because a database starts first; its device, as in /proc/diskstats."""
        profile, at = (
            self.folder / f"{self.name}.yaml",
            self.folder / f"{self.name}.mnt",
        )
        profile.write_text(PROFILE)
        at.mkdir(exist_ok=True)
        of = ("--at", str(at), "--name", self.name, "--data", str(self.image))
        size = () if self.image.exists() else ("--size", "4GiB")
        tierbench("disk", "up", str(profile), *of, *size)
        try:
            mounts = Path("/proc/self/mounts").read_text().splitlines()
            (source,) = (
                line.split()[0] for line in mounts if line.split()[1] == str(at)
            )
            (at / "pg").mkdir(exist_ok=True)
            (at / "pg").chmod(0o777)
            yield Path(source).name
        finally:
            tierbench("disk", "down", self.name, "--yes")

    @contextmanager
    def database(self) -> Iterator[None]:
        """Started on the data of the disk, which are made if there are none."""
        script = (
            f"{_PROGRAMS}; [ -d /data/pg/d ] || initdb -D /data/pg/d -A trust >/dev/null;"
            " exec postgres -D /data/pg/d -c shared_buffers=32MB -c listen_addresses="
            " -c unix_socket_directories=/tmp -c max_wal_size=256MB -c checkpoint_timeout=60s"
            f" -c max_connections=300 {self.settings}"
        )
        limits = (
            f"--memory={self.memory}",
            f"--memory-swap={self.memory}",
            "--network=none",
        )
        data = ("-v", f"{self.folder / self.name}.mnt:/data", "--entrypoint", "sh")
        image = own_images.tag(root(), "postgres")
        whose = ("--rm", "--user", "postgres", "--name", self.name)
        run("docker", "run", "-d", *whose, *limits, *data, image, "-c", script)
        try:
            for _ in range(60):
                time.sleep(1)
                if (
                    self.shell(
                        "psql -h /tmp -Atc 'select 1' postgres 2>/dev/null", False
                    )
                    == "1\n"
                ):
                    break
            yield
        finally:
            subprocess.run(
                ["docker", "rm", "-f", self.name], check=False, capture_output=True
            )

    def shell(self, words: str, check: bool = True) -> str:
        command = ("docker", "exec", self.name, "sh", "-c", f"{_PROGRAMS}; {words}")
        return subprocess.run(
            command, check=check, text=True, stdout=subprocess.PIPE
        ).stdout

    def counted(
        self, device: str, stop: threading.Event, rows: list[list[float]]
    ) -> None:
        """Counters of the device every second, with the time of the reading."""
        while not stop.wait(1 - time.time() % 1):
            for line in Path("/proc/diskstats").read_text().splitlines():
                words = line.split()
                if words[2] == device:
                    reads, read_sectors, writes, written = (
                        float(words[n]) for n in (3, 5, 7, 9)
                    )
                    rows.append(
                        [time.time(), reads, writes, 512 * read_sectors, 512 * written]
                    )

    def asked(self, stop: threading.Event, said: list[list[float]]) -> None:
        """Each second what the disk itself says: the time, how long I/Os have waited for its
        limits, and the share of a full bucket (NaN without one)."""
        name = f"tierbench-standing-{self.name}"
        process = run("docker", "inspect", "--format", "{{.State.Pid}}", name).strip()
        control = f"/proc/{process}/root/run/tierbench/{name}/control"
        while not stop.wait(1 - time.time() % 1):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as disk:
                disk.connect(control)
                disk.send(b"stats\n")
                own = json.loads(disk.recv(4096))
            waited_s, credit = (
                (own[way]["waited_s"] for way in ("read", "write")),
                own["iops_credit"],
            )
            said.append(
                [time.time(), sum(waited_s), np.nan if credit is None else credit]
            )


def schedule(load: Load, seed: int, seconds: float) -> Iterator[tuple[float, str]]:
    """When each step of 5 to 20 s begins, and its options: arrivals at rates that differ by a
    hundred times, all of which are served, if later; or sessions that think between transactions,
    which end with their step."""
    drawn, at_s = random.Random(seed), 0.0
    while at_s < seconds - 3:
        length_s = round(min(drawn.uniform(5, 20), seconds - at_s))
        rate, sessions = 2 ** drawn.uniform(0, 6.6), drawn.randint(2, 16)
        own = f"-n -j2 --random-seed={drawn.getrandbits(30)} "
        if load == "open":
            yield at_s, f"{own} -c8 -R{rate:.1f} -t{max(1, round(rate * length_s / 8))}"
        else:
            think = (
                f"-D think={1000 * sessions / rate:.0f} -f /tmp/think.sql -b tpcb-like"
            )
            yield at_s, f"{own} -c{sessions} -T{length_s} {think}"
        at_s += length_s


@contextmanager
def playing(server: Server, load: Load, seed: int, seconds: float) -> Iterator[None]:
    """The block begins when the schedule's time is over; what still works then ends after it."""
    server.shell("echo '\\\\sleep :think ms' >/tmp/think.sql")
    begin_s, running = time.monotonic(), list[subprocess.Popen[bytes]]()
    try:
        for start_s, options in schedule(load, seed, seconds):
            time.sleep(max(0.0, begin_s + start_s - time.monotonic()))
            words = f"{_PROGRAMS}; pgbench -h /tmp {options} postgres >/dev/null 2>&1"
            command = ("docker", "exec", server.name, "sh", "-c", words)
            running.append(subprocess.Popen(command))
        time.sleep(max(0.0, begin_s + seconds - time.monotonic()))
        yield
    finally:
        server.shell("pkill pgbench", check=False)
        for each in running:
            each.wait()
