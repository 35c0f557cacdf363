"""Checks of what this machine offers and lacks, each with what to do."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import UnavailableError
from orchestrator.load_generators.benchbase import distribution
from orchestrator.platforms import own_images
from orchestrator.platforms.common.machines import LocalMachine
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import Clock, Machine
from orchestrator.units import format_bytes


@dataclass(frozen=True)
class Check:
    subject: str
    ok: bool
    text: str


def examine(root: Path, cache: Path, clock: Clock) -> tuple[Check, ...]:
    """Looks at everything; starts and changes nothing."""
    machine = LocalMachine()
    facts, free = machine.facts(), machine.free_bytes(str(cache))
    return (
        Check("processors", True, f"{facts.cpus} (all nodes and the client share them)"),
        Check("memory", True, format_bytes(facts.memory_bytes)),
        Check("free space for disks", True, f"{format_bytes(free)} at {cache}"),
        _device("/dev/fuse", machine, "emulated disks need FUSE: `modprobe fuse`"),
        _device("/dev/loop-control", machine, "emulated disks need loop devices: `modprobe loop`"),
        _pressure(machine),
        *_docker(root, clock),
    )


def _device(path: str, machine: Machine, remedy: str) -> Check:
    exists = machine.exists(path)
    return Check(path, exists, "there" if exists else remedy)


def _pressure(machine: Machine) -> Check:
    exists = machine.exists("/proc/pressure/io")
    text = "sampled" if exists else "not in this kernel (psi=1 turns it on): runs do without"
    return Check("pressure stall information", True, text)


def _docker(root: Path, clock: Clock) -> tuple[Check, ...]:
    try:
        platform = DockerPlatform(clock)
    except UnavailableError as error:
        return (Check("Docker engine", False, f"{error.what}; {error.advice}"),)
    engine = platform.facts()
    version = f"version {engine['ServerVersion']}, control groups v{engine['CgroupVersion']}"
    checks = [Check("Docker engine", True, version)]
    for name in own_images.OURS:
        tag = own_images.tag(root, name)
        exists = platform.image_present(tag)
        checks.append(
            Check(f"image {tag}", exists, "there" if exists else "`make setup` builds it")
        )
    home = os.environ.get(distribution.HOME_VARIABLE)
    benchbase = distribution.whereabouts(Path(home) if home else None, platform)
    return (*checks, Check("BenchBase", True, benchbase))
