"""What this machine offers and lacks, one finding a line, each with what to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import UnavailableError
from orchestrator.platforms import own_images
from orchestrator.platforms.common.machines import LocalMachine
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import Clock, Machine
from orchestrator.units import format_bytes


@dataclass(frozen=True)
class Finding:
    subject: str
    ok: bool
    text: str


def examine(root: Path, cache: Path, clock: Clock) -> tuple[Finding, ...]:
    """Looks at everything; starts and changes nothing."""
    machine = LocalMachine()
    facts, free = machine.facts(), machine.free_bytes(str(cache))
    return (
        Finding("processors", True, f"{facts.cpus} (all nodes and the client share them)"),
        Finding("memory", True, format_bytes(facts.memory_bytes)),
        Finding("free space for disks", True, f"{format_bytes(free)} at {cache}"),
        _device("/dev/fuse", machine, "emulated disks need FUSE: `modprobe fuse`"),
        _device("/dev/loop-control", machine, "emulated disks need loop devices: `modprobe loop`"),
        _pressure(machine),
        *_docker(root, clock),
    )


def _device(path: str, machine: Machine, remedy: str) -> Finding:
    there = machine.exists(path)
    return Finding(path, there, "there" if there else remedy)


def _pressure(machine: Machine) -> Finding:
    there = machine.exists("/proc/pressure/io")
    text = "sampled" if there else "not in this kernel (psi=1 turns it on): runs do without"
    return Finding("pressure stall information", True, text)


def _docker(root: Path, clock: Clock) -> tuple[Finding, ...]:
    try:
        platform = DockerPlatform(clock)
    except UnavailableError as error:
        return (Finding("Docker engine", False, f"{error.what}; {error.advice}"),)
    engine = platform.facts()
    said = f"version {engine['ServerVersion']}, control groups v{engine['CgroupVersion']}"
    found = [Finding("Docker engine", True, said)]
    for name in own_images.OURS:
        tag = own_images.tag(root, name)
        there = platform.image_present(tag)
        found.append(Finding(f"image {tag}", there, "there" if there else "`make setup` builds it"))
    return tuple(found)
