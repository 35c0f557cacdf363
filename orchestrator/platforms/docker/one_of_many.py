"""One of several engines: how it is called, and which of them can be one cluster's machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from orchestrator.errors import UnavailableError, UsageError
from orchestrator.planning import machines
from orchestrator.platforms.common.output import Output
from orchestrator.platforms.common.watching import Watching
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import Clock, MachineFacts

_HERE = "this computer"


class OneOfMany(DockerPlatform):
    """The engine of one machine. A command in it may watch containers of the others."""

    def __init__(self, clock: Clock, engine: str | None, campaign: str, together: Watching) -> None:
        super().__init__(clock, engine, campaign)
        self._together = together
        self.known_as = machines.known_as(engine) if engine else _HERE

    def _machine_name(self, facts: MachineFacts) -> str:
        """The profile's: machines made of one image may all have the same host name."""
        return facts.hostname if self.known_as == _HERE else self.known_as

    def _raise_if_dead(self, watch: Sequence[str], output: Output) -> None:
        self._together._raise_if_dead(watch, output)


@contextmanager
def naming(engine: OneOfMany) -> Iterator[None]:
    """Says of an engine that fails in the block which one it is."""
    try:
        yield
    except UnavailableError as error:
        if engine.known_as in error.what:
            raise
        what = f"{engine.known_as}: {error.what}"
        raise UnavailableError(what, error.advice, error.evidence) from error


def check_addresses(engines: Sequence[OneOfMany]) -> None:
    local = [one.known_as for one in engines if one.reach.is_local]
    if local and len(engines) > 1:
        raise UsageError(
            f"machines: the engine {local[0]} is reached over a socket or the loopback of this "
            "computer, so the other nodes have no address for it",
            advice="name it by the address that the others reach: tcp://… or ssh://…",
        )
    often = Counter(one.reach.address for one in engines).most_common(1)
    if often and often[0][1] > 1:
        address = often[0][0]
        same = [one.known_as for one in engines if one.reach.address == address]
        raise UsageError(
            f"machines: {' and '.join(same)} are one machine ({address}), whose ports two nodes "
            "cannot share",
            advice="name a machine for each node",
        )
