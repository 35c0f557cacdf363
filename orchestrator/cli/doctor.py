"""Checks of what this machine offers and lacks, each with what to do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from rich.console import Console
from rich.markup import escape

from orchestrator.cli import outside
from orchestrator.errors import UnavailableError
from orchestrator.load_generators.benchbase import distribution
from orchestrator.model import Profile
from orchestrator.platforms import own_images
from orchestrator.platforms.common.machines import Finding, LocalMachine
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.platforms.docker.many import DockerMachines
from orchestrator.powers import Clock, Machine, Platform
from orchestrator.units import format_bytes


@runtime_checkable
class _Examines(Protocol):
    """A platform that can be asked what it offers and lacks."""

    def examine(self) -> tuple[Finding, ...]: ...


def show(findings: Sequence[Finding], out: Console) -> bool:
    """Prints what was found; returns whether something is missing."""
    marks = {True: "[green]ok     [/]", False: "[red]missing[/]", None: "[yellow]open   [/]"}
    for one in findings:
        text = f"{marks[one.ok]} {escape(one.subject)}: {escape(one.text)}"
        out.print(text, highlight=False)
    return any(one.ok is False for one in findings)


def examine_platform(platform: Platform, root: Path) -> tuple[Finding, ...]:
    """Looks at a platform elsewhere, and for our images there; starts and changes nothing."""
    found = platform.examine() if isinstance(platform, _Examines) else ()
    return (*found, *_images(platform, root))


def examine(
    root: Path,
    cache: Path,
    clock: Clock,
    platform: str | None = None,
    profile: Profile | None = None,
) -> tuple[Finding, ...]:
    """Looks at a platform, or that of a profile and its machines, and without either at this
    machine, or the engine elsewhere that DOCKER_HOST or the current context names; starts and
    changes nothing."""
    placing = profile.placing if profile else None
    platform = profile.platform if profile else platform
    if platform not in (None, outside.PLATFORM) or (placing and placing.machines):
        return examine_platform(outside.platform(platform, placing), root)
    engine = _engine(clock)
    if not isinstance(engine, Finding) and not isinstance(engine.machines()[0], LocalMachine):
        return examine_platform(engine, root)
    machine = LocalMachine()
    facts, free = machine.facts(), machine.free_bytes(str(cache))
    return (
        Finding("processors", True, f"{facts.cpus} (all nodes and the client share them)"),
        Finding("memory", True, format_bytes(facts.memory_bytes)),
        Finding("free space for disks", True, f"{format_bytes(free)} at {cache}"),
        _device("/dev/fuse", machine, "emulated disks need FUSE: `modprobe fuse`"),
        _device("/dev/loop-control", machine, "emulated disks need loop devices: `modprobe loop`"),
        _pressure(machine),
        *([engine] if isinstance(engine, Finding) else _docker(engine, root)),
    )


def _device(path: str, machine: Machine, remedy: str) -> Finding:
    exists = machine.exists(path)
    return Finding(path, exists, "there" if exists else remedy)


def _pressure(machine: Machine) -> Finding:
    exists = machine.exists("/proc/pressure/io")
    text = "sampled" if exists else "not in this kernel (psi=1 turns it on): runs do without"
    return Finding("pressure stall information", True, text)


def _engine(clock: Clock) -> DockerPlatform | Finding:
    """The engine of the environment, or that none answers."""
    try:
        return DockerPlatform(clock)
    except UnavailableError as error:
        return Finding("Docker engine", False, f"{error.what}; {error.advice}")


def _docker(engine: DockerPlatform, root: Path) -> tuple[Finding, ...]:
    home = os.environ.get(distribution.HOME_VARIABLE)
    benchbase = distribution.whereabouts(Path(home) if home else None, engine)
    return (*examine_platform(engine, root), Finding("BenchBase", True, benchbase))


def _images(platform: Platform, root: Path) -> list[Finding]:
    found, brought = [], isinstance(platform, DockerMachines)
    for name in own_images.OURS:
        tag = own_images.tag(root, name)
        exists = platform.images.present(tag) or (None if brought else False)
        more = (
            "a campaign brings it" if brought else f"elsewhere: {platform.images.ways_to_get(tag)}"
        )
        text = "there" if exists else f"`make setup` builds it; {more}"
        found.append(Finding(f"image {tag}", exists, text))
    return found
