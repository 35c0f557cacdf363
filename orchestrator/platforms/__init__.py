"""Where containers run: one folder each, and one line here."""

from collections.abc import Callable
from functools import partial
from typing import cast

from orchestrator.model import Placing
from orchestrator.powers import Clock, Platform
from orchestrator.registry.installed import BroughtEntry, family
from orchestrator.registry.references import ObjectPlace

_BUILT_IN = {"docker": "orchestrator.platforms.docker.many:connected"}


def platforms() -> dict[str, Callable[[Clock, Placing], Platform]]:
    """Returns name → function that connects. That raises UnavailableError if nothing answers."""
    connecting: dict[str, Callable[[Clock, Placing], Platform]] = {}
    for name, brought in family("platforms", _BUILT_IN).items():
        connecting[name] = partial(_connected, brought)
    return connecting


def _connected(brought: BroughtEntry[str], clock: Clock, placing: Placing) -> Platform:
    # A platform's client is imported with it: every other command would wait for that.
    connect = ObjectPlace(brought.entry, brought.origin).imported()
    return cast(Platform, connect(clock, placing))
