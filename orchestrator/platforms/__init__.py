"""Where containers run: one folder each, and one line here."""

from collections.abc import Callable
from functools import partial

from orchestrator.model import Placing
from orchestrator.powers import Clock, Platform
from orchestrator.registry.installed import family
from orchestrator.registry.references import ObjectPlace

_BUILT_IN = {"docker": "orchestrator.platforms.docker.many:connected"}


def platforms() -> dict[str, Callable[[Clock, Placing], Platform]]:
    """Returns name → function that connects. That raises UnavailableError if nothing answers."""
    connecting: dict[str, Callable[[Clock, Placing], Platform]] = {}
    for name, brought in family("platforms", _BUILT_IN).items():
        place = ObjectPlace(brought.entry, brought.origin)
        connecting[name] = partial(_connected, place)
    return connecting


def _connected(place: ObjectPlace, clock: Clock, placing: Placing) -> Platform:
    # A platform's client is imported with it: every other command would wait for that.
    platform: Platform = place.imported()(clock, placing)
    return platform
