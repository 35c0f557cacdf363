"""Runs of a campaign as they were read from their records, for whoever reads it again and again."""

import hashlib
from pathlib import Path
from typing import NamedTuple

from orchestrator.analysis.results import RunData


class _ReadBefore(NamedTuple):
    digest: bytes
    run: RunData


class RunsReadBefore:
    """Runs without tables, by the paths of their records. It belongs to one flow.

    A run is found only if its record has the same bytes as when it was read. Dates of files are not
    asked: a run that is measured again, or changed by anybody, has other bytes.
    """

    def __init__(self) -> None:
        self._runs: dict[Path, _ReadBefore] = {}

    def found(self, record: Path, content_digest: bytes) -> RunData | None:
        """The run whose record has content of this `digest`; None if it was not read from that."""
        before = self._runs.get(record)
        if before is not None and before.digest == content_digest:
            return before.run
        return None

    def keep(self, record: Path, content_digest: bytes, run: RunData) -> None:
        """Keeps a run that was read from content of this `digest`, and from nothing else."""
        self._runs[record] = _ReadBefore(content_digest, run)


def digest(content: bytes) -> bytes:
    """What tells a record's content from any other."""
    return hashlib.sha256(content).digest()
