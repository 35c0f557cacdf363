"""Networks and volumes of the engine, each for the duration of a block."""

import ipaddress
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from docker.errors import APIError
from docker.types import IPAMConfig, IPAMPool

from orchestrator.errors import TierbenchError, UnavailableError
from orchestrator.platforms.common.lifecycle import taken_down
from orchestrator.platforms.docker.campaigns import Leftovers, labels_of
from orchestrator.platforms.docker.connection import CAMPAIGN, LABEL, Engine
from orchestrator.platforms.docker.guard import VolumeGuard
from orchestrator.powers import Network

_SUBNETS = tuple(f"10.{second}.77.0/24" for second in range(201, 250))
_FIRST = 11  # the first node's number in its subnet
# Docker's and podman's messages if a subnet overlaps another, or a route of the host.
_OVERLAPS = ("overlap", "already used", "already being used")


class Networks:
    def __init__(
        self, engine: Engine, guard: VolumeGuard, leftovers: Leftovers
    ) -> None:
        self._engine = engine
        self._client = engine.client
        self._guard = guard
        self._leftovers = leftovers

    @contextmanager
    def network(
        self, name: str, nodes: int, addresses: Sequence[str] = ()
    ) -> Iterator[Network]:
        # A database that starts from a copy of its disk looks for its peers at their old addresses.
        preferred = _subnets_with(addresses)
        with self._engine.errors(f"making network {name}"):
            network, subnet = self._create_network(name, preferred)
        if str(subnet) not in preferred:
            addresses = [str(subnet[_FIRST + i]) for i in range(nodes)]
        with taken_down(lambda: self._leftovers.remove("network", network)):
            yield Network(name, tuple(addresses))

    def _create_network(
        self, name: str, preferred: Sequence[str]
    ) -> tuple[Any, ipaddress.IPv4Network]:
        """Makes one on the first subnet that overlaps no other; returns it with its subnet."""
        used_subnets = self._used_subnets(preferred)
        for text in (*preferred, *_SUBNETS):
            subnet = ipaddress.IPv4Network(text)
            # A network of IPv6 overlaps none of these.
            if any(subnet.overlaps(used) for used in used_subnets):
                continue
            pools = IPAMConfig(pool_configs=[IPAMPool(subnet=text)])
            try:
                network = self._client.networks.create(
                    name, driver="bridge", labels=self._engine.labels, ipam=pools
                )
            except APIError as error:
                # The engine also refuses subnets that overlap a route of the host; try the next.
                if _is_overlap(error):
                    continue
                raise
            return network, subnet
        raise UnavailableError(
            "no free subnet for the cluster's network",
            advice="`tierbench clean`",
        )

    def _used_subnets(self, preferred: Sequence[str]) -> list[Any]:
        """The engine's subnets, without leftovers on `preferred`, which it removes."""
        spared = (self._engine.campaign, self._guard.other())
        used: list[Any] = []
        for network in self._engine.patiently(self._client.networks.list):
            subnets = _subnets_of(network)
            labels = labels_of(network)
            is_leftover = LABEL in labels and labels.get(CAMPAIGN, "") not in spared
            is_in_the_way = not set(subnets).isdisjoint(preferred)
            # A leftover on another subnet is in nobody's way, and the sweep removes it.
            if is_leftover and is_in_the_way:
                with suppress(TierbenchError):
                    self._leftovers.remove("network", network)
                    continue
            used += [ipaddress.ip_network(subnet) for subnet in subnets]
        return used

    @contextmanager
    def volume(
        self, name: str, device: str, fstype: str, placement: str = ""
    ) -> Iterator[str]:
        options: dict[str, str] = {}
        if device:
            # nouuid: disks are copies of each other, with the same XFS identity.
            options = {"type": fstype, "device": device, "o": "noatime,nouuid"}
        with self._engine.errors(f"making volume {name}"):
            self._leftovers.make_room("volume", name, self._client.volumes.get)
            volume = self._client.volumes.create(
                name, driver="local", driver_opts=options, labels=self._engine.labels
            )
        with taken_down(lambda: self._leftovers.remove("volume", volume)):
            yield name


def _subnets_with(addresses: Sequence[str]) -> list[str]:
    """The subnet of the first address; none if there is none, or if it is a name."""
    if not addresses:
        return []
    try:
        interface = ipaddress.IPv4Interface(f"{addresses[0]}/24")
    except ValueError:
        return []
    return [str(interface.network)]


def _is_overlap(error: APIError) -> bool:
    explanation = str(error.explanation).lower()
    return any(words in explanation for words in _OVERLAPS)


def _subnets_of(network: Any) -> list[str]:
    pools = network.attrs.get("IPAM", {}).get("Config") or []
    return [pool["Subnet"] for pool in pools if pool.get("Subnet")]
