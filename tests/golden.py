"""The one switch for golden files: `make golden` (UPDATE_GOLDEN=1) rewrites them, for review."""

from __future__ import annotations

import os
from pathlib import Path

from tests import TESTS

FOLDER = TESTS / "golden"


def compare(name: str, text: str) -> None:
    """Fails unless `text` is what tests/golden/`name` holds; while rewriting, it is put there."""
    file = FOLDER / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"`make golden` rewrites {file}"


def compare_section(document: Path, name: str, text: str) -> None:
    """The same for a part of a document, between `<!-- name -->` and `<!-- end of name -->`."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, _, rest = document.read_text(encoding="utf-8").partition(begin)
    held, found, after = rest.partition(end)
    assert found, f"{document.name} has no part {name!r}"
    if os.environ.get("UPDATE_GOLDEN"):
        document.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf-8")
        held = text
    assert text == held, f"`make golden` rewrites the part {name!r} of {document.name}"
