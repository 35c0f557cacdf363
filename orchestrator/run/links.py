"""The links of nodes and clients, where their profile says how fast they are: shaped before the
window, proven by a transfer, read back at both ends of the window, and freed for what follows it.

A helper, `link` of our image `disk`, does it in the network of each container, with the capability
NET_ADMIN there and no other. What it did ends with that network."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from orchestrator.databases.common.container_nodes import container_name
from orchestrator.errors import GateError, UsageError
from orchestrator.keys.messages import failure
from orchestrator.model import Cluster, Node, Profile
from orchestrator.planning import machines
from orchestrator.platforms import own_images
from orchestrator.powers import NETWORK_OF, World
from orchestrator.run.recording import RunContext
from orchestrator.system import at_once
from orchestrator.units import format_link_rate, named

TRUE_PCT = 2.0  # a transfer may be off by
TRANSFER_S = 1.0
_ATTEMPTS = 3  # a machine that is busy for a moment costs no run
_PORT = "17321"  # of the transfer; free, for only a database is in these networks
_ASK_S = 120.0
Told = Mapping[str, Mapping[str, Any]]  # device → its token bucket


def check(profile: Profile, world: World) -> None:
    """UsageError or UnavailableError if the links of its cluster cannot be shaped."""
    if machines.named(profile) or not getattr(world.platform, "joins_networks", False):
        raise failure(UsageError, "no network of their own")
    own_images.need(world.root, "disk", world.platform)


@contextmanager
def links_in_force(
    here: RunContext, cluster: Cluster, clients: Sequence[Node]
) -> Iterator[None]:
    """The links are as declared while the block runs; facts of the run say how they did. GateError
    if a transfer or what the kernel says shows other links."""
    spec, world = here.profile.cluster, here.world
    # In the network of a node a client has no link of its own.
    apart = [*clients] if spec.client == "outside" else []
    ends = [container_name(node) for node in (*cluster.nodes, *apart) if node.container]
    rate = spec.network_bytes_per_s
    if rate is None or not ends:
        yield
        return
    world.progress.step(f"shaping the network to {format_link_rate(rate)}")
    require(rate, asked(ends, ("set", str(rate)), world))
    here.draft.facts["network"] = facts = dict[str, Any](bytes_per_s=rate)
    if len(ends) > 1 and cluster.endpoints:
        facts["transfer"] = proven(
            rate, ends[0], ends[-1], cluster.endpoints[0].host, world
        )
    yield
    facts["links"] = after = asked(ends, ("free",), world)
    require(rate, after)


def asked(ends: Sequence[str], words: Sequence[str], world: World) -> dict[str, Told]:
    """Container → what `link` says of it, asked of all at once."""
    told = at_once.each(lambda end: _link(end, words, world), ends)
    return dict(zip(ends, told, strict=True))


def require(rate: int, links: Mapping[str, Told]) -> None:
    """GateError unless each device of each has a token bucket of this rate."""
    for end, devices in links.items():
        limits = {
            name: of["bytes_per_s"] if of else None for name, of in devices.items()
        }
        if not limits or {*limits.values()} != {rate}:
            others = {
                name: format_link_rate(at) if at else "no limit"
                for name, at in limits.items()
            }
            declared, told = format_link_rate(rate), named(others) or "that it has none"
            raise failure(
                GateError, "other link", end=end, declared=declared, told=told
            )


def proven(
    rate: int, server: str, client: str, host: str, world: World
) -> dict[str, float]:
    """Bytes/s of frames between two containers, of which the first is reached as `host`, as a
    transfer each way shows them. GateError if one is not the rate."""
    words, shown = (_PORT, f"{TRANSFER_S:g}"), dict[str, float]()
    for _ in range(_ATTEMPTS):
        serving = at_once.begun(partial(_link, server, ("serve", *words), world))
        shown = _link(client, ("measure", host, *words), world)
        serving.result()
        if all(abs(value / rate - 1) <= TRUE_PCT / 100 for value in shown.values()):
            return shown
    ways = ", ".join(
        f"{name.partition('_')[0]} {format_link_rate(v)}" for name, v in shown.items()
    )
    declared = f"{TRUE_PCT:g} % of the declared {format_link_rate(rate)}"
    ends = f"{client} and {server}"
    raise failure(GateError, "other rate", ends=ends, declared=declared, ways=ways)


def _link(end: str, words: Sequence[str], world: World) -> dict[str, Any]:
    """What `link` says in the network of a container. GateError if it fails."""
    place = {
        "network": f"{NETWORK_OF}{end}",
        "capabilities": ("NET_ADMIN",),
        "role": "network",
    }
    helper = own_images.container(
        "disk", f"{end}-link", ("link", *words), world, **place
    )
    done = world.platform.once(helper, _ASK_S)
    if done.exit_code != 0:
        raise failure(
            GateError,
            "helper failed",
            end=end,
            words=" ".join(words),
            evidence=done.out,
        )
    return dict(json.loads(done.out.splitlines()[-1]))
