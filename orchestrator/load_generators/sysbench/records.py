"""The records of all transactions of a run, in order of start, read in parts.

Each thread leaves a file (format: workloads/lib/recorder.lua) in the order in which it finished its
transactions, which is almost that of their starts. A first pass notes of each block of a file when
its transactions started; then the run is read again, some seconds at a time, from the blocks that
have transactions of these. So memory holds one part, however long the run and however many the
files.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from orchestrator.analysis.figures.transactions import FAILED
from orchestrator.errors import LoadError
from orchestrator.keys.shipped_yaml import shipped
from orchestrator.load_generators.common import program_output

if TYPE_CHECKING:
    import pandas as pd

RECORD = np.dtype(list(shipped(__package__, "records.yaml").items()))
_SECOND_NS = 10**9


@dataclass(frozen=True)
class _File:
    """`first_ns`, `last_ns`: starts in each block, by the file's clock, ahead by `shift_ns`."""

    path: Path
    count: int
    first_ns: np.ndarray
    last_ns: np.ndarray
    block: int  # records of a block
    shift_ns: int = 0

    def started_in(self, start_ns: int, end_ns: int) -> np.ndarray:
        """The records that started in [start_ns, end_ns), in the file's order, by our clock."""
        start_ns = start_ns + self.shift_ns
        end_ns = end_ns + self.shift_ns
        blocks = np.flatnonzero((self.first_ns < end_ns) & (self.last_ns >= start_ns))
        if not len(blocks):
            return np.empty(0, RECORD)
        first = int(blocks[0]) * self.block
        last = min(int(blocks[-1] + 1) * self.block, self.count)
        rows = _read(self.path, first, last - first)
        started_ns = rows["start_ns"]
        # A block has neighbours of the part too, because it is in the order of ends.
        started: np.ndarray = rows[(started_ns >= start_ns) & (started_ns < end_ns)]
        started["start_ns"] -= self.shift_ns
        return started


