"""Databases: one file or folder each, and one line here."""

from collections.abc import Mapping, Sequence

from orchestrator.parts import Database, Members
from orchestrator.registry.extension import DatabaseEntry
from orchestrator.registry.installed import BroughtEntry, Installed, family
from orchestrator.registry.references import ObjectPlace

NONE = "none"
DRY = "dry"

_BUILT_IN = {
    "yugabytedb": DatabaseEntry("orchestrator.databases.yugabytedb:YugabyteDB"),
    "postgresql": DatabaseEntry("orchestrator.databases.postgresql:PostgreSQL"),
    "existing": DatabaseEntry("orchestrator.databases.existing:ExistingCluster"),
    NONE: DatabaseEntry("orchestrator.databases.none:NoDatabase", for_users=False),
    DRY: DatabaseEntry("orchestrator.databases.dry:DryDatabase", for_users=False),
}


def entries(
    among: Sequence[Installed] | None = None,
) -> Mapping[str, BroughtEntry[DatabaseEntry]]:
    """The entries of built-in databases, and after them those of extensions.

    `among`: the extensions; None for all that are installed."""
    return family("databases", _BUILT_IN, among)


def for_users(among: Sequence[Installed] | None = None) -> list[str]:
    """The databases that `--db` names, beside `auto`."""
    names: list[str] = []
    for name, brought in entries(among).items():
        if brought.entry.for_users:
            names.append(name)
    return names


def databases() -> Mapping[str, Database]:
    makers = {}
    for name, owned in entries().items():
        makers[name] = ObjectPlace(owned.entry.member, owned.origin)
    return Members("database", makers)
