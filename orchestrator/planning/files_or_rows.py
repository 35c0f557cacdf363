"""Which members are for files, and not for rows: a load of one kind runs on databases of it."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class FileMembers:
    """The members that are for files."""

    # These take files, and the generators below load them.
    databases: Collection[str] = ()
    load_generators: Collection[str] = ()
    # Databases whose nodes cannot be spread over several Docker engines.
    on_one_engine: Collection[str] = ()
