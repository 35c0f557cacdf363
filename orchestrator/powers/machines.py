"""Computers that run containers or have their disks: their files, facts and clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class MachineFacts:
    """`instance_type`: the cloud's name for its kind. 0 and "": unknown."""

    hostname: str
    kernel: str
    system: str
    cpus: int
    cpu_model: str
    memory_bytes: int
    instance_type: str = ""


@dataclass(frozen=True)
class ClockOffset:
    """How much later a clock elsewhere is than this computer's, and how far that may be off."""

    offset_s: float
    within_s: float

    @property
    def shift_s(self) -> float:
        """What to take off the machine's times: nothing where the clocks may well be equal."""
        # A shift that may be wrong by more than itself would make times worse.
        if abs(self.offset_s) > self.within_s:
            return self.offset_s
        return 0.0

    def may_equal(self, other: ClockOffset) -> bool:
        """Whether one clock that nobody has set can have shown both."""
        apart_s = abs(self.offset_s - other.offset_s)
        return apart_s <= self.within_s + other.within_s


class Machine(Protocol):
    """A computer that runs containers or has their disks: its /proc, /sys, /dev and folders. Paths
    are absolute. OSError if one does not exist, or if the machine cannot be reached from here."""

    name: str
    # Whether it is this computer, whose files this program reads itself.
    is_here: bool

    @property
    def facts_told(self) -> MachineFacts | None:
        """What the platform says of a machine elsewhere, if it does."""
        return None

    @property
    def clock_offset(self) -> ClockOffset | None:
        """How much later the clock of a machine elsewhere is, if that is known by now."""
        return None

    def facts(self) -> MachineFacts: ...

    def read(self, path: str) -> str:
        """Returns the text of a small file."""

    def exists(self, path: str) -> bool: ...

    def is_folder(self, path: str) -> bool: ...

    def listing(self, path: str) -> tuple[str, ...]:
        """Returns the names in a folder, sorted."""

    def real_path(self, path: str) -> str:
        """Returns the path with all links followed."""

    def free_bytes(self, path: str) -> int:
        """Returns the free space at `path`, or at its nearest existing parent."""

    def refresh(self) -> None:
        """Reads anew, in one go, all files that `read` has been asked for lately, where asking for
        each costs a way over the network: `read` then returns what was found."""

    def read_at(self) -> float | None:
        """Returns when what `read` last gave the calling thread was read, by this computer's clock;
        None: just now."""
        return None

    def locate(self, container_id: str) -> Mapping[str, Any] | None:
        """Finds a container of which only the id is known. Its `groups` (controller, "" for version
        2 → path), and `process_id`, of its first process, None if none is seen; None where nothing
        finds one by its id. OSError if it is not on the machine."""
        return None
