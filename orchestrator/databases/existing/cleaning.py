"""Drops what killed campaigns left in clusters of others, or says how a person can."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.databases.existing import leftovers
from orchestrator.databases.existing.declaration import LEASE_DATABASE
from orchestrator.databases.existing.lease import Lease
from orchestrator.databases.existing.leftovers import Leftover
from orchestrator.databases.existing.owned_database import OwnDatabase
from orchestrator.errors import TierbenchError, UsageError
from orchestrator.powers import World
from orchestrator.system import sql
from orchestrator.system.sql import Connect


def clean(world: World, connect: Connect = sql.session, only_list: bool = False) -> Iterator[str]:
    """Goes through all databases that this cache remembers; one line each. One that cannot be
    dropped now, because its cluster or its password is not at hand, stays remembered."""
    for left in leftovers.all_of(world.cache):
        declared = left.declared
        what = f"database {declared.database} at {declared.where}, of campaign "
        what += f"{left.owner.campaign}"
        if only_list:
            yield f"{what}, if it is still there and ours"
            continue
        try:
            yield f"{what}{_dropped(left, world, connect)}"
        except TierbenchError as error:
            again = f"; drop it with: {left.command}"
            yield f"{what}: may still be there ({error.what}){again}"


def _dropped(left: Leftover, world: World, connect: Connect) -> str:
    """Drops one that is still ours; says what was found otherwise."""
    made = left.owner
    if not made.cache:
        return (
            f": left alone, because an older release made it on {made.host} and did not say with "
            f"which cache; drop it with: {left.command}"
        )
    if not made.is_from(world.cache):
        return (
            f": left alone, because {made.host} made it with the cache {made.cache}: run "
            "`tierbench clean` there"
        )
    if left.declared.database == LEASE_DATABASE:
        return Lease(left.declared, connect, world).clear()
    own = OwnDatabase(left.declared, connect, lambda _question, _may_ask: False, world)
    exists, _ = own.found()
    try:
        own.drop()
    except UsageError as error:
        return f": left alone, because {error.what}"
    return "" if exists else ": was gone"
