"""Where the first-run checklist has passed: with which image, on which machine's engine.

`DB=auto` takes YugabyteDB only there. The cache has one file for each image on each machine. A
checklist that begins removes the file, and writes it again only if every line was confirmed.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from orchestrator import __version__
from orchestrator.databases.yugabytedb import checklist, image, settings
from orchestrator.databases.yugabytedb.checklist import CheckedFact
from orchestrator.errors import TierbenchError
from orchestrator.model import ClusterSpec
from orchestrator.platforms.common.machines import told
from orchestrator.powers import Platform, World
from orchestrator.system import store


def passed(spec: ClusterSpec, platform: Platform, cache: Path) -> str:
    """A sentence with the day on which the checklist passed here; empty if it did not."""
    try:
        tag, file = _file(spec, platform, cache)
        content = json.loads(file.read_text()) if file is not None else {}
    except (OSError, ValueError, TierbenchError):
        return ""
    if not _complete(content.get("confirmed", ())):
        return ""
    day = datetime.datetime.fromtimestamp(content["passed_s"], datetime.UTC).date()
    return f"the database is YugabyteDB ({tag}): its first-run checklist passed here on {day}"


def kept(
    findings: Iterable[CheckedFact],
    spec: ClusterSpec,
    platform: Platform,
    world: World,
    results: Path | None = None,
) -> Iterator[CheckedFact]:
    """Yields the findings as they are made, then keeps whether all that is needed was confirmed,
    and writes all of them to a file in `results`."""
    tag, file = _file(spec, platform, world.cache)
    if file is not None:
        file.unlink(missing_ok=True)
    made: list[CheckedFact] = []
    for finding in findings:
        made.append(finding)
        yield finding
    world.progress.note(summary(made))
    if results is not None:
        report = results / f"first-run-{re.sub(r'[^A-Za-z0-9.-]+', '-', tag)}.txt"
        results.mkdir(parents=True, exist_ok=True)
        report.write_text(_text(made, tag, platform, world), encoding="utf-8")
        world.progress.note(f"{report} has all of it, to attach to an issue; no password is in it")
    confirmed = [finding.name for finding in made if finding.state == "confirmed"]
    if file is None or not _complete(confirmed):
        world.progress.note(
            "DB=auto goes on taking PostgreSQL there: not every line that it needs is confirmed"
        )
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    content = {"image": tag, "confirmed": confirmed, "passed_s": world.clock.now()}
    store.write_json(file, content)
    world.progress.note(
        f"DB=auto takes YugabyteDB there from now on, as long as {tag} is this image"
    )


def summary(findings: Sequence[CheckedFact]) -> str:
    """`17 of 19 confirmed, these differ: memory, leaders`."""
    differing = [finding.name for finding in findings if finding.state != "confirmed"]
    text = f"{len(findings) - len(differing)} of {len(findings)} confirmed"
    return f"{text}, these differ: {', '.join(differing)}" if differing else text


_SECRET = re.compile(r"(password['\"]?\s*[=:]\s*)\S+", re.IGNORECASE)


def _text(findings: Sequence[CheckedFact], tag: str, platform: Platform, world: World) -> str:
    """All lines with what was seen, and on what they were seen."""
    machine = told(platform.machines()[0])
    day = datetime.datetime.fromtimestamp(world.clock.now(), datetime.UTC).date()
    lines = [
        f"First run of {tag} ({platform.images.id(tag)}) with tierbench {__version__}, {day}",
        f"Machine: {machine.system}, kernel {machine.kernel}, {machine.cpus} CPUs, "
        f"{machine.memory_bytes} bytes",
        f"Engine: {dict(platform.facts())}",
        summary(findings),
    ]
    for finding in findings:
        before = " (inferred)" if finding.inferred else ""
        lines += ["", f"{finding.state} {finding.name}{before}: {finding.claim}"]
        lines += [f"    {line}" for line in finding.seen.splitlines()]
    return _SECRET.sub(r"\1***", "\n".join(lines)) + "\n"


def _complete(confirmed: Iterable[str]) -> bool:
    """False also if this version of tierbench has a line that an earlier checklist did not."""
    return checklist.needed() <= set(confirmed)


def _file(spec: ClusterSpec, platform: Platform, cache: Path) -> tuple[str, Path | None]:
    """The image's tag, and the file for this image on this machine; None if the image is not here
    or the engine has no identity."""
    tag = image.chosen(settings.read(spec)[0], platform)
    identity, machine = platform.images.id(tag), platform.facts().get("ID")
    if not identity or not machine:
        return tag, None
    key = hashlib.sha256(f"{machine}\n{identity}".encode()).hexdigest()[:16]
    return tag, cache / "first-runs" / f"{key}.json"
