"""What a cluster has on this machine, found without being told: listed, and removed.

Every process of a cluster bears a mark in its environment, so a cluster whose owner was killed is
found by whoever comes next. Mounts and interfaces live in the namespaces and go with them.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.cluster.settings import CGROUP, FOLDER

MARK = "TIERBENCH_TEST_CLUSTER"
INTERFACE = "tb-cluster"
CGROUPS = Path("/sys/fs/cgroup")
# Folders on which a node mounts its own. They are made, and stay: others may look for them.
MOUNT_POINTS = (
    Path("/var/lib/kubelet"),
    Path("/var/lib/cni"),
    Path("/var/lib/tierbench"),
    Path("/var/log/pods"),
    Path("/run/containerd"),
    Path("/run/netns"),
)
_END_S = 60.0


def processes() -> Iterator[tuple[int, str]]:
    """(process id, what its mark says: `control`, `node-<k>`, `provisioner`) of all that run."""
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                for one in (place / "environ").read_bytes().split(b"\0"):
                    if one.startswith(f"{MARK}=".encode()):
                        yield int(place.name), one.decode().partition("=")[2]


def first_process(name: str) -> int | None:
    """The first process of the namespaces of `name`; None where there is none."""
    for process, mark in processes():
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{process}/status").read_text()
            inside = next(
                line.split()[1:] for line in status.splitlines() if "NSpid" in line
            )
            if mark == name and len(inside) == 2 and inside[1] == "1":
                return process
    return None


def end(name: str = "") -> None:
    """Ends all processes marked `name` (all of a cluster without one), and waits for their end."""

    def left() -> list[int]:
        return [process for process, mark in processes() if name in ("", mark)]

    def ended() -> bool:
        for process in left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return not left()

    _until(ended, f"the processes of {name or 'the cluster'} do not end")


def remove() -> None:
    """Removes everything of a cluster from this machine, whoever started it."""
    end()
    subprocess.run(["ip", "link", "delete", INTERFACE], capture_output=True)
    _until(
        lambda: not _remove_cgroups(), "there are processes in the cluster's cgroups"
    )
    _until(lambda: not _detach_loops(), "a loop device stays on a file of the cluster")
    shutil.rmtree(FOLDER, ignore_errors=True)


def found() -> list[str]:
    """Everything of a cluster that is on this machine, one line each."""
    lines = [f"process {process} of {mark}" for process, mark in processes()]
    lines += [f"cgroup {place}" for place in sorted(CGROUPS.glob(f"*/{CGROUP}"))]
    mounts = Path("/proc/mounts").read_text().splitlines()
    lines += [f"mount {line}" for line in mounts if str(FOLDER) in line]
    if Path("/sys/class/net", INTERFACE).exists():
        lines.append(f"interface {INTERFACE}")
    lines += [f"loop device {device}" for device in _loops()]
    return lines + ([f"folder {FOLDER}"] if FOLDER.exists() else [])


def _remove_cgroups() -> list[Path]:
    """Those that are left."""
    for top in CGROUPS.glob(f"*/{CGROUP}"):
        for place, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):  # a process in it is still ending
                Path(place).rmdir()
    return list(CGROUPS.glob(f"*/{CGROUP}"))


def _loops() -> list[str]:
    """Loop devices on files of the cluster's folder.

    They are known by device and inode, because the path that the kernel tells may be that of a
    node's own mounts; those on a removed file, which has no name to be looked up, by that path.
    """
    columns = "NAME,BACK-INO,BACK-MAJ:MIN,BACK-FILE"
    listed = subprocess.run(
        ["losetup", "--json", "--list", "--output", columns],
        capture_output=True,
        text=True,
    ).stdout
    devices = json.loads(listed)["loopdevices"] if listed.strip() else []
    files = _files() if devices else set()
    return [
        str(one["name"])
        for one in devices
        if str(one["back-file"]).startswith(f"{FOLDER}/")
        or (one["back-maj:min"].strip(), int(one["back-ino"]))
        in files  # losetup pads a column
    ]


def _files() -> set[tuple[str, int]]:
    """Device and inode of each file in the cluster's folder."""
    files = (Path(place, name) for place, _, names in os.walk(FOLDER) for name in names)
    states = [file.stat(follow_symlinks=False) for file in files]
    return {
        (f"{os.major(one.st_dev)}:{os.minor(one.st_dev)}", one.st_ino) for one in states
    }


def _detach_loops() -> list[str]:
    """Those that are left."""
    for device in _loops():
        subprocess.run(["losetup", "--detach", device], capture_output=True)
    return _loops()


def _until(done: Callable[[], bool], otherwise: str) -> None:
    limit = time.monotonic() + _END_S
    while not done():
        if time.monotonic() > limit:
            raise TimeoutError(f"{otherwise} after {_END_S:.0f} s: {found()}")
        time.sleep(0.05)
