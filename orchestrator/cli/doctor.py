"""Checks of what this machine offers and lacks, each with what to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol, runtime_checkable

from orchestrator.errors import UnavailableError
from orchestrator.load_generators.benchbase import distribution
from orchestrator.platforms import own_images
from orchestrator.platforms.common.findings import Finding
from orchestrator.platforms.common.machines import LocalMachine
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import Clock, Machine, Platform
from orchestrator.units import format_bytes


@runtime_checkable
class _Examines(Protocol):
    """A platform that can be asked what it offers and lacks."""

    def examine(self) -> tuple[Finding, ...]: ...


def examine_platform(platform: Platform, root: Path) -> tuple[Finding, ...]:
    """Looks at a platform elsewhere, and for our images there; starts and changes nothing."""
    found = platform.examine() if isinstance(platform, _Examines) else ()
    return (*found, *_images(platform, root))


def examine(root: Path, cache: Path, clock: Clock) -> tuple[Finding, ...]:
    """Looks at everything on this machine; starts and changes nothing."""
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
    exists = machine.exists(path)
    return Finding(path, exists, "there" if exists else remedy)


def _pressure(machine: Machine) -> Finding:
    exists = machine.exists("/proc/pressure/io")
    text = "sampled" if exists else "not in this kernel (psi=1 turns it on): runs do without"
    return Finding("pressure stall information", True, text)


def _docker(root: Path, clock: Clock) -> tuple[Finding, ...]:
    try:
        platform = DockerPlatform(clock)
    except UnavailableError as error:
        return (Finding("Docker engine", False, f"{error.what}; {error.advice}"),)
    engine = platform.facts()
    version = f"version {engine['ServerVersion']}, control groups v{engine['CgroupVersion']}"
    checks = [Finding("Docker engine", True, version), *_images(platform, root)]
    home = os.environ.get(distribution.HOME_VARIABLE)
    benchbase = distribution.whereabouts(Path(home) if home else None, platform)
    return (*checks, Finding("BenchBase", True, benchbase))


def _images(platform: Platform, root: Path) -> list[Finding]:
    found = []
    for name in own_images.OURS:
        tag = own_images.tag(root, name)
        exists = platform.image_present(tag)
        remedy = "`make setup` builds it; elsewhere: " + platform.ways_to_get(tag)
        found.append(Finding(f"image {tag}", exists, "there" if exists else remedy))
    return found
