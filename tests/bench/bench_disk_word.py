"""What an emulated disk says of its limits, held against what the kernel's counters look like.

    make bench NAME=disk_word ARGS="listen /tmp/word.jsonl --seconds 600"
    make bench NAME=disk_word ARGS="judge /tmp/word.jsonl"

Question: how often is "at its cap" wrong, as bottlenecks infer it, in windows of a second, of five
and of 25, which is about the least that a run has? Truth: the disk's own account, of how long its
limits kept I/Os. A limit holds back where that is a tenth of the I/Os' time or more
(`cap_binding.HELD_BACK_PCT`).

With the account a second is shown as held back from a fifth of the I/Os' time on, also below every
cap. As the cause of a window it is named no cap for that: a remark says what the disk counted.

Method: `listen` stands beside any runs on emulated disks of this machine, such as those of
`make rehearse`. Each second it reads /proc/diskstats, and asks each disk server at its control
socket; so it needs root. `judge` puts what it read through the rule of the product, once without
and once with the disk's account. docs/research/DISK-WORD.md has the figures.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from orchestrator.analysis.telemetry.causes import cap_causes
from orchestrator.analysis.telemetry.use import cap_binding
from orchestrator.analysis.telemetry.use.node_values import Evidence, of_figures
from orchestrator.tier import Tier
from tests.seen import but
from tests.tiers import a_tier

WINDOWS_S = (1, 5, 25)
LEAST_IOS = 20  # of a window: with fewer its means say nothing
WAYS = ("read", "write")
SECTOR_BYTES = 512
# Fields of a line of /proc/diskstats behind the name (Documentation/admin-guide/iostats.rst).
FIELDS = {
    "reads": 0,
    "read_sectors": 2,
    "read_ms": 3,
    "writes": 4,
    "written_sectors": 6,
    "write_ms": 7,
    "queue_ms": 10,
}


# ------------------------------------------------------------------ listening


@dataclass(frozen=True)
class Served:
    """A disk that a server on this machine plays."""

    name: str
    device: str
    control: Path


def served_disks() -> Iterator[Served]:
    """Those whose servers run now, found by their command lines."""
    devices = _devices_by_image()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (
                (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            )
            if words[:2] != ["tierdisk", "serve"]:
                continue
            socket_path = next(word for word in words if word.endswith("/control"))
            image = str(Path(socket_path).parent / "disk.img")
            if image in devices:
                control = folder / "root" / socket_path.lstrip("/")
                name = Path(socket_path).parent.name
                yield Served(name, devices[image], control)


def _devices_by_image() -> dict[str, str]:
    """Backing file of each loop device, as its container sees it, → the device."""
    devices: dict[str, str] = {}
    for file in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):
            devices[file.read_text().strip()] = file.parent.parent.name
    return devices


def asked(control: Path, question: str) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.settimeout(2)
        peer.connect(str(control))
        peer.send(question.encode())
        answer: dict[str, Any] = json.loads(peer.recv(4096))
    return answer


def counters() -> dict[str, dict[str, int]]:
    by_device: dict[str, dict[str, int]] = {}
    for line in Path("/proc/diskstats").read_text().splitlines():
        words = line.split()
        fields = words[3:]
        by_device[words[2]] = {name: int(fields[at]) for name, at in FIELDS.items()}
    return by_device


def listen(file: Path, seconds: float) -> None:
    """A line of JSON for each disk and second; a disk that ends meanwhile is left out."""
    ends_s = time.monotonic() + seconds
    with file.open("a") as out:
        while time.monotonic() < ends_s:
            time.sleep(1 - time.time() % 1)
            for disk in served_disks():
                with suppress(OSError, ValueError):
                    line = {
                        "time_s": time.time(),
                        "disk": disk.name,
                        "limits": asked(disk.control, "limits"),
                        "kernel": counters()[disk.device],
                        "told": asked(disk.control, "stats"),
                    }
                    out.write(json.dumps(line) + "\n")
                    out.flush()


# ------------------------------------------------------------------ judging


@dataclass(frozen=True)
class Window:
    """What was counted in it. `told_pct`: of the I/Os' time that for which limits kept them, by the
    disk's own account."""

    disk: str
    limits: str
    values: Evidence
    tier: Tier
    told_pct: float

    @property
    def is_held_back(self) -> bool:
        return self.told_pct >= cap_binding.HELD_BACK_PCT

    @property
    def is_shown(self) -> bool:
        """Whether the product shows it with the disk's account: as at a cap, or as held back."""
        if self.told_pct >= cap_binding.SURELY_HELD_BACK_PCT:
            return True
        return self.is_named(told=True)

    def is_named(self, told: bool) -> bool:
        """Whether the product names a cap, with the disk's account or without."""
        values = self.values
        if told:
            values = but(values, held_back_pct=self.told_pct)
        return bool(cap_causes.cap_causes(values, self.tier, "node"))


def windows(file: Path, length_s: int) -> Iterator[Window]:
    by_disk: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for text in file.read_text().splitlines():
        line = json.loads(text)
        by_disk[line["disk"]].append(line)
    for lines in by_disk.values():
        for first in range(0, len(lines) - length_s, length_s):
            part = lines[first : first + length_s + 1]
            window = _window(part, length_s)
            if window is not None:
                yield window


