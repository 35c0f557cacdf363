"""The computer that this program runs on, as a machine that runs containers.

A machine elsewhere on which containers of ours may read is an `AgentMachine` (agent.py).
"""

import os
import platform
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from orchestrator.platforms.common.machine_facts import OF_FACTS, facts_in, text_of
from orchestrator.powers import ClockOffset, MachineFacts
from orchestrator.system import files, host

_FOLDERS_BELOW_ROOT = ("proc", "sys", "dev", "etc")


class LocalMachine:
    """This computer. `root` holds its /proc, /sys, /dev and /etc: a fixture tree in tests."""

    is_here = True
    facts_told: MachineFacts | None = None
    clock_offset: ClockOffset | None = None

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self.name = host.name()

    def facts(self) -> MachineFacts:
        texts: dict[str, str] = {}
        for path in OF_FACTS:
            texts[path] = text_of(self, path)
        facts = facts_in(texts, self.name)
        # Python's facts hold on systems without these files, too, such as macOS.
        return replace(
            facts,
            kernel=platform.release(),
            system=facts.system or platform.platform(),
            cpus=os.cpu_count() or 1,
            cpu_model=facts.cpu_model or platform.machine(),
        )

    def read(self, path: str) -> str:
        # Files of /proc may have any bytes, such as names of processes: none fails a reading.
        return self._at(path).read_text(encoding="utf-8", errors="surrogateescape")

    def exists(self, path: str) -> bool:
        return self._at(path).exists()

    def is_folder(self, path: str) -> bool:
        return self._at(path).is_dir()

    def listing(self, path: str) -> tuple[str, ...]:
        return tuple(sorted(entry.name for entry in self._at(path).iterdir()))

    def real_path(self, path: str) -> str:
        return os.path.realpath(self._at(path))

    def free_bytes(self, path: str) -> int:
        return files.free_bytes(self._at(path))

    def refresh(self) -> None:
        """Nothing: each `read` looks by itself."""

    def read_at(self) -> float | None:
        return None

    def locate(self, container_id: str) -> Mapping[str, Any] | None:
        return None

    def _at(self, path: str) -> Path:
        return _below(self._root, path)


@lru_cache(maxsize=4096)  # the same files each second
def _below(root: Path, path: str) -> Path:
    inside = path.lstrip("/")
    # A test's tree has these; all other paths are this computer's own in tests, too.
    if inside.split("/")[0] in _FOLDERS_BELOW_ROOT:
        return root / inside
    return Path(path)
