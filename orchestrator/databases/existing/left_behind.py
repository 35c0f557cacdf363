"""Databases that killed campaigns have left in clusters of others: listed, and dropped."""

from collections.abc import Iterator

from orchestrator.databases.existing import declaration, lease, remembered
from orchestrator.databases.existing.owned_database import OwnDatabase
from orchestrator.errors import TierbenchError, UsageError
from orchestrator.powers import World
from orchestrator.system import sql
from orchestrator.system.sql import Connect


def clean(
    world: World, connect: Connect = sql.session, *, only_list: bool
) -> Iterator[str]:
    """Goes through all databases that this cache remembers; one line each. One that cannot be
    dropped now, because its cluster or its password is not at hand, stays remembered."""
    for left in remembered.leftovers(world.cache):
        declared = left.declared
        campaign = left.owner.campaign
        what = (
            f"database {declared.database} at {declared.where}, of campaign {campaign}"
        )
        if only_list:
            yield f"{what}, if it still exists and still belongs to tierbench"
            continue
        try:
            yield f"{what}{_dropped(left, world, connect)}"
        except TierbenchError as error:
            yield f"{what}: may still be there ({error.what}); drop it with: {left.command}"


def _dropped(left: remembered.Leftover, world: World, connect: Connect) -> str:
    """Drops one that is still ours; says what was found otherwise."""
    owner = left.owner
    if not owner.is_from(world.cache):
        return (
            f": left alone, because {owner.host} made it with the cache "
            f"{owner.cache}: run `tierbench clean` there"
        )
    if left.declared.database == declaration.LEASE_DATABASE:
        return lease.Lease(left.declared, connect, world).clear()
    database = OwnDatabase(left.declared, connect, world, _never, force=False)
    try:
        if database.drop():
            return ""
        return ": was gone"
    except UsageError as error:
        return f": left alone, because {error.what}"


def _never(_question: str, _may_ask: bool) -> bool:
    """Nobody is asked whether a database that is not ours may be dropped: it stays."""
    return False
