"""What files of a machine say of it: system, processors, memory, and which kernels are the same."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from orchestrator.powers import Machine, MachineFacts
from orchestrator.system import at_once

_BOOT = "/proc/sys/kernel/random/boot_id"
_KERNEL = "/proc/sys/kernel/osrelease"
_SYSTEM = "/etc/os-release"
_CPUS = "/proc/cpuinfo"
_MEMORY = "/proc/meminfo"
OF_FACTS = (_KERNEL, _SYSTEM, _CPUS, _MEMORY)


def text_of(machine: Machine, path: str) -> str:
    """Returns the text of a file; "" if it cannot be read."""
    with suppress(OSError):
        return machine.read(path)
    return ""


def value(text: str, key: str) -> str:
    """Returns the rest of the first line that begins with `key`; "" if none does."""
    for line in text.splitlines():
        if line.startswith(key):
            return line.removeprefix(key).strip()
    return ""


def facts_in(
    texts: Mapping[str, str], hostname: str, instance_type: str = ""
) -> MachineFacts:
    """What these files of `OF_FACTS` say."""
    kernel = texts.get(_KERNEL, "").strip()
    system = value(texts.get(_SYSTEM, ""), "PRETTY_NAME=").strip('"')
    cpus = texts.get(_CPUS, "")
    processors = sum(line.startswith("processor") for line in cpus.splitlines())
    # Kernels for ARM give processors no name.
    cpu_model = value(cpus, "model name").lstrip(":\t ")
    # proc(5) says "kB" and means units of 1,024 bytes.
    memory_kib, _, _ = value(texts.get(_MEMORY, ""), "MemTotal:").partition(" ")
    return MachineFacts(
        hostname=hostname,
        kernel=kernel,
        system=system,
        cpus=max(1, processors),
        cpu_model=cpu_model,
        memory_bytes=int(memory_kib or 0) * 1024,
        instance_type=instance_type,
    )


def kernels(machines: Sequence[Machine]) -> int:
    """Returns how many of them are known to have a kernel of their own."""
    if len(machines) == 1:
        return 1  # the machine is not asked
    # The machines of kind and minikube may be containers on one and the same.
    boots = set(at_once.each(_boot, machines))
    boots.discard("")
    return len(boots)


def _boot(machine: Machine) -> str:
    """The id that the kernel drew when it booted; "" if it cannot be read."""
    return text_of(machine, _BOOT).strip()
