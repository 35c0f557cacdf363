"""The platform of a look ahead: no engine is asked, and nothing is started.

Every image is taken to be here; what would start something raises `NotAsked`, so that a check goes
as far as it can without.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from orchestrator.errors import TierbenchError
from orchestrator.platforms.common.machines import LocalMachine
from orchestrator.powers import Machine


class NotAsked(TierbenchError):
    """What could only be found out by starting or asking something."""


class _Unanswered:
    """Whatever is asked of it, and of its parts."""

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise NotAsked("what only a container that is started can tell")

    def __getattr__(self, _part: str) -> _Unanswered:
        return self


class _AllImages:
    """Every image is here."""

    def present(self, tag: str) -> bool:
        return True

    def id(self, tag: str) -> str:
        return tag


class UnaskedPlatform:
    name: str = "unasked"
    campaign: str = ""

    def machines(self) -> tuple[Machine, ...]:
        return (LocalMachine(),)

    def machines_of_nodes(self) -> tuple[Machine, ...]:
        return self.machines()

    def folder(self, cache: Path) -> Path:
        return cache

    @property
    def images(self) -> _AllImages:
        return _AllImages()

    def __getattr__(self, power: str) -> Any:
        return _Unanswered()
