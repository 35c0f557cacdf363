"""Block devices of containers: the rights to make one, and limits on one, read back.

An engine drops limits with no more than a warning where a controller is missing, so they are
always read back: `blkio.throttle.*_device` (version 1) or `io.max` (version 2) of the container's
control group. Formats: Documentation/admin-guide/cgroup-v1/blkio-controller.rst, cgroup-v2.rst.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.errors import GateError, UnavailableError
from orchestrator.model import DeviceCap

# What a container needs to make a block device where `--privileged` is refused: mounting and loop
# set-up (SYS_ADMIN), device nodes (MKNOD), loop (major 7) and FUSE and loop-control (major 10).
MAKING: dict[str, Any] = {
    "cap_add": ["SYS_ADMIN", "MKNOD"],
    "security_opt": ["seccomp=unconfined", "apparmor=unconfined"],
    "device_cgroup_rules": ["b 7:* rwm", "c 10:* rwm"],
}

# Name of ours: docker-py's keyword, file of version 1, key of version 2.
_NAMES = {
    "read_iops": ("device_read_iops", "blkio.throttle.read_iops_device", "riops"),
    "write_iops": ("device_write_iops", "blkio.throttle.write_iops_device", "wiops"),
    "read_bytes_per_s": ("device_read_bps", "blkio.throttle.read_bps_device", "rbps"),
    "write_bytes_per_s": ("device_write_bps", "blkio.throttle.write_bps_device", "wbps"),
}


def limits(caps: Sequence[DeviceCap]) -> dict[str, list[dict[str, Any]]]:
    """Keywords of docker-py's `create_host_config`."""
    found: dict[str, list[dict[str, Any]]] = {}
    for cap in caps:
        for name, (keyword, _, _) in _NAMES.items():
            value = getattr(cap, name)
            if value is not None:
                found.setdefault(keyword, []).append({"Path": cap.device, "Rate": value})
    return found


def read_back(
    caps: Sequence[DeviceCap], process_id: int, container: str, root: Path = Path("/")
) -> None:
    """GateError where the kernel does not hold what was asked."""
    for cap in caps:
        number = _number(cap.device, root)
        running = _running(number, process_id, container, root)
        for name in _NAMES:
            asked, found = getattr(cap, name), running.get(name)
            if asked is not None and asked != found:
                raise GateError(
                    f"the control group of {container} limits {name} of {cap.device} "
                    f"to {found or 'nothing'}, asked was {asked}",
                    advice="does the engine support block I/O limits (`docker info`)?",
                )


def _number(device: str, root: Path) -> str:
    """major:minor of a block device."""
    try:
        return (root / "sys/class/block" / Path(device).name / "dev").read_text().strip()
    except OSError:
        try:
            kind = Path(device).stat().st_rdev
        except OSError as error:
            raise UnavailableError(f"{device} is not there any more") from error
        return f"{os.major(kind)}:{os.minor(kind)}"


def _running(number: str, process_id: int, container: str, root: Path) -> Mapping[str, int]:
    mounts = root / "sys/fs/cgroup"
    try:
        lines = (root / f"proc/{process_id}/cgroup").read_text().splitlines()
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if "blkio" in controllers.split(","):
                return _version_1(mounts / "blkio" / path.lstrip("/"), number)
        unified = next(line.split(":", 2)[2] for line in lines if line.startswith("0::"))
        return _version_2(mounts / unified.lstrip("/"), number)
    except (OSError, StopIteration) as error:
        raise GateError(
            f"the limits of {container} cannot be read back from its control group: {error}",
            advice="`enforcement: cgroup` needs the engine on this very machine",
        ) from error


def _version_1(group: Path, number: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, (_, file, _) in _NAMES.items():
        for line in (group / file).read_text().splitlines():
            device, value = line.split()
            if device == number:
                found[name] = int(value)
    return found


def _version_2(group: Path, number: str) -> dict[str, int]:
    for line in (group / "io.max").read_text().splitlines():
        device, *pairs = line.split()
        if device == number:
            values = dict(pair.split("=") for pair in pairs)
            return {
                name: int(values[key])
                for name, (_, _, key) in _NAMES.items()
                if values.get(key, "max") != "max"
            }
    return {}
