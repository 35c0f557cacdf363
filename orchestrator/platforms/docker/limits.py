"""Rights of containers that make block devices, and the limits of processes, read back.

What an engine refuses to give is left out: the container is then started without."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from docker.errors import APIError
from docker.types import LogConfig

from orchestrator.keys.shipped_yaml import shipped
from orchestrator.platforms.common.machine_facts import text_of, value
from orchestrator.powers import ContainerSpec, Machine

LOG_BYTES = 64 * 2**20  # the last bytes of a container's output, which its engine keeps
_LOG_FILES = 2
_DEVICES = "/dev:/dev"
# The right to serve dirty pages without waiting for them, and to be spared by the OOM killer. A
# host with a reduced capability bounding set cannot start a container with it.
_OPTIONAL = "SYS_RESOURCE"
# Lines of /proc/<process>/limits.
_ULIMIT_LINES = {
    "nofile": "Max open files",
    "nproc": "Max processes",
}


class Rights:
    """The rights of containers that make block devices, without what the engine has refused."""

    def __init__(self) -> None:
        self._with_optional = True

    def add_to(self, host: dict[str, Any]) -> None:
        """Adds them to `host`, keywords of docker-py's `create_host_config`."""
        rights = shipped(__package__, "rights.yaml")["block_devices"]
        capabilities = list(rights["cap_add"])
        if self._with_optional:
            capabilities.append(_OPTIONAL)
        host.update({**rights, "cap_add": capabilities})
        host["binds"].append(_DEVICES)

    def refused(
        self, spec: ContainerSpec, container: Any, error: APIError
    ) -> ContainerSpec:
        """What to ask for in place of a container that does not start. Raises the error if nothing
        that an engine may refuse to give was asked for."""
        capabilities = container.attrs["HostConfig"].get("CapAdd") or ()
        # An engine may answer with CAP_SYS_RESOURCE. It is not asked for again in this campaign.
        had_optional = any(_OPTIONAL in capability for capability in capabilities)
        if spec.host_devices and had_optional:
            self._with_optional = False
            return spec
        # Rootless engines, and those in a container, may not raise limits: "error setting rlimit…".
        if spec.ulimits and "rlimit" in str(error).lower():
            return replace(spec, ulimits={})
        raise error


def named(spec: ContainerSpec) -> dict[str, Any]:
    """The rights that a container names, as keywords of docker-py's `create_host_config`."""
    if spec.capabilities is None:
        return {}
    rights: dict[str, Any] = {
        "cap_drop": ["ALL"],
        "cap_add": list(spec.capabilities),
        "security_opt": ["no-new-privileges"],
    }
    # Who names its rights asks for no more than it needs: without a network it gets none.
    if not spec.network:
        rights["network_mode"] = "none"
    return rights


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
    """What an engine keeps of a container's output."""
    # A database whose settings make it chatty would otherwise fill the engine's disk.
    file_bytes = LOG_BYTES // _LOG_FILES
    files = {"max-size": str(file_bytes), "max-file": str(_LOG_FILES)}
    return LogConfig(type=LogConfig.types.JSON, config=files)
