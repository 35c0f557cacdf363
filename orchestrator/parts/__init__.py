"""Protocols of the four families: tier mechanism, database, load generator, collector.

One that inherits from its protocol need not have the methods in which it has nothing to do. Members
touch the outside only through `World`. A tier mechanism and a database keep nothing between calls:
what they learn is in the `Disks` or `Cluster` that they yield. What only some members can do is a
field of their family's record of abilities, which is read: nothing asks for a member's class.

Each family's protocol is in a module of its own. Here is what brings members together."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

from orchestrator.errors import NotInstalledError
from orchestrator.model import Cluster
from orchestrator.parts.collectors import Collector as Collector
from orchestrator.parts.database_checklists import (
    CheckedFact as CheckedFact,
    CheckState as CheckState,
    FirstRun as FirstRun,
)
from orchestrator.parts.databases import (
    Confirm as Confirm,
    Database as Database,
    DatabaseAbilities as DatabaseAbilities,
    ImageSupply as ImageSupply,
    SessionLimit as SessionLimit,
)
from orchestrator.parts.kept_data import (
    KeptData as KeptData,
    MarkedFolder as MarkedFolder,
    NodesData as NodesData,
)
from orchestrator.parts.load_generators import (
    ClientLoad as ClientLoad,
    LoadAbilities as LoadAbilities,
    LoadGenerator as LoadGenerator,
    MeasuredPoints as MeasuredPoints,
    Recorded as Recorded,
    Result as Result,
    Share as Share,
    SplitLoad as SplitLoad,
)
from orchestrator.parts.tier_mechanisms import (
    ChangedLimits as ChangedLimits,
    Disks as Disks,
    GatesOfMachines as GatesOfMachines,
    Levers as Levers,
    ServedDisk as ServedDisk,
    TierAbilities as TierAbilities,
    TierMechanism as TierMechanism,
)
from orchestrator.powers import World
from orchestrator.registry.references import ObjectPlace

Packages = dict[str, list[str]]  # an image's tag → `fio 3.39-1` of each package
Collectors = AbstractContextManager[Sequence["Collector"]]
AUTO = "auto"  # asked for as the database: one is chosen
Member = TypeVar("Member", bound="Database | LoadGenerator | TierMechanism")


class Members(Mapping[str, Member]):
    """The members of a family by name.

    A member is made when it is first asked for, and what its module needs is imported only then:
    a command that lists names, or needs one member, does not wait for the libraries of all.

    `noun`: what a member is, in words. `makers`: name → the class, or a function without
    parameters, that makes the member. NotInstalledError for another name.
    """

    def __init__(self, noun: str, makers: Mapping[str, ObjectPlace]) -> None:
        self._noun = noun
        self._makers = makers
        self._made: dict[str, Member] = {}

    def __getitem__(self, name: str) -> Member:
        if name not in self._makers:
            raise NotInstalledError(self._noun, name)
        if name not in self._made:
            make = self._makers[name].imported()
            self._made[name] = make()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        # A mapping would otherwise make the member only to say that it is there.
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def _no_collectors(_: Cluster) -> Collectors:
    return nullcontext(())


def _no_waits(_: Cluster, _window_s: float) -> Mapping[str, Any]:
    return {}


def _no_packages(_images: Iterable[str], _world: World) -> Packages:
    return {}


def _no_statements(_: Cluster) -> Iterable[Mapping[str, Any]]:
    return ()


@dataclass(frozen=True)
class Parts:
    """The members of each family, by their names in profiles and workloads."""

    databases: Mapping[str, Database]
    load_generators: Mapping[str, LoadGenerator]
    tiers: Mapping[str, TierMechanism]
    collectors: Sequence[Collector]
    # Collectors with a session, for the block.
    connected: Callable[[Cluster], Collectors] = _no_collectors
    # Counts of each statement by the servers, or RunError.
    statements: Callable[[Cluster], Iterable[Mapping[str, Any]]] = _no_statements
    # Waits of sessions in the last seconds, or RunError.
    waits: Callable[[Cluster, float], Mapping[str, Any]] = _no_waits
    # Packages of our images and of these databases' images.
    packages: Callable[[Iterable[str], World], Packages] = _no_packages
