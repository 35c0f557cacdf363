"""A checklist of all that a database's member relies on, and what was seen of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from orchestrator.model import (
    Cluster,
    ClusterSpec,
)
from orchestrator.powers import Platform, World

CheckState = Literal["confirmed", "not confirmed", "could not be looked at"]


@dataclass(frozen=True)
class CheckedFact:
    """One line of a checklist, looked at. `inferred`: no real cluster was ever seen to say it
    before."""

    name: str
    claim: str
    state: CheckState
    seen: str
    inferred: bool


@dataclass(frozen=True)
class FirstRun:
    """A checklist of all that a database's member relies on."""

    # (release, settings): the cluster that it starts.
    spec: Callable[[str | None, Mapping[str, str]], ClusterSpec]
    # (spec, world, listen): yields each finding as it is made, and lets `listen` read the nodes
    # while they are up. UnavailableError if it cannot run there.
    look: Callable[
        [ClusterSpec, World, Callable[[Cluster], None]], Iterator[CheckedFact]
    ]
    # (findings, spec, world, results folder): yields the findings, then keeps them and whether all
    # that `auto` waits for was confirmed.
    kept: Callable[
        [Iterable[CheckedFact], ClusterSpec, World, Path | None], Iterator[CheckedFact]
    ]
    # (spec, platform, cache): a sentence with the day on which it passed here; empty if it did not.
    passed: Callable[[ClusterSpec, Platform, Path], str]
