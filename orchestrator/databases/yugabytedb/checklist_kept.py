"""Where the first-run checklist has passed, and what it found, as files.

The cache has one file for each image on each machine's engine. A checklist that begins removes it,
and writes it again only if every line was confirmed: then `DB=auto` takes YugabyteDB."""

import datetime
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from orchestrator import __version__, errors
from orchestrator.databases.yugabytedb import checklist, image, settings
from orchestrator.model import ClusterSpec
from orchestrator.parts import CheckedFact
from orchestrator.powers import Platform, World
from orchestrator.system import files, redaction


def passed(spec: ClusterSpec, platform: Platform, cache: Path) -> str:
    """A sentence with the day on which the checklist passed here; empty if it did not."""
    try:
        tag, file = _file(spec, platform, cache)
        if file is not None:
            content = json.loads(file.read_text(encoding="utf-8"))
        else:
            content = {}
    except (OSError, ValueError, errors.TierbenchError):
        return ""
    if not _complete(content.get("confirmed", ())):
        return ""
    day = datetime.datetime.fromtimestamp(content["passed_s"], datetime.UTC).date()
    return f"the database is YugabyteDB ({tag}): its first-run checklist passed here on {day}"


def kept(
    findings: Iterable[CheckedFact],
    spec: ClusterSpec,
    world: World,
    results: Path | None = None,
) -> Iterator[CheckedFact]:
    """Yields the findings, then keeps them and whether all that is needed was confirmed."""
    tag, file = _file(spec, world.platform, world.cache)
    # The file goes before anything is looked at: a checklist that is interrupted has not passed.
    if file is not None:
        file.unlink(missing_ok=True)
    checked: list[CheckedFact] = []
    for finding in findings:
        checked.append(finding)
        yield finding
    world.progress.note(summary(checked))
    if results is not None:
        _write_report(results, checked, tag, world)
    confirmed = [finding.name for finding in checked if finding.state == "confirmed"]
    if file is None or not _complete(confirmed):
        world.progress.note(
            "DB=auto does not take YugabyteDB there: not every line that it needs is "
            "confirmed"
        )
        return
    files.make_folder(file.parent)
    content = {"image": tag, "confirmed": confirmed, "passed_s": world.clock.now()}
    files.write_json(file, content)
    world.progress.note(
        f"DB=auto takes YugabyteDB there from now on, as long as {tag} is this image"
    )


def _write_report(
    results: Path, findings: Sequence[CheckedFact], tag: str, world: World
) -> None:
    image_name = re.sub(r"[^A-Za-z0-9.-]+", "-", tag)
    report = results / f"first-run-{image_name}.txt"
    files.make_folder(results)
    files.write_text(report, _text(findings, tag, world))
    world.progress.note(
        f"{report} has all of it, to attach to an issue; no password is in it"
    )


def summary(findings: Sequence[CheckedFact]) -> str:
    """`17 of 19 confirmed, these differ: memory, leaders`."""
    differing = [finding.name for finding in findings if finding.state != "confirmed"]
    text = f"{len(findings) - len(differing)} of {len(findings)} confirmed"
    if differing:
        return f"{text}, these differ: {', '.join(differing)}"
    return text


def _text(findings: Sequence[CheckedFact], tag: str, world: World) -> str:
    """All lines with what was seen, and on what they were seen."""
    machine = world.machine.facts_told or world.machine.facts()
    platform = world.platform
    day = datetime.datetime.fromtimestamp(world.clock.now(), datetime.UTC).date()
    size = f"{machine.cpus} CPUs, {machine.memory_bytes} bytes"
    image_id = platform.images.id(tag)
    lines = [
        f"First run of {tag} ({image_id}) with tierbench {__version__}, {day}",
        f"Machine: {machine.system}, kernel {machine.kernel}, {size}",
        f"Engine: {dict(platform.facts())}",
        summary(findings),
    ]
    for finding in findings:
        inferred = ""
        if finding.inferred:
            inferred = " (inferred)"
        lines += ["", f"{finding.state} {finding.name}{inferred}: {finding.claim}"]
        for line in finding.seen.splitlines():
            lines.append(f"    {line}")
    return redaction.hidden("\n".join(lines)) + "\n"


def _complete(confirmed: Iterable[str]) -> bool:
    """False also if this version of tierbench has a line that an earlier checklist did not."""
    return checklist.needed() <= set(confirmed)


def _file(
    spec: ClusterSpec, platform: Platform, cache: Path
) -> tuple[str, Path | None]:
    """The image's tag, and the file for this image on this machine; None if the image is not here
    or the engine has no identity."""
    tag = image.chosen(settings.read(spec)[0], platform)
    # A tag may be given to another image later, so the image's own identity is the key.
    identity = platform.images.id(tag)
    machine = platform.facts().get("ID")
    if not identity or not machine:
        return tag, None
    key = hashlib.sha256(f"{machine}\n{identity}".encode()).hexdigest()[:16]
    return tag, cache / "first-runs" / f"{key}.json"
