"""Members that registries name as text satisfy the protocols of their families.

Goal: mypy checks what the text hides. Method: each name is bound here to its member, with the type
that the registry's readers expect, and a test compares the tables with the registries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator import databases, load_generators, tiers
from orchestrator.databases.dry import DryDatabase
from orchestrator.databases.existing import ExistingCluster
from orchestrator.databases.none import NoDatabase
from orchestrator.databases.postgresql import PostgreSQL
from orchestrator.databases.yugabytedb import YugabyteDB
from orchestrator.extensions.benchbase import config, generator as benchbase
from orchestrator.extensions.hadoop import tera
from orchestrator.extensions.hadoop.hdfs import Hdfs
from orchestrator.extensions.hadoop.store import Store
from orchestrator.extensions.hadoop.tera import Tera
from orchestrator.extensions.kubernetes import connecting
from orchestrator.extensions.kubernetes.storage_class import StorageClassTier
from orchestrator.extensions.sysbench_stock import scripts
from orchestrator.extensions.sysbench_stock.generator import from_environment
from orchestrator.load_generators import fio
from orchestrator.load_generators.common.rules import WorkloadRules
from orchestrator.load_generators.dry import DryGenerator
from orchestrator.load_generators.fio import Fio
from orchestrator.load_generators.sysbench import command_lines
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.model import Placing
from orchestrator.parts import Database, LoadGenerator, Members, TierMechanism
from orchestrator.powers import Clock, Platform
from orchestrator.registry.installed import BroughtEntry, extensions
from orchestrator.registry.references import ObjectPlace
from orchestrator.tiers.dry import DryTier
from orchestrator.tiers.emulated import EmulatedTier
from orchestrator.tiers.existing import ExistingTier
from orchestrator.tiers.mounted import MountedTier
from orchestrator.tiers.unlimited import UnlimitedTier

DATABASES: dict[str, Callable[[], Database]] = {
    "yugabytedb": YugabyteDB,
    "postgresql": PostgreSQL,
    "existing": ExistingCluster,
    "none": NoDatabase,
    "dry": DryDatabase,
    "hdfs": Hdfs,
    "store": Store,
}
LOAD_GENERATORS: dict[str, Callable[[], LoadGenerator]] = {
    "sysbench": Sysbench,
    "sysbench-stock": from_environment,
    "fio": Fio,
    "dry": DryGenerator,
    "benchbase": benchbase.from_environment,
    "tera": Tera,
}
WORKLOAD_RULES: dict[str, WorkloadRules] = {
    "sysbench": command_lines.RULES,
    "sysbench-stock": scripts.RULES,
    "fio": fio.RULES,
    "benchbase": config.RULES,
    "tera": tera.RULES,
}
PLATFORMS: dict[str, Callable[[Clock, Placing], Platform]] = {
    "kubernetes": connecting.connected,
}
TIERS: dict[str, Callable[[], TierMechanism]] = {
    "emulated": EmulatedTier,
    "mounted": MountedTier,
    "storage-class": StorageClassTier,
    "existing": ExistingTier,
    "none": UnlimitedTier,
    "dry": DryTier,
}


def ours(entries: Mapping[str, BroughtEntry[Any]]) -> dict[str, Any]:
    """The entries that come with the program. An extension of others has tests of its own."""
    found: dict[str, Any] = {}
    for name, brought in entries.items():
        if brought.origin.distribution in ("", "tierbench"):
            found[name] = brought.entry
    return found


def imported(places: Mapping[str, str]) -> dict[str, Any]:
    return {name: ObjectPlace(place).imported() for name, place in places.items()}


def test_databases_are_those_that_are_checked() -> None:
    entries = ours(databases.entries())
    assert imported({name: entries[name].member for name in entries}) == DATABASES


def test_load_generators_are_those_that_are_checked() -> None:
    entries = ours(load_generators.entries())
    assert imported({name: entries[name].member for name in entries}) == LOAD_GENERATORS


def test_rules_of_workloads_are_those_that_are_checked() -> None:
    entries = ours(load_generators.entries())
    places = {name: entries[name].rules for name in entries if entries[name].rules}
    assert imported(places) == WORKLOAD_RULES


def test_tier_mechanisms_are_those_that_are_checked() -> None:
    assert imported(ours(tiers.entries())) == TIERS


def test_platforms_are_those_that_are_checked() -> None:
    brought: dict[str, str] = {}
    for extension in extensions():
        if extension.origin.distribution == "tierbench":
            brought.update(extension.brings.platforms)
    assert imported(brought) == PLATFORMS


def test_whether_a_member_is_there_is_told_without_making_it() -> None:
    members: Members[Database] = Members(
        "database", {"ours": ObjectPlace("nowhere:Nothing")}
    )
    assert "ours" in members
    assert "theirs" not in members
