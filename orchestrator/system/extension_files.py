"""Files in a results folder that an extension has made, and that it alone shows."""

from collections.abc import Iterator
from pathlib import Path

from orchestrator import facts
from orchestrator.errors import CutError, NotReadableError
from orchestrator.registry.installed import extensions
from orchestrator.system import stored_json


def not_shown_in(folder: Path) -> Iterator[str]:
    """The same of all files in a folder that are JSON."""
    for file in sorted(folder.glob("*.json")):
        yield from not_shown(file)


def not_shown(file: Path) -> Iterator[str]:
    """A sentence if the extension that made the file is not installed here; nothing without the
    file.

    A file that cannot be read is reported where its content is read.
    """
    try:
        content = stored_json.facts(file, [])
    except (CutError, NotReadableError):
        return
    made_by = facts.group(content.get("made_by"))
    name = made_by.get("extension")
    installed = [extension.name for extension in extensions()]
    if name and name not in installed:
        how = f"pip install {made_by.get('distribution')}=={made_by.get('version')}"
        yield (
            f"{file} belongs to the extension {name}, which is not installed "
            f"here ({how})"
        )
