"""Block devices of containers: the rights to make one, and limits on one, read back.

An engine drops limits with no more than a warning where a controller is missing, so they are
always read back: `blkio.throttle.*_device` (version 1) or `io.max` (version 2) of the container's
control group. Formats: Documentation/admin-guide/cgroup-v1/blkio-controller.rst, cgroup-v2.rst.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from docker.errors import APIError

from orchestrator.errors import GateError, UnavailableError
from orchestrator.model import DeviceCap
from orchestrator.powers import Machine

# What a container needs to make a block device where `--privileged` is refused, and nothing else:
# mounting and loop set-up (SYS_ADMIN), device nodes (MKNOD), images that belong to another user
# (DAC_OVERRIDE); loop devices (major 7), FUSE (10:229) and loop-control (10:237).
_MAKING: dict[str, Any] = {
    "cap_drop": ["ALL"],
    "cap_add": ["SYS_ADMIN", "MKNOD", "DAC_OVERRIDE"],
    "security_opt": ["seccomp=unconfined", "apparmor=unconfined", "no-new-privileges"],
    "device_cgroup_rules": ["b 7:* rwm", "c 10:229 rwm", "c 10:237 rwm"],
    "network_mode": "none",
    "read_only": True,
    "tmpfs": {"/run": "", "/tmp": ""},
}
_DEVICES = "/dev:/dev"
_GROUPS = "/sys/fs/cgroup"
# To serve dirty pages without waiting for them, and to be spared by the OOM killer. A host whose
# capability bounding set is cut cannot start a container with it.
_WISHED = "SYS_RESOURCE"


class Rights:
    """What containers that make block devices are given: all that is wished for, until the engine
    is found to refuse it."""

    def __init__(self) -> None:
        self._wished = True

    def add_to(self, host: dict[str, Any]) -> None:
        """`host`: keywords of docker-py's `create_host_config`."""
        host.update(_MAKING)
        if self._wished:
            host["cap_add"] = [*_MAKING["cap_add"], _WISHED]
        host["binds"].append(_DEVICES)

    def started(self, made: Any, anew: Callable[[], Any]) -> Any:
        """The container started; made `anew`, without the wish, where that is why it cannot."""
        try:
            made.start()
        except APIError:
            given = made.attrs["HostConfig"].get("CapAdd") or ()
            if not any(_WISHED in capability for capability in given):
                raise
            self._wished = False
            made.remove(force=True)
            made = anew()
            made.start()
        return made


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


def read_back(caps: Sequence[DeviceCap], process_id: int, container: str, machine: Machine) -> None:
    """GateError where the kernel does not hold what was asked."""
    for cap in caps:
        number = _number(cap.device, machine)
        running = _running(number, process_id, container, machine)
        for name in _NAMES:
            asked, found = getattr(cap, name), running.get(name)
            if asked is not None and asked != found:
                raise GateError(
                    f"the control group of {container} limits {name} of {cap.device} "
                    f"to {found or 'nothing'}, expected {asked}",
                    advice="does the engine support block I/O limits (`docker info`)?",
                )


def _number(device: str, machine: Machine) -> str:
    """major:minor of a block device."""
    try:
        return machine.read(f"/sys/class/block/{Path(device).name}/dev").strip()
    except OSError as error:
        raise UnavailableError(f"{device} is not there any more: {error}") from error


def _running(number: str, process_id: int, container: str, machine: Machine) -> Mapping[str, int]:
    try:
        lines = machine.read(f"/proc/{process_id}/cgroup").splitlines()
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if "blkio" in controllers.split(","):
                return _version_1(f"{_GROUPS}/blkio{path}", number, machine)
        unified = next(line.split(":", 2)[2] for line in lines if line.startswith("0::"))
        return _version_2(f"{_GROUPS}{unified}", number, machine)
    except (OSError, StopIteration) as error:
        raise GateError(
            f"the limits of {container} cannot be read back from its control group: {error}",
            advice="`enforcement: cgroup` needs the engine on this very machine",
        ) from error


def _version_1(group: str, number: str, machine: Machine) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, (_, file, _) in _NAMES.items():
        for line in machine.read(f"{group}/{file}").splitlines():
            device, value = line.split()
            if device == number:
                found[name] = int(value)
    return found


def _version_2(group: str, number: str, machine: Machine) -> dict[str, int]:
    for line in machine.read(f"{group}/io.max").splitlines():
        device, *pairs = line.split()
        if device == number:
            values = dict(pair.split("=") for pair in pairs)
            return {
                name: int(values[key])
                for name, (_, _, key) in _NAMES.items()
                if values.get(key, "max") != "max"
            }
    return {}
