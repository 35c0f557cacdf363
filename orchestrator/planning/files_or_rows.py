"""Which members are for files, and not for rows: a load of one kind runs on databases of it."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class FileMembers:
    """`databases` take files, `load_generators` load them; `on_one_engine`: databases whose nodes
    cannot be spread over several Docker engines."""

    databases: Collection[str] = ()
    load_generators: Collection[str] = ()
    on_one_engine: Collection[str] = ()