class Records:
    """The tables of transactions.py of these files, in order of start; read anew at each iteration.
    At least one, which may be empty. `count`, `failures`: of all records. `unstarted_s`: type → how
    long those were due that never began."""

    block = 4096  # records: small beside a part, even of many hundred files
    read = 256 * block
    part = 2**20

    def __init__(self, files: Sequence[Path], types: Sequence[str]) -> None:
        self.count = 0
        self.failures = 0
        self.types = list(types)
        self.unstarted_s: dict[str, np.ndarray] = {}
        self._seconds: Counter[int] = Counter()
        self._codes: set[int] = set()
        self._files = [self._looked_at(file) for file in files]

    @classmethod
    def merged(cls, several: Sequence[Self], shifts_s: Sequence[float]) -> Self:
        """The transactions of several clients, each once.

        `shifts_s`: by how much the clock of each client is ahead of ours. LoadError if their types
        differ.
        """
        whole = cls((), several[0].types)
        for records, shift_s in zip(several, shifts_s, strict=True):
            if records.types != whole.types:
                raise LoadError(
                    f"clients ran other transactions: {records.types}, {whole.types}",
                    advice=program_output.NOT_COUNTED,
                )
            whole._add(records, shift_ns=round(shift_s * 1e9))
        return whole

    def _add(self, other: Self, shift_ns: int) -> None:
        self.count += other.count
        self.failures += other.failures
        self._codes |= other._codes
        self._never_began(other.unstarted_s)
        for file in other._files:
            self._files.append(replace(file, shift_ns=shift_ns))
        for second, count in other._seconds.items():
            start_ns = second * _SECOND_NS - shift_ns
            self._seconds[start_ns // _SECOND_NS] += count
            # Some of these seconds are of the next where they are not whole by our clock.
            self._seconds[(start_ns + _SECOND_NS - 1) // _SECOND_NS] += 0

    @classmethod
    def of_folder(cls, out: Path) -> Self:
        """All that one client left. LoadError if there is nothing to read."""
        description = out / "recorder.json"
        files = sorted(out.glob("latency-*.bin"))
        if not description.is_file() or not files:
            raise program_output.raw_file_error(out, "holds no transaction records")
        records = cls(
            files, json.loads(description.read_text(encoding="utf-8"))["types"]
        )
        for thread in threads(out):
            waits_s: dict[str, np.ndarray] = {}
            for kind, waits_us in (thread.get("unstarted_waits") or {}).items():
                waits_s[kind] = np.array(waits_us) * 1e-6
            records._never_began(waits_s)
        return records

    def _never_began(self, waits_s: Mapping[str, np.ndarray]) -> None:
        for kind, waited_s in waits_s.items():
            self.unstarted_s[kind] = np.append(self.unstarted_s.get(kind, []), waited_s)

    def _looked_at(self, path: Path) -> _File:
        """Reads a file once, for what all parts need to know of it."""
        # A client that was killed may have left a part of a record at the end.
        count = path.stat().st_size // RECORD.itemsize
        firsts = [np.empty(0, np.int64)]
        lasts = [np.empty(0, np.int64)]
        for offset in range(0, count, self.read):
            rows = _read(path, offset, min(self.read, count - offset))
            begins = np.arange(0, len(rows), self.block)
            firsts.append(np.minimum.reduceat(rows["start_ns"], begins))
            lasts.append(np.maximum.reduceat(rows["start_ns"], begins))
            self._count(rows)
        self.count += count
        return _File(
            path=path,
            count=count,
            first_ns=np.concatenate(firsts),
            last_ns=np.concatenate(lasts),
            block=self.block,
        )

    def _count(self, rows: np.ndarray) -> None:
        started_s = rows["start_ns"] // _SECOND_NS
        seconds, counts = np.unique(started_s, return_counts=True)
        for second, count in zip(seconds.tolist(), counts.tolist(), strict=True):
            self._seconds[second] += count
        self._codes |= set(np.unique(rows["sqlstate"]).tolist())
        self.failures += int((rows["outcome"] == FAILED).sum())

    def __iter__(self) -> Iterator[pd.DataFrame]:
        for start_ns, end_ns in self._spans():
            parts = [file.started_in(start_ns, end_ns) for file in self._files]
            rows = np.concatenate(parts)
            order = np.argsort(rows["start_ns"], kind="stable")
            yield self._table(rows[order])

    def _spans(self) -> Iterator[tuple[int, int]]:
        """Whole seconds in order, as many at a time as a part may have records."""
        seconds = sorted(self._seconds)
        if not seconds:
            yield 0, 0
            return
        begin = seconds[0]
        count = 0
        for second in seconds:
            if count and count + self._seconds[second] > self.part:
                yield begin * _SECOND_NS, second * _SECOND_NS
                begin = second
                count = 0
            count += self._seconds[second]
        yield begin * _SECOND_NS, (seconds[-1] + 1) * _SECOND_NS

    def _table(self, rows: np.ndarray) -> pd.DataFrame:
        import pandas as pd

        # The same categories in all parts, so that a code means the same in each.
        codes = np.array(sorted(self._codes), dtype=np.uint32)
        states = [_sqlstate(code) for code in codes.tolist()]
        places = np.searchsorted(codes, rows["sqlstate"])
        types = rows["type"].astype(np.int16)
        sqlstates = pd.Index(states, dtype=str)
        columns = {
            "start_s": rows["start_ns"] * 1e-9,
            "latency_s": rows["latency_us"] * 1e-6,
            "queue_s": rows["queue_us"] * 1e-6,
            "type": pd.Categorical.from_codes(types, pd.Index(self.types)),
            "outcome": rows["outcome"],
            "retries": rows["retries"],
            "sqlstate": pd.Categorical.from_codes(places, sqlstates),
        }
        return pd.DataFrame(columns)


def _sqlstate(code: int) -> str:
    """Base-36 numbers of five characters; 0 is none."""
    if not code:
        return ""
    return np.base_repr(code, 36).zfill(5)


def threads(out: Path) -> list[dict[str, Any]]:
    """What each thread noted at its end."""
    return [
        json.loads(file.read_text(encoding="utf-8"))
        for file in sorted(out.glob("errors-*.json"))
    ]


def began_s(out: Path) -> float | None:
    """When the last thread began, by the client's clock (Unix seconds); None if none noted it."""
    begun_ms: list[float] = []
    for thread in threads(out):
        if "begun_ms" in thread:
            begun_ms.append(thread["begun_ms"])
    if begun_ms:
        return max(begun_ms) / 1e3
    return None


def _read(path: Path, offset: int, count: int) -> Any:
    return np.fromfile(path, RECORD, count, offset=offset * RECORD.itemsize)
