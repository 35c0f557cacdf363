"""Names that this computer resolves while a test runs, as a machine of their network would.

They stand in /etc/hosts, because containers in the machine's own network get a copy of that file
when they are made. Each line has a mark, so that what a killed test run left is known.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

FILE = Path("/etc/hosts")
MARK = "# tierbench-test"


def can_be_written() -> bool:
    return os.access(FILE, os.W_OK)


@contextmanager
def resolved(addresses: Mapping[str, str]) -> Iterator[None]:
    """`addresses`: of each name."""
    sweep()
    with FILE.open("a") as file:
        for name, address in addresses.items():
            file.write(f"{address} {name} {MARK}\n")
    try:
        yield
    finally:
        sweep()


def leftovers() -> list[str]:
    lines = FILE.read_text().splitlines()
    return [line for line in lines if line.endswith(MARK)]


def sweep() -> None:
    """Removes the lines of tests, and leaves the others as they are. The file is written in place:
    in a container it is mounted, and cannot be replaced."""
    if not leftovers():
        return
    others = []
    for line in FILE.read_text().splitlines(keepends=True):
        if not line.rstrip().endswith(MARK):
            others.append(line)
    FILE.write_text("".join(others))
