"""Examples read out of the documents, so that a document and what the program does cannot part."""

from __future__ import annotations

import re

from tests import ROOT


def examples(document: str, heading: str, language: str = "yaml") -> tuple[str, ...]:
    """The blocks of `docs/<document>` in `language` under `## <heading>`, in their order."""
    text = (ROOT / "docs" / document).read_text()
    _, _, below = text.partition(f"## {heading}\n")
    section = re.split(r"^## ", below, maxsplit=1, flags=re.MULTILINE)[0]
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert blocks, f"{document} has no {language} example under {heading!r}"
    return tuple(blocks)


def existing_profiles() -> tuple[str, ...]:
    """The profiles of clusters that others run: YugabyteDB, then PostgreSQL."""
    return examples("YUGABYTEDB.md", "A cluster that others run")
