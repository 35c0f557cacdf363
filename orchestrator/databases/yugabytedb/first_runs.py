"""Where the first-run checklist has passed: with which image, on which machine's engine.

`DB=auto` takes YugabyteDB only there. Kept in the cache, one file for each image on each machine. A
checklist that begins takes its file away; only one whose every line was confirmed puts it back.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from orchestrator.databases.yugabytedb import checklist, image, settings
from orchestrator.databases.yugabytedb.checklist import Finding
from orchestrator.errors import TierbenchError
from orchestrator.model import ClusterSpec
from orchestrator.powers import World
from orchestrator.system import store


class Engine(Protocol):
    """What says which image lies where."""

    def image_present(self, tag: str) -> bool: ...
    def image_id(self, tag: str) -> str | None: ...
    def engine_id(self) -> str | None: ...


def passed(spec: ClusterSpec, engine: Engine, cache: Path) -> str:
    """That and when the checklist passed here, as a sentence; empty where it did not."""
    try:
        tag, file = _place(spec, engine, cache)
        content = json.loads(file.read_text()) if file is not None else {}
    except (OSError, ValueError, TierbenchError):
        return ""
    if not set(_names()) <= set(content.get("confirmed", ())):
        return ""
    day = datetime.datetime.fromtimestamp(content["passed_s"], datetime.UTC).date()
    return (
        f"the database is YugabyteDB ({tag}): its first-run checklist passed on this machine "
        f"on {day}"
    )


def kept(
    found: Iterable[Finding], spec: ClusterSpec, engine: Engine, world: World
) -> Iterator[Finding]:
    """The findings as they are made; what they say in the end is kept, and told."""
    tag, file = _place(spec, engine, world.cache)
    if file is not None:
        file.unlink(missing_ok=True)
    confirmed: list[str] = []
    for finding in found:
        if finding.state == "confirmed":
            confirmed.append(finding.name)
        yield finding
    if file is None or not set(_names()) <= set(confirmed):
        world.progress.note("DB=auto goes on taking PostgreSQL here: not every line is confirmed")
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    content = {"image": tag, "confirmed": confirmed, "passed_s": world.clock.now()}
    store.write_json(file, content)
    world.progress.note(
        f"DB=auto takes YugabyteDB here from now on, as long as {tag} is this image"
    )


def _names() -> list[str]:
    """Every line that a release of this tool looks at: one that is new was not confirmed before."""
    return [*(fact.name for fact in checklist.FACTS), checklist.COLD_COPY[0]]


def _place(spec: ClusterSpec, engine: Engine, cache: Path) -> tuple[str, Path | None]:
    """The image's tag, and the file that stands for this image on this machine; None where the
    image is not here or the engine does not say who it is."""
    tag = image.chosen(settings.read(spec)[0], engine)
    identity, machine = engine.image_id(tag), engine.engine_id()
    if not identity or not machine:
        return tag, None
    key = hashlib.sha256(f"{machine}\n{identity}".encode()).hexdigest()[:16]
    return tag, cache / "first-runs" / f"{key}.json"
