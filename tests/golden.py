"""The one switch for golden files: `make golden` (UPDATE_GOLDEN=1) rewrites them, for review."""

from __future__ import annotations

import os

from tests import TESTS

FOLDER = TESTS / "golden"


def compare(name: str, text: str) -> None:
    """Fails unless `text` is what tests/golden/`name` holds; while rewriting, it is put there."""
    file = FOLDER / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"`make golden` rewrites {file}"
