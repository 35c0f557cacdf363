"""Databases: one file or folder each, and one line here."""

from collections.abc import Mapping

from orchestrator.parts import Database, Members
from orchestrator.registry.extension import DatabaseEntry
from orchestrator.registry.installed import BroughtEntry, family
from orchestrator.registry.references import ObjectPlace

NONE = "none"
DRY = "dry"

_BUILT_IN = {
    "yugabytedb": DatabaseEntry("orchestrator.databases.yugabytedb:YugabyteDB"),
    "postgresql": DatabaseEntry("orchestrator.databases.postgresql:PostgreSQL"),
    "existing": DatabaseEntry("orchestrator.databases.existing:ExistingCluster"),
    NONE: DatabaseEntry("orchestrator.databases.none:NoDatabase"),
    DRY: DatabaseEntry("orchestrator.databases.dry:DryDatabase"),
}


def entries() -> Mapping[str, BroughtEntry[DatabaseEntry]]:
    """The entries of built-in databases, and after them those of extensions."""
    return family("databases", _BUILT_IN)


def databases() -> Mapping[str, Database]:
    makers = {}
    for name, owned in entries().items():
        makers[name] = ObjectPlace(owned.entry.member, owned.origin)
    return Members("database", makers)
