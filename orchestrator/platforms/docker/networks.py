"""Networks and volumes of the engine, each for the time of a block."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from docker.errors import APIError
from docker.types import IPAMConfig, IPAMPool

from orchestrator.errors import TierbenchError, UnavailableError
from orchestrator.platforms.docker.errors import engine_errors
from orchestrator.platforms.docker.labels import CAMPAIGN, LABEL
from orchestrator.platforms.docker.leftovers import Leftovers, labels_of, taken_down
from orchestrator.platforms.docker.patience import patiently
from orchestrator.powers import Network

_SUBNETS = tuple(f"10.{second}.77.0/24" for second in range(201, 250))
_FIRST = 11  # the first node's number in its subnet
# Docker's words, and podman's, where a subnet overlaps another or a route of the host.
_OVERLAPS = ("overlap", "already used", "already being used")


class Networks(Leftovers):
    """Networks and volumes; `DockerPlatform` is the whole."""

    campaign: str

    def _labels(self) -> dict[str, str]:
        return {LABEL: "1", CAMPAIGN: self.campaign}

    @contextmanager
    def network(self, name: str, nodes: int, addresses: Sequence[str] = ()) -> Iterator[Network]:
        preferred = _subnet_of(addresses)
        with engine_errors(f"making network {name}"):
            made, got = self._create_network(name, preferred)
        given = addresses
        if str(got) not in preferred:
            given = [str(got[_FIRST + number]) for number in range(nodes)]
        with taken_down(lambda: self._remove_network(made)):
            yield Network(name, tuple(given))

    def _create_network(
        self, name: str, preferred: Sequence[str]
    ) -> tuple[Any, ipaddress.IPv4Network]:
        """A network on the first of these subnets, or else of ours, that overlaps no other of the
        engine; and that subnet."""
        taken = self._taken(preferred)
        for subnet in (*preferred, *_SUBNETS):
            wanted = ipaddress.IPv4Network(subnet)
            if any(wanted.version == net.version and wanted.overlaps(net) for net in taken):
                continue
            try:
                made = self._client.networks.create(
                    name,
                    driver="bridge",
                    labels=self._labels(),
                    ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=subnet)]),
                )
            except APIError as error:
                # The engine also refuses what overlaps a route of the host; try the next one.
                if any(words in str(error.explanation).lower() for words in _OVERLAPS):
                    continue
                raise
            return made, wanted
        raise UnavailableError("no free subnet for the cluster's network", advice="make clean")

    def _taken(self, preferred: Sequence[str]) -> list[Any]:
        """The subnets of the engine. What a dead campaign left on `preferred` goes: some data sets
        start on no other addresses."""
        other = self.guard.other()
        taken: list[Any] = []
        for network in patiently(self._client.networks.list, self._clock):
            pools = network.attrs.get("IPAM", {}).get("Config") or []
            subnets = [pool["Subnet"] for pool in pools if pool.get("Subnet")]
            labels = labels_of(network)
            left = LABEL in labels and labels.get(CAMPAIGN, "") not in (self.campaign, other)
            if left and set(subnets) & set(preferred):
                with suppress(TierbenchError):
                    self._remove_network(network)
                    continue
            taken += map(ipaddress.ip_network, subnets)
        return taken

    @contextmanager
    def volume(self, name: str, device: str, fstype: str) -> Iterator[str]:
        # Disks are copies of each other, so they share the identity that XFS writes into them.
        options = {"type": fstype, "device": device, "o": "noatime,nouuid"} if device else {}
        with engine_errors(f"making volume {name}"):
            left = self._make_room("volume", name, self._client.volumes.get)
            if left is not None:
                self._remove_volume(left)
            made = self._client.volumes.create(
                name, driver="local", driver_opts=options, labels=self._labels()
            )
        with taken_down(lambda: self._remove_volume(made)):
            yield name


def _subnet_of(addresses: Sequence[str]) -> tuple[str, ...]:
    """The subnet that a cluster had these addresses in; none where they are names."""
    try:
        return tuple(str(ipaddress.IPv4Interface(f"{one}/24").network) for one in addresses[:1])
    except ValueError:
        return ()
