"""The do-nothing platform for rehearsals: it never starts anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from orchestrator.platforms.common.machines import LocalMachine
from orchestrator.powers import Machine, Network


class DryContainer:
    """What is asked of a container that was never started."""

    def find_image(self) -> str:
        return ""

    def logs(self, tail: int | None = None) -> str:
        return ""


class DryPlatform:
    """The part of a platform that is needed if no container is started."""

    name: str = "dry"
    campaign: str = "dry"

    def machines(self) -> tuple[Machine, ...]:
        return (LocalMachine(),)

    def folder(self, cache: Path) -> Path:
        return cache

    @contextmanager
    def network(self, name: str, nodes: int, addresses: Sequence[str] = ()) -> Iterator[Network]:
        """Yields host names that are reserved for documentation."""
        names = tuple(f"node-{number}.example" for number in range(1, nodes + 1))
        yield Network(name, tuple(addresses) or names)

    def container(self, name: str) -> DryContainer:
        return DryContainer()

    def answers(self) -> bool:
        return True

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        return ()
