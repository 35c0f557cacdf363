"""The cells of the raw disk matrix, planned from text. Pure.

A cell is one way of asking a disk: pattern × read share × block × depth × threads. What is
in flight at once is depth × threads. What measured cells say about a disk is in
`analysis/figures/matrix_laws.py`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple, cast

from orchestrator import model, units

Pattern = Literal["random", "sequential"]

# The sector of the disks and of their file system: direct I/O takes nothing smaller.
SECTOR_BYTES = 4096
MAX_DEPTH = 1024
FIGURES = (
    "iops",
    "bytes_per_s",
    "latency_avg_s",
    "latency_p50_s",
    "latency_p95_s",
    "latency_p99_s",
)


def file_bytes(workload: model.Workload) -> int:
    """Size of the file that is measured. ValueError where its data set gives none."""
    return units.parse_bytes(workload.dataset.parameters.get("size", ""))


@dataclass(frozen=True)
class MatrixCell:
    """One way of asking a disk; `depth` is each thread's own."""

    pattern: Pattern
    read_pct: int
    block_bytes: int
    depth: int
    threads: int = 1

    @property
    def in_flight(self) -> int:
        return self.depth * self.threads

    @property
    def name(self) -> str:
        """Scope of its measurements and name of its file: `random-read100-4KiB-32x1`."""
        series_name = series(self.pattern, self.read_pct, self.block_bytes)
        return f"{series_name}-{self.depth}x{self.threads}"


def series(pattern: str, read_pct: int, block_bytes: int) -> str:
    """`random-read100-4KiB`."""
    return f"{pattern}-read{read_pct}-{block_name(block_bytes).replace(' ', '')}"


def block_name(block_bytes: int) -> str:
    """`4 KiB`, `1 MiB`: exact, unlike a rounded quantity."""
    if block_bytes % 2**20 == 0:
        return f"{block_bytes // 2**20} MiB"
    return f"{block_bytes // 2**10} KiB"


def way(read_pct: int) -> str:
    """`read`, `write` or `mixed`: what a ceiling is a ceiling of."""
    if read_pct == 100:
        return "read"
    if read_pct == 0:
        return "write"
    return "mixed"


def planned(options: Mapping[str, int | float | str]) -> tuple[MatrixCell, ...]:
    """The cells of a workload's option `cells`, each once, in the order given; none without it.

    Each line is a product: `random read 0,100 block 4KiB,1MiB depth 1,8,32 threads 1`.
    ValueError with every line that is not.
    """
    # Two lines may have a cell in common, which is measured once.
    cells: dict[MatrixCell, None] = {}
    mistakes: list[str] = []
    for written in str(options.get("cells", "")).splitlines():
        line = written.strip()
        if not line:
            continue
        try:
            cells |= dict.fromkeys(_product(line))
        except ValueError as error:
            mistakes.append(f"`{line}`: {error}")
    if mistakes:
        raise ValueError("; ".join(mistakes))
    return tuple(cells)


def stretches(options: Mapping[str, int | float | str]) -> int:
    """How often a run warms up and measures: once, or once for each cell of its matrix."""
    try:
        return max(1, len(planned(options)))
    except ValueError:
        return 1  # `check` reports it with its reasons


def _whole(text: str) -> int:
    if not text.isdigit():
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


class _Axis(NamedTuple):
    """What reads a value, the least and the most, and what all are multiples of."""

    read: Callable[[str], int]
    least: int
    most: int
    step: int = 1


_AXIS = re.compile(r"(\w+)\s+(\S+)")
_AXES: Mapping[str, _Axis] = {
    "read": _Axis(_whole, 0, 100),
    "block": _Axis(units.parse_bytes, SECTOR_BYTES, 2**30, SECTOR_BYTES),
    "depth": _Axis(_whole, 1, MAX_DEPTH),
    "threads": _Axis(_whole, 1, MAX_DEPTH),
}


def _product(line: str) -> Iterator[MatrixCell]:
    pattern, _, rest = line.partition(" ")
    if pattern not in ("random", "sequential"):
        raise ValueError(f"begin with `random` or `sequential`, not {pattern!r}")
    values = _values_of_axes(rest)
    # The depth changes fastest, so the cells of one series follow each other.
    combined = product(
        values["block"], values["read"], values["threads"], values["depth"]
    )
    for block, read, threads, depth in combined:
        yield MatrixCell(
            pattern=cast(Pattern, pattern),
            read_pct=read,
            block_bytes=block,
            depth=depth,
            threads=threads,
        )


def _values_of_axes(text: str) -> dict[str, list[int]]:
    # Threads may be left out: then one thread asks.
    texts = {"threads": "1", **dict(_AXIS.findall(text))}
    # Text beside names and values is a mistake, such as a value with a space in it.
    if texts.keys() != _AXES.keys() or _AXIS.sub("", text).strip():
        raise ValueError(
            "give `read`, `block` and `depth` (and `threads`), each with its values"
        )
    return {name: _values(name, texts[name]) for name in _AXES}


def _values(name: str, text: str) -> list[int]:
    axis = _AXES[name]
    values = [axis.read(word) for word in text.split(",")]
    if any(not axis.least <= value <= axis.most for value in values):
        raise ValueError(f"`{name}` must lie between {axis.least} and {axis.most}")
    if any(value % axis.step for value in values):
        raise ValueError(f"`{name}` must be a multiple of {axis.step} bytes")
    return values


def names_without_database(workloads: Iterable[model.Workload]) -> list[str]:
    """The workloads that measure a disk alone."""
    names: list[str] = []
    for workload in workloads:
        if workload.database is not None:
            names.append(workload.name)
    return names
