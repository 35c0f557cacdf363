"""Databases of a look ahead, which connects to nothing."""

from collections.abc import Iterator, Mapping

from orchestrator.parts.databases import Database


class Unconnected(Mapping[str, Database]):
    """The same databases, each made when it is first asked for.

    Of one that would connect to a cluster it has the one that does not (`unconnected` of
    `DatabaseAbilities`). `connected`: may ask its cluster all the same.
    """

    def __init__(
        self, databases: Mapping[str, Database], connected: Database | None = None
    ) -> None:
        self._databases = databases
        self._connected = connected

    def __getitem__(self, name: str) -> Database:
        if self._connected is not None and self._connected.name == name:
            return self._connected
        database = self._databases[name]
        unconnected = database.abilities.unconnected
        if unconnected is None:
            return database
        return unconnected()

    def __contains__(self, name: object) -> bool:
        return name in self._databases

    def __iter__(self) -> Iterator[str]:
        return iter(self._databases)

    def __len__(self) -> int:
        return len(self._databases)
