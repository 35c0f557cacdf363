"""A platform that starts a container only where all that it asks for is promised to no other."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Promises(Protocol):
    def free_cpus(self, nodes: int) -> float:
        """Returns how many CPUs each of so many nodes of a database may ask for now."""
