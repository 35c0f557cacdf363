"""Limits and rights of containers: block devices, and the processes' own limits, read back.

If a controller is missing, an engine drops limits of I/O with only a warning. So they are always
read back: `blkio.throttle.*_device` (version 1) or `io.max` (version 2) of the container's control
group. Formats: Documentation/admin-guide/cgroup-v1/blkio-controller.rst, cgroup-v2.rst.

An engine without the right to raise limits of processes (rootless, or in a container) fails at the
start with "error setting rlimit…"; the container is then started without."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from docker.errors import APIError
from docker.types import LogConfig

from orchestrator.errors import GateError, UnavailableError
from orchestrator.keys.strict_yaml import shipped
from orchestrator.model import DeviceCap
from orchestrator.platforms.common.machines import text_of, value
from orchestrator.powers import ContainerSpec, Machine

LOG_BYTES = 64 * 2**20  # of a container's output that its engine keeps: the last
_LOG_FILES = 2
_DEVICES = "/dev:/dev"
_GROUPS = "/sys/fs/cgroup"
# To serve dirty pages without waiting for them, and to be spared by the OOM killer. A host with a
# reduced capability bounding set cannot start a container with it.
_OPTIONAL = "SYS_RESOURCE"
# Our name → docker-py's keyword, file of version 1, key of version 2.
_NAMES: Mapping[str, Sequence[str]] = shipped(__package__, "rights.yaml")["io_limits"]
_ULIMIT_LINES = {
    "nofile": "Max open files",
    "nproc": "Max processes",
}  # of /proc/<process>/limits


class Rights:
    """The rights of containers that make block devices, without what the engine has refused."""

    def __init__(self) -> None:
        self._with_optional = True

    def add_to(self, host: dict[str, Any]) -> None:
        """Adds them to `host`, keywords of docker-py's `create_host_config`."""
        rights = shipped(__package__, "rights.yaml")["block_devices"]
        if self._with_optional:
            optional = [_OPTIONAL]
        else:
            optional = []
        host.update({**rights, "cap_add": [*rights["cap_add"], *optional]})
        host["binds"].append(_DEVICES)

    def refused(
        self, spec: ContainerSpec, container: Any, error: APIError
    ) -> ContainerSpec:
        """What to ask for in place of a container that does not start. Raises the error if nothing
        that an engine may refuse to give was asked for."""
        capabilities = container.attrs["HostConfig"].get("CapAdd") or ()
        if spec.host_devices and any(
            _OPTIONAL in capability for capability in capabilities
        ):
            self._with_optional = False
            return spec
        if spec.ulimits and "rlimit" in str(error).lower():
            return replace(spec, ulimits={})
        raise error


def named(spec: ContainerSpec) -> dict[str, Any]:
    """As keywords of docker-py's `create_host_config`: the rights of a container that names its."""
    if spec.capabilities is None:
        return {}
    rights = {"cap_drop": ["ALL"], "cap_add": list(spec.capabilities)}
    if spec.network:
        network = {}
    else:
        network = {"network_mode": "none"}
    return {**rights, **network, "security_opt": ["no-new-privileges"]}


def io_limits(caps: Sequence[DeviceCap]) -> dict[str, list[dict[str, Any]]]:
    """Returns keywords of docker-py's `create_host_config`."""
    keywords: dict[str, list[dict[str, Any]]] = {}
    for cap in caps:
        for name, (keyword, _, _) in _NAMES.items():
            rate = getattr(cap, name)
            if rate is not None:
                keywords.setdefault(keyword, []).append(
                    {"Path": cap.device, "Rate": rate}
                )
    return keywords


def read_back(
    caps: Sequence[DeviceCap], process_id: int, container: str, machine: Machine
) -> None:
    """Raises GateError if the limits in the kernel are not `caps`."""
    for cap in caps:
        number = _number(cap.device, machine)
        limits_in_force = _limits_in_force(number, process_id, container, machine)
        for name in _NAMES:
            expected = getattr(cap, name)
            limit = limits_in_force.get(name)
            if expected is not None and expected != limit:
                raise GateError(
                    f"the control group of {container} limits {name} of {cap.device} "
                    f"to {limit or 'nothing'}, expected {expected}",
                    advice="does the engine support block I/O limits (`docker info`)?",
                )


def _number(device: str, machine: Machine) -> str:
    try:
        return machine.read(f"/sys/class/block/{Path(device).name}/dev").strip()
    except OSError as error:
        raise UnavailableError(f"{device} is not there any more: {error}") from error


def _limits_in_force(
    number: str, process_id: int, container: str, machine: Machine
) -> Mapping[str, int]:
    """Our name → limit of the device with that number, as the kernel has it."""
    try:
        lines = machine.read(f"/proc/{process_id}/cgroup").splitlines()
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if "blkio" in controllers.split(","):
                return _version_1(f"{_GROUPS}/blkio{path}", number, machine)
        for line in lines:
            if line.startswith("0::"):
                path = line.removeprefix("0::")
                return _version_2(f"{_GROUPS}{path}", number, machine)
    except OSError as error:
        raise _not_read_back(container, str(error)) from error
    raise _not_read_back(container, "")


def _not_read_back(container: str, why: str) -> GateError:
    return GateError(
        f"the limits of {container} cannot be read back from its control group: {why}",
        advice="`enforcement: cgroup` needs the engine on this very machine",
    )


def _version_1(group: str, number: str, machine: Machine) -> dict[str, int]:
    limits: dict[str, int] = {}
    for name, (_, file, _) in _NAMES.items():
        lines = machine.read(f"{group}/{file}").splitlines()
        rates = dict(line.split() for line in lines)
        if number in rates:
            limits[name] = int(rates[number])
    return limits


def _version_2(group: str, number: str, machine: Machine) -> dict[str, int]:
    rates: dict[str, str] = {}
    for line in machine.read(f"{group}/io.max").splitlines():
        device, *pairs = line.split()  # `8:0 rbps=max wbps=1048576 riops=max …`
        if device == number:
            for pair in pairs:
                key, rate = pair.split("=")
                rates[key] = rate
    limits: dict[str, int] = {}
    for name, (_, _, key) in _NAMES.items():
        rate = rates.get(key, "max")
        if rate != "max":
            limits[name] = int(rate)
    return limits


def ulimits_in_force(
    limits: Mapping[str, Any], pid: int, machine: Machine
) -> dict[str, str]:
    """Returns the soft limits of these names; none if they cannot be read from here."""
    if not limits:
        return {}
    text = text_of(machine, f"/proc/{pid}/limits")
    soft: dict[str, str] = {}
    for name, begin in _ULIMIT_LINES.items():
        if name in limits:
            columns = value(text, begin).split()  # soft, hard, unit
            if columns:
                soft[name] = columns[0]
    return soft


def log() -> LogConfig:
    """What an engine keeps of a container's output. Without it a database whose settings make it
    chatty would fill the engine's disk."""
    file_bytes = LOG_BYTES // _LOG_FILES
    files = {"max-size": str(file_bytes), "max-file": str(_LOG_FILES)}
    return LogConfig(type=LogConfig.types.JSON, config=files)
