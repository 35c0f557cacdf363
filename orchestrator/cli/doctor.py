"""Checks of what this machine offers and lacks, each with what to do."""

import os
from pathlib import Path
from typing import Protocol, runtime_checkable

from rich.markup import escape

from orchestrator import errors, model, powers
from orchestrator.cli import campaign
from orchestrator.cli.app import PLATFORM, App
from orchestrator.load_generators.benchbase import distribution
from orchestrator.platforms import own_images
from orchestrator.platforms.common.machines import Finding, LocalMachine
from orchestrator.platforms.docker.many import DockerMachines
from orchestrator.units import format_bytes


@runtime_checkable
class _Examines(Protocol):
    """A platform that can be asked what it offers and lacks."""

    def examine(self) -> tuple[Finding, ...]: ...


def show(app: App, platform: str | None, placing: model.Placing | None) -> int:
    """Prints what there is and what is missing; returns the exit code."""
    marks = {
        True: "[green]ok     [/]",
        False: "[red]missing[/]",
        None: "[yellow]open   [/]",
    }
    findings = examine(app, platform, placing)
    lines = (
        f"{marks[each.ok]} {escape(f'{each.subject}: {each.text}')}"
        for each in findings
    )
    app.out.show(findings, *lines)
    missing = any(finding.ok is False for finding in findings)
    if missing:
        return errors.EXIT_UNAVAILABLE
    return errors.EXIT_DONE


def show_first_run(
    app: App, version: str | None, platform: str | None, profile: model.Profile | None
) -> int:
    """Goes through YugabyteDB's checklist, printing each finding; returns the exit code."""
    marks = {
        "confirmed": "[green]",
        "not confirmed": "[red]",
        "could not be looked at": "[yellow]",
    }
    findings = []
    for finding in campaign.first_run(app, version, platform, profile, app.results):
        app.progress.done()
        findings.append(finding)
        if app.out.as_json:
            continue
        before = ""
        if finding.inferred:
            before = " (inferred)"
        line = f"{finding.name}{before}: {escape(finding.claim)}"
        app.out.print(f"{marks[finding.state]}{finding.state}[/] {line}")
        app.out.print(f"    {escape(finding.seen)}", style="dim")
    app.out.show(findings)
    confirmed = all(finding.state == "confirmed" for finding in findings)
    if confirmed:
        return errors.EXIT_DONE
    return errors.EXIT_INCONCLUSIVE


def examine_platform(platform: powers.Platform, root: Path) -> tuple[Finding, ...]:
    """Looks at a platform elsewhere, and for our images there; starts and changes nothing."""
    if isinstance(platform, _Examines):
        findings = list(platform.examine())
    else:
        findings = []
    brought = isinstance(platform, DockerMachines)
    for name in own_images.OURS:
        tag = own_images.tag(root, name)
        exists = platform.images.present(tag) or (None if brought else False)
        more = "a campaign brings it"
        if not brought:
            more = f"elsewhere: {platform.images.ways_to_get(tag)}"
        if exists:
            text = "there"
        else:
            text = f"`tierbench setup` builds it; {more}"
        findings.append(Finding(f"image {tag}", exists, text))
    return tuple(findings)


def examine(
    app: App, platform: str | None = None, placing: model.Placing | None = None
) -> tuple[Finding, ...]:
    """Looks at a platform, and the machines of a profile on it, and without either at this
    machine, or the engine elsewhere that DOCKER_HOST or the current context names; starts and
    changes nothing."""
    if platform not in (None, PLATFORM) or (placing and placing.machines):
        return examine_platform(app.connect(platform, placing), app.root)
    try:
        engine = app.connect()
    except errors.UnavailableError as error:
        docker = [Finding("Docker engine", False, f"{error.what}; {error.advice}")]
    else:
        docker = list(examine_platform(engine, app.root))
        if not isinstance(engine.machines()[0], LocalMachine):
            return tuple(docker)
        home = os.environ.get(distribution.HOME_VARIABLE)
        benchbase = distribution.whereabouts(Path(home) if home else None, engine)
        docker.append(Finding("BenchBase", True, benchbase))
    machine = LocalMachine()
    facts = machine.facts()
    free = machine.free_bytes(str(app.cache))
    pressure = "sampled"
    if not machine.exists("/proc/pressure/io"):
        pressure = "not in this kernel (psi=1 turns it on): runs do without"
    return (
        Finding(
            "processors", True, f"{facts.cpus} (all nodes and the client share them)"
        ),
        Finding("memory", True, format_bytes(facts.memory_bytes)),
        Finding("free space for disks", True, f"{format_bytes(free)} at {app.cache}"),
        _device("/dev/fuse", machine, "emulated disks need FUSE: `modprobe fuse`"),
        _device(
            "/dev/loop-control",
            machine,
            "emulated disks need loop devices: `modprobe loop`",
        ),
        Finding("pressure stall information", True, pressure),
        *docker,
    )


def _device(path: str, machine: powers.Machine, remedy: str) -> Finding:
    exists = machine.exists(path)
    return Finding(path, exists, "there" if exists else remedy)
