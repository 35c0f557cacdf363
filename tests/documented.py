"""Examples read out of the documents, so that a document and what the program does cannot part."""

from __future__ import annotations

import re
import shlex

from tests import ROOT


def examples(document: str, heading: str, language: str = "yaml") -> tuple[str, ...]:
    """The blocks of `docs/<document>` in `language` under `## <heading>`, in their order."""
    text = (ROOT / "docs" / document).read_text()
    _, _, below = text.partition(f"## {heading}\n")
    section = re.split(r"^## ", below, maxsplit=1, flags=re.MULTILINE)[0]
    blocks = re.findall(
        rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL
    )
    assert blocks, f"{document} has no {language} example under {heading!r}"
    return tuple(blocks)


def table_below(document: str, heading: str, head: str) -> tuple[tuple[str, ...], ...]:
    """The rows of the table under `## <heading>` whose first column is called `head`."""
    text = (ROOT / "docs" / document).read_text()
    _, _, below = text.partition(f"## {heading}\n")
    section = re.split(r"^## ", below, maxsplit=1, flags=re.MULTILINE)[0]
    _, _, table = section.partition(f"| {head} |")
    assert table, f"{document} has no table {head!r} under {heading!r}"
    lines = table.split("\n\n", 1)[0].splitlines()[
        2:
    ]  # without its head and the rule below it
    return tuple(
        tuple(cell.strip() for cell in line.strip(" |").split(" | ")) for line in lines
    )


def documented_commands(document: str, heading: str) -> list[list[str]]:
    """The words of each command of ours that stands by itself under `## <heading>`."""
    text = (ROOT / "docs" / document).read_text()
    _, _, below = text.partition(f"## {heading}\n")
    section = re.split(r"^## ", below, maxsplit=1, flags=re.MULTILINE)[0]
    lines = section.replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if line.startswith("tierbench ")]


def existing_profiles() -> tuple[str, ...]:
    """The profiles of clusters that others run: YugabyteDB, then PostgreSQL."""
    return examples("YUGABYTEDB.md", "A cluster that others run")
