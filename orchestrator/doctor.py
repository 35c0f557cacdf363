"""What this machine offers and lacks, one finding a line, each with what to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator import host, images
from orchestrator.containers import DockerContainers
from orchestrator.errors import UnavailableError
from orchestrator.protocols import Clock
from orchestrator.units import format_bytes


@dataclass(frozen=True)
class Finding:
    subject: str
    ok: bool
    text: str


def examine(root: Path, cache: Path, clock: Clock) -> tuple[Finding, ...]:
    """Looks at everything; starts and changes nothing."""
    return (
        Finding("processors", True, f"{host.cpu_count()} (all nodes and the client share them)"),
        Finding("memory", True, format_bytes(host.memory_bytes())),
        Finding("free space for disks", True, f"{format_bytes(host.free_bytes(cache))} at {cache}"),
        _device("/dev/fuse", "emulated disks need FUSE: `modprobe fuse`"),
        _device("/dev/loop-control", "emulated disks need loop devices: `modprobe loop`"),
        _pressure(),
        *_docker(root, clock),
    )


def _device(path: str, remedy: str) -> Finding:
    there = Path(path).exists()
    return Finding(path, there, "there" if there else remedy)


def _pressure() -> Finding:
    there = Path("/proc/pressure/io").exists()
    text = "sampled" if there else "not in this kernel (psi=1 turns it on): runs do without"
    return Finding("pressure stall information", True, text)


def _docker(root: Path, clock: Clock) -> tuple[Finding, ...]:
    try:
        containers = DockerContainers(clock)
    except UnavailableError as error:
        return (Finding("Docker engine", False, f"{error.what}; {error.advice}"),)
    engine = containers.engine()
    said = f"version {engine['ServerVersion']}, control groups v{engine['CgroupVersion']}"
    found = [Finding("Docker engine", True, said)]
    for name in images.OURS:
        tag = images.tag(root, name)
        there = containers.image_present(tag)
        found.append(Finding(f"image {tag}", there, "there" if there else "`make setup` builds it"))
    return tuple(found)
