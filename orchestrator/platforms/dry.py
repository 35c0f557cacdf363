"""Platforms that never start a container.

`DryPlatform` is for `--dry-run`: it answers all that a rehearsal asks. `UnaskedPlatform` is for
checks before a campaign. There every call that only a started container could answer raises
`NotAsked`, so a check goes as far as it can without one."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NoReturn, Self

from orchestrator.errors import NotAsked
from orchestrator.platforms.common import shared_network
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import (
    ContainerSpec,
    GuardBeats,
    Machine,
    Network,
    PlatformAbilities,
)


class DryContainer:
    """A container that was never started: no limits, no image, no log."""

    limits = None

    def find_image(self) -> str:
        return ""

    def logs(self, tail: int | None = None) -> str:
        return ""


class _AllImages:
    architecture = ""

    def mismatch(self, tag: str) -> str:
        return ""

    def present(self, tag: str) -> bool:
        return True

    def id(self, tag: str) -> str:
        return tag

    def ways_to_get(self, tag: str) -> str:
        return f"have {tag}"


class _OnThisComputer:
    images = _AllImages()

    @property
    def abilities(self) -> PlatformAbilities:
        return PlatformAbilities()

    def machines(self) -> tuple[Machine, ...]:
        return (LocalMachine(),)

    def machines_of_nodes(self) -> tuple[Machine, ...]:
        return self.machines()

    def folder(self, cache: Path) -> Path:
        return cache


class NobodyElse:
    """A `Guard` that is always held, because no other campaign can be in the way."""

    def __init__(self) -> None:
        self.beats = GuardBeats()

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()

    def other(self) -> str | None:
        return None


class DryPlatform(_OnThisComputer):
    """What a rehearsal needs of a platform."""

    name: str = "dry"
    campaign: str = "dry"

    def __init__(self) -> None:
        self.guard = NobodyElse()

    @contextmanager
    def network(
        self, name: str, nodes: int, addresses: Sequence[str] = ()
    ) -> Iterator[Network]:
        """Yields host names that are reserved for documentation."""
        yield Network(name, tuple(addresses) or _host_names(nodes))

    def container(self, name: str) -> DryContainer:
        return DryContainer()

    def answers(self) -> bool:
        return True

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        return ()

    def once(self, spec: ContainerSpec, timeout_s: float) -> NoReturn:
        raise NotAsked(f"what {spec.name} would tell within {timeout_s:g} s")


def _host_names(nodes: int) -> tuple[str, ...]:
    return tuple(f"node-{number}.example" for number in range(1, nodes + 1))


class _Unanswered:
    """A power, or a part of one: whatever is called raises `NotAsked`."""

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise NotAsked("what only a container that is started can tell")

    def __getattr__(self, _part: str) -> Self:
        return self


class UnaskedPlatform(_OnThisComputer):
    """Every image is taken to be here, so that a check goes as far as it can without asking."""

    name: str = "unasked"
    campaign: str = ""

    @property
    def abilities(self) -> PlatformAbilities:
        """The abilities of a platform that can do everything: only a real one says what it
        cannot."""
        unanswered: Any = _Unanswered()
        return PlatformAbilities(
            engine_of=unanswered,
            open_to=unanswered,
            free_cpus=unanswered,
            claims=unanswered,
            sweep_between_runs=unanswered,
            certificates=unanswered,
            examine=unanswered,
            # It asks for an image alone, and every image is taken to be here.
            shared_network=shared_network.SHARED,
        )

    def __getattr__(self, power: str) -> Any:
        return _Unanswered()