def _window(part: Sequence[Mapping[str, Any]], length_s: int) -> Window | None:
    """None where a reading is missing, the limits changed, a burst has credit, or little was
    done."""
    first = part[0]
    last = part[-1]
    limits = first["limits"]
    step_s = last["time_s"] - first["time_s"]
    if abs(step_s - length_s) > 0.2 * length_s:
        return None
    if any(line["limits"] != limits for line in part):
        return None
    if limits["iops_burst"] or limits["bytes_burst"] or not limits["iops"]:
        return None
    if last["told"]["time_s"] < first["told"]["time_s"]:
        return None
    took_s = _told(first, last, "took_s")
    if took_s <= 0:
        return None
    values = _evidence(part, limits)
    if values is None:
        return None
    told_pct = 100 * _told(first, last, "waited_s") / took_s
    tier = a_tier(
        "measured",
        "",
        "emulated",
        int(limits["iops"]),
        int(limits["bytes_per_s"]) or 10**12,
    )
    shown = f"{limits['iops']:g} IOPS, {limits['bytes_per_s'] / 1e6:g} MB/s"
    return Window(first["disk"], shown, values, tier, told_pct)


def _told(first: Mapping[str, Any], last: Mapping[str, Any], name: str) -> float:
    total = 0.0
    for way in WAYS:
        total += last["told"][way][name] - first["told"][way][name]
    return total


def _evidence(
    part: Sequence[Mapping[str, Any]], limits: Mapping[str, Any]
) -> Evidence | None:
    """As `node_use` makes it of samples: shares of caps are those of the median second."""
    iops_pct: list[float] = []
    bandwidth_pct: list[float] = []
    for begin, end in pairwise(part):
        step_s = end["time_s"] - begin["time_s"]
        ios = _grown(begin, end, "reads", "writes")
        moved_bytes = SECTOR_BYTES * _grown(
            begin, end, "read_sectors", "written_sectors"
        )
        units = max(ios, moved_bytes / limits["io_unit"])
        iops_pct.append(100 * units / step_s / limits["iops"])
        if limits["bytes_per_s"]:
            bandwidth_pct.append(100 * moved_bytes / step_s / limits["bytes_per_s"])
    first = part[0]
    last = part[-1]
    reads = _grown(first, last, "reads")
    writes = _grown(first, last, "writes")
    ios = reads + writes
    if ios < LEAST_IOS:
        return None
    step_s = last["time_s"] - first["time_s"]
    idle_us = reads * limits["read_latency_us"] + writes * limits["write_latency_us"]
    bandwidth_of_cap_pct = None
    if bandwidth_pct:
        bandwidth_of_cap_pct = sorted(bandwidth_pct)[len(bandwidth_pct) // 2]
    return of_figures(
        {
            "iops_of_cap_pct": sorted(iops_pct)[len(iops_pct) // 2],
            "bandwidth_of_cap_pct": bandwidth_of_cap_pct,
            "disk_iops": ios / step_s,
            "disk_await_s": _grown(first, last, "read_ms", "write_ms") / 1e3 / ios,
            "disk_queue_depth": _grown(first, last, "queue_ms") / 1e3 / step_s,
            "idle_disk_latency_s": idle_us / 1e6 / ios,
        }
    )


def _grown(first: Mapping[str, Any], last: Mapping[str, Any], *names: str) -> float:
    total = 0.0
    for name in names:
        total += last["kernel"][name] - first["kernel"][name]
    return total


def judge(file: Path) -> None:
    """Prints, for each length of window, what was missed and what was falsely named: of databases'
    disks, by their limits, and of those that a disk check loads by fio."""
    for length_s in WINDOWS_S:
        groups: dict[str, list[Window]] = defaultdict(list)
        for window in windows(file, length_s):
            if "gate" in window.disk:
                groups["disk checks"].append(window)
                continue
            groups["databases"].append(window)
            groups[f"databases, {window.limits}"].append(window)
        for title, some in sorted(groups.items()):
            print(f"{length_s} s, {title}: {_in_words(some)}")


def _in_words(some: Sequence[Window]) -> str:
    held = [window for window in some if window.is_held_back]
    free = [window for window in some if not window.is_held_back]
    disks = {window.disk for window in some}
    missed = [window for window in held if not window.is_named(told=False)]
    false = [window for window in free if window.is_named(told=False)]
    missed_with = [window for window in held if not window.is_shown]
    false_with = [window for window in free if window.is_shown]
    kept = ""
    if missed:
        kept = f" (there {median(window.told_pct for window in missed):.0f} % of I/Os' time)"
    return (
        f"{len(some)} windows of {len(disks)} disks. Missed {_share(missed, held)}{kept}, with the "
        f"disk's account {_share(missed_with, held)}; "
        f"false {_share(false, free)}, with the disk's account {len(false_with)}"
    )


def _share(some: Sequence[Window], whole: Sequence[Window]) -> str:
    if not whole:
        return "none of none"
    return f"{len(some)} of {len(whole)} ({100 * len(some) / len(whole):.1f} %)"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("listen", "judge"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=600.0)
    options = parser.parse_args(arguments)
    if options.what == "listen":
        listen(options.file, options.seconds)
    else:
        judge(options.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
