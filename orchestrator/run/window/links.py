"""The links of nodes and clients, where their profile says how fast they are: shaped before the
window, proven by a transfer, read back at both ends of the window, and freed for what follows it.

A helper, `link` of our image `disk`, does it in the network of each container. What it did ends
with that network.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from orchestrator.design import machines
from orchestrator.errors import GateError, UsageError
from orchestrator.model import Cluster, Node, Profile
from orchestrator.powers import World
from orchestrator.run.record.run_context import RunContext
from orchestrator.system import at_once
from orchestrator.texts.prose import named
from orchestrator.units import format_link_rate

TRUE_PCT = 2.0  # a transfer may be off by
TRANSFER_S = 1.0
_ATTEMPTS = 3  # a machine that is busy for a moment costs no run
_PORT = "17321"  # port of the transfer; free, for only a database is in these networks
TokenBuckets = Mapping[str, Mapping[str, Any]]  # device → its token bucket


def check(profile: Profile, world: World) -> None:
    """UsageError or UnavailableError if the links of its cluster cannot be shaped."""
    shared = world.platform.abilities.shared_network
    if shared is None or machines.named(profile):
        raise _no_separate_networks()
    shared.need(world)


def _no_separate_networks() -> UsageError:
    return UsageError(
        "`network` needs a network for each node that a helper can join. "
        "On several machines nodes use the network of their machine",
        advice=(
            "leave `network` out, and shape the links of the machines with "
            "your own tools"
        ),
    )


@contextmanager
def links_in_force(
    here: RunContext, cluster: Cluster, clients: Sequence[Node]
) -> Iterator[None]:
    """The links are as declared while the block runs; facts of the run say how they did. GateError
    if a transfer or what the kernel says shows other links."""
    rate = here.profile.cluster.network_bytes_per_s
    containers = _limited_containers(here.profile, cluster, clients)
    if rate is None or not containers:
        yield
        return
    world = here.world
    world.progress.step(f"shaping the network to {format_link_rate(rate)}")
    # Read back, because what was set may not be what holds.
    require(rate, asked(containers, ("set", str(rate)), world))
    facts: dict[str, Any] = {"bytes_per_s": rate}
    here.draft.facts["network"] = facts
    # A transfer takes two: the first node, whose address is known, and the last container.
    if len(containers) > 1 and cluster.endpoints:
        host = cluster.endpoints[0].host
        facts["transfer"] = proven(rate, containers[0], containers[-1], host, world)
    yield
    # Freed for the check of all data; it answers how the links were until then.
    facts["links"] = asked(containers, ("free",), world)
    require(rate, facts["links"])


def _limited_containers(
    profile: Profile, cluster: Cluster, clients: Sequence[Node]
) -> list[str]:
    """The containers that have a link: in the network of a node a client has none."""
    nodes = list(cluster.nodes)
    if profile.cluster.client == "outside":
        nodes += clients
    return [node.container_name for node in nodes if node.container]


def asked(
    containers: Sequence[str], words: Sequence[str], world: World
) -> dict[str, TokenBuckets]:
    """Container → what `link` says of it, asked of all at once."""
    answers = at_once.each(partial(_link, words=words, world=world), containers)
    return dict(zip(containers, answers, strict=True))


def require(rate: int, links: Mapping[str, TokenBuckets]) -> None:
    """GateError unless each device of each container has a token bucket of this rate."""
    for container, devices in links.items():
        limits: dict[str, int | None] = dict.fromkeys(devices)
        for device, bucket in devices.items():
            if bucket:
                limits[device] = bucket["bytes_per_s"]
        # A container without any device is refused too, as nothing limits it.
        if set(limits.values()) != {rate}:
            raise _other_link(container, rate, limits)


def _other_link(
    container: str, rate: int, limits: Mapping[str, int | None]
) -> GateError:
    shown: dict[str, str] = dict.fromkeys(limits, "no limit")
    for device, limit in limits.items():
        if limit:
            shown[device] = format_link_rate(limit)
    return GateError(
        f"the link of {container} is not limited to {format_link_rate(rate)}: "
        f"the kernel says {named(shown) or 'that it has none'}",
        advice=(
            "check whether another program changed it: `tc qdisc show` in its "
            "network says more"
        ),
    )


def proven(
    rate: int, server: str, client: str, host: str, world: World
) -> dict[str, float]:
    """Bytes/s of frames between two containers, of which the first is reached as `host`, as a
    transfer each way shows them. GateError if one is not the rate."""
    seen: dict[str, float] = {}
    for _ in range(_ATTEMPTS):
        seen = _transfer(server, client, host, world)
        if all(_is_true(value, rate) for value in seen.values()):
            return seen
    raise _other_rate(rate, server, client, seen)


def _transfer(server: str, client: str, host: str, world: World) -> dict[str, float]:
    words = (_PORT, f"{TRANSFER_S:g}")
    # The server waits for its client, so it is begun on a thread of its own.
    serving = at_once.begun(partial(_link, server, ("serve", *words), world))
    seen = _link(client, ("measure", host, *words), world)
    # Raises what failed on the server's side.
    serving.result()
    return seen


def _is_true(bytes_per_s: float, rate: int) -> bool:
    # A quotient would be rounded, and then 2 % be more than 2 %.
    return 100 * abs(bytes_per_s - rate) <= TRUE_PCT * rate


def _other_rate(
    rate: int, server: str, client: str, seen: Mapping[str, float]
) -> GateError:
    ways: list[str] = []
    for name, bytes_per_s in seen.items():
        direction = name.partition("_")[0]
        ways.append(f"{direction} {format_link_rate(bytes_per_s)}")
    return GateError(
        f"a transfer between {client} and {server} is not within "
        f"{TRUE_PCT:g} % of the declared {format_link_rate(rate)}: {', '.join(ways)}",
        advice=(
            "check that this machine is idle and fast enough, or declare a "
            "slower `network`"
        ),
    )


def _link(container: str, words: Sequence[str], world: World) -> dict[str, Any]:
    """What `link` says in the network of a container. GateError if it fails."""
    shared = world.platform.abilities.shared_network
    assert shared is not None, "it was checked"
    done = shared.run(container, ("link", *words), world)
    if done.exit_code != 0:
        raise _link_failed(container, words, done.out)
    return dict(json.loads(done.out.splitlines()[-1]))


def _link_failed(container: str, words: Sequence[str], output: str) -> GateError:
    command = f"link {' '.join(words)}"
    return GateError(
        f"the link of {container} could not be shaped or measured (`{command}`)",
        advice="the kernel needs the token bucket filter (module sch_tbf)",
        evidence=output,
    )
