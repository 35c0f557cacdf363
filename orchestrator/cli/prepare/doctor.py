"""Checks of what this machine offers and lacks, each with what to do."""

from collections.abc import Iterator
from pathlib import Path

from rich.markup import escape

from orchestrator import errors, load_generators, model, powers
from orchestrator.cli.common.app import PLATFORM, App
from orchestrator.cli.prepare import bundle, first_run
from orchestrator.platforms import own_images
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.platforms.docker.many import DockerMachines
from orchestrator.powers import Finding
from orchestrator.registry.references import ObjectPlace
from orchestrator.system import certificates, files
from orchestrator.units import format_bytes, format_moment


def show(app: App, platform: str | None, placing: model.Placing | None) -> int:
    """Prints what there is and what is missing; returns the exit code."""
    marks = {
        True: "[green]ok     [/]",
        False: "[red]missing[/]",
        None: "[yellow]open   [/]",
    }
    findings = examine(app, platform, placing)
    lines = []
    for finding in findings:
        text = escape(f"{finding.subject}: {finding.text}")
        lines.append(f"{marks[finding.ok]} {text}")
    app.out.show(findings, *lines)
    # None is open: only a campaign can tell, so nothing is missing yet.
    missing = any(finding.ok is False for finding in findings)
    if missing:
        return errors.EXIT_UNAVAILABLE
    return errors.EXIT_DONE


def show_first_run(
    app: App,
    version: str | None,
    platform: str | None,
    profile: model.Profile | None,
    bundle_file: Path | None = None,
) -> int:
    """Goes through YugabyteDB's checklist, printing each finding; returns the exit code. What the
    servers answered meanwhile is written to `bundle_file`, if it is given."""
    if bundle_file is not None:
        # The file is checked before nodes are started, and not when they have answered.
        files.require_absent(bundle_file)
    collected = bundle.Collected(app)
    marks = {
        "confirmed": "[green]",
        "not confirmed": "[red]",
        "could not be looked at": "[yellow]",
    }
    findings = []
    for finding in first_run.findings(
        app, version, platform, profile, app.results, collected.ask
    ):
        app.progress.done()
        findings.append(finding)
        # JSON is shown as a whole at the end.
        if app.out.as_json:
            continue
        name = finding.name
        if finding.inferred:
            name += " (inferred)"
        line = f"{name}: {escape(finding.claim)}"
        app.out.print(f"{marks[finding.state]}{finding.state}[/] {line}")
        app.out.print(f"    {escape(finding.seen)}", style="dim")
    app.out.show(findings)
    if bundle_file is not None:
        collected.write(bundle_file, findings)
    confirmed = all(finding.state == "confirmed" for finding in findings)
    if confirmed:
        return errors.EXIT_DONE
    return errors.EXIT_INCONCLUSIVE


def examine_platform(platform: powers.Platform, root: Path) -> tuple[Finding, ...]:
    """Looks at a platform elsewhere, and for our images there; starts and changes nothing."""
    findings: list[Finding] = []
    abilities = platform.abilities
    if abilities.examine is not None:
        findings += abilities.examine()
    if abilities.certificates is not None:
        for certificate in abilities.certificates():
            findings.append(_certificate_finding(certificate))
    # A tag is a digest of the image's folder, so an image of another release does not count.
    for name in own_images.OURS:
        findings.append(_image(own_images.tag(root, name), platform))
    return tuple(findings)


def _certificate_finding(certificate: powers.CertificateFile) -> Finding:
    end_s = certificates.end_s(certificate)
    # Open, and never "missing": how long a campaign will take is not known here.
    if end_s is None:
        text = "it could not be read as PEM, so its expiry is not known"
    else:
        text = f"it expires at {format_moment(end_s)}; a campaign must end before that"
    return Finding.undecided(certificate.what, text)


def _image(tag: str, platform: powers.Platform) -> Finding:
    """Whether an image of ours is there; open where a campaign brings it by itself."""
    subject = f"image {tag}"
    if platform.images.present(tag):
        # It may be built for processors of another architecture, on which it does not start.
        wrong = platform.images.mismatch(tag)
        if wrong:
            return Finding.wrong(subject, wrong)
        return Finding.fine(subject, "there")
    if isinstance(platform, DockerMachines):
        text = "`tierbench setup` builds it; a campaign copies it there"
        return Finding.undecided(subject, text)
    ways = platform.images.ways_to_get(tag)
    text = f"`tierbench setup` builds it; elsewhere: {ways}"
    return Finding.wrong(subject, text)


def examine(
    app: App, platform: str | None = None, placing: model.Placing | None = None
) -> tuple[Finding, ...]:
    """Looks at a platform, and the machines of a profile on it, and without either at this
    machine, or the engine elsewhere that DOCKER_HOST or the current context names; starts and
    changes nothing."""
    if platform not in (None, PLATFORM) or (placing and placing.machines):
        return examine_platform(app.connect(platform, placing), app.root)
    # The machine is looked at even without an engine: both may be missing.
    try:
        engine = app.connect()
    except errors.UnavailableError as error:
        problem = f"{error.what}; {error.advice}"
        docker = [Finding.wrong("Docker engine", problem)]
    else:
        docker = list(examine_platform(engine, app.root))
        # The nodes run elsewhere, where what this machine has does not count.
        if not engine.machines()[0].is_here:
            return tuple(docker)
        docker += _generator_findings(engine)
    return (*_machine_findings(app), *docker)


def _generator_findings(engine: powers.Platform) -> Iterator[Finding]:
    """Findings on load generators whose programs are not in our images."""
    for name, owned in load_generators.entries().items():
        if not owned.entry.whereabouts:
            continue
        place = ObjectPlace(owned.entry.whereabouts, owned.origin)
        describe_whereabouts = place.imported()
        text = describe_whereabouts(engine)
        yield Finding.fine(f"load generator {name}", text)


def _machine_findings(app: App) -> Iterator[Finding]:
    """What this machine has, whatever runs on it."""
    machine = LocalMachine()
    facts = machine.facts()
    free = format_bytes(machine.free_bytes(str(app.cache)))
    pressure = "sampled"
    # A kernel may have it built in and switched off, until it boots with psi=1.
    if not machine.exists("/proc/pressure/io"):
        pressure = (
            "this kernel does not have it (psi=1 turns it on): runs do not record it"
        )
    yield Finding.fine(
        "processors",
        f"{facts.cpus} (all nodes and the client share them)",
    )
    yield Finding.fine("memory", format_bytes(facts.memory_bytes))
    yield Finding.fine("free space for disks", f"{free} at {app.cache}")
    yield _device("/dev/fuse", machine, "emulated disks need FUSE: `modprobe fuse`")
    yield _device(
        "/dev/loop-control",
        machine,
        "emulated disks need loop devices: `modprobe loop`",
    )
    yield Finding.fine("pressure stall information", pressure)


def _device(path: str, machine: powers.Machine, remedy: str) -> Finding:
    if machine.exists(path):
        return Finding.fine(path, "there")
    return Finding.wrong(path, remedy)
