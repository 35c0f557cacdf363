"""Several Docker engines as one platform: one for each node of the database, one for the clients.

A bridge of Docker ends at its machine. So what is in the cluster's network runs in its machine's
own (`--network host`): nodes and clients meet at the machines' addresses, with nothing in between,
and each node has its database's own ports. The addresses stay the same from campaign to campaign,
so data sets can be restored. docs/OPTIONS.md says what that asks of the machines."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator import model, powers
from orchestrator.design import machines
from orchestrator.errors import RunError, TierbenchError, UsageError
from orchestrator.platforms.docker import engines_together
from orchestrator.platforms.docker.containers import DockerContainer
from orchestrator.platforms.docker.engine import THIS_COMPUTER, DockerPlatform
from orchestrator.powers import Finding
from orchestrator.system import at_once

_NODE = "node"
_CLIENT = "client"


def connected(clock: powers.Clock, placing: model.Placing) -> powers.Platform:
    """The engines that `placing` names; without any the one of the environment."""
    if placing.machines:
        return DockerMachines(clock, placing)
    return DockerPlatform(clock)


class DockerMachines:
    """The `Platform` protocol on the engines of `placing`, whose containers know their own.
    UnavailableError if one does not answer, UsageError if others cannot reach it."""

    name = "docker"

    def __init__(
        self,
        clock: powers.Clock,
        placing: model.Placing,
        connect: Callable[..., DockerPlatform] = DockerPlatform,
    ) -> None:
        self._clock = clock
        self._connect = connect
        self.campaign = secrets.token_hex(3)
        self._nodes = at_once.each(self._connected, placing.machines)
        _check_addresses(self._nodes)
        self._client = self._client_of(placing)
        self._engines = [*self._nodes]
        if self._client not in self._nodes:
            self._engines.append(self._client)
        self._engine_by_container: dict[str, DockerPlatform] = {}
        self.images = engines_together.ImagesOfAll(self._engines)
        self.guard = engines_together.GuardOfAll(self._engines, lambda: connect(clock))

    def _connected(self, address: str | None) -> DockerPlatform:
        known_as = THIS_COMPUTER
        if address:
            known_as = machines.known_as(address)
        return self._connect(self._clock, address, self.campaign, known_as)

    def _client_of(self, placing: model.Placing) -> DockerPlatform:
        """The client's engine: that of a node where both are the same machine."""
        # Each machine counts once: in facts, guards, sweeps and images of all engines.
        if placing.client_machine in placing.machines:
            return self._nodes[placing.machines.index(str(placing.client_machine))]
        client = self._connected(placing.client_machine)
        # One machine may be named by two addresses, such as tcp:// and ssh://.
        if not client.reach.is_local:
            for engine in self._nodes:
                if engine.reach.address == client.reach.address:
                    return engine
        return client

    @property
    def abilities(self) -> powers.PlatformAbilities:
        return powers.PlatformAbilities(
            engine_of=self.engine_of,
            bring_only=self.bring_only,
            open_to=self.open_to,
            certificates=self.certificates,
            examine=self.examine,
        )

    def bring_only(self, images: Sequence[str]) -> None:
        """These of ours, and no others, are brought to all machines when the guard is held."""
        self.guard.brings = tuple(images)

    # -------------------------------------------------------------- which engine

    def engine_of(self, placement: str) -> DockerPlatform:
        """The platform that its machine is by itself."""
        kind, _, number = placement.rpartition("-")
        if kind == _CLIENT:
            return self._client
        if kind != _NODE:
            return self._engines[0]
        if int(number) > len(self._nodes):
            raise UsageError(
                f"there is no machine for {placement}",
                advice=f"name {number} in `machines` of the profile, not {len(self._nodes)}",
            )
        return self._nodes[int(number) - 1]

    def _each(self, ask: Callable[[DockerPlatform], Any]) -> list[Any]:
        return at_once.each(ask, self._engines)

    def facts(self) -> dict[str, Any]:
        """Versions of all engines; where they differ, each of them; None if none says it."""
        facts_of_all = self._each(lambda engine: engine.facts())
        together: dict[str, Any] = {}
        for key in facts_of_all[0]:
            values = [facts[key] for facts in facts_of_all]
            together[key] = _listed(dict.fromkeys(values))
            if key == "ID" and None in values:
                # An engine that does not say which it is may
                # be any: the whole has no identity then.
                together[key] = None
        return {**together, "Machines": len(self._engines)}

    def examine(self) -> tuple[Finding, ...]:
        """Returns what each engine is; makes nothing."""
        by_engine = self._each(lambda engine: engine.examine())
        all_findings: list[Finding] = []
        for engine, findings in zip(self._engines, by_engine, strict=True):
            for finding in findings:
                subject = f"{finding.subject} of {engine.known_as}"
                all_findings.append(replace(finding, subject=subject))
        return tuple(all_findings)

    def answers(self) -> bool:
        return all(self._each(lambda engine: engine.answers()))

    def certificates(self) -> tuple[powers.CertificateFile, ...]:
        """The certificate files of all engines, which mostly are the same."""
        files: list[powers.CertificateFile] = []
        for engine in self._engines:
            files += engine.certificates()
        return tuple(files)

    def machines(self) -> tuple[powers.Machine, ...]:
        return tuple(engine.machines()[0] for engine in self._engines)

    def machines_of_nodes(self) -> tuple[powers.Machine, ...]:
        return tuple(engine.machines()[0] for engine in self._nodes)

    def open_to(self) -> str:
        return "all addresses of its machines"

    def folder(self, cache: Path) -> Path:
        return self._nodes[0].folder(cache)

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        removed: list[str] = []
        kept: list[TierbenchError] = []
        # The others are swept even if one cannot be.
        for engine in self._engines:
            try:
                removed += [
                    f"{line} of {engine.known_as}" for line in engine.sweep(only_list)
                ]
            except TierbenchError as error:
                kept.append(error)
        if len(kept) == 1:
            raise kept[0]
        if kept:
            raise RunError(
                "; ".join(error.what for error in kept), advice=kept[0].advice
            )
        return tuple(removed)

    # -------------------------------------------------------------- containers

    def container(self, name: str) -> DockerContainer:
        """The container of this name. What was not started here has no machine."""
        if name in self._engine_by_container:
            return self._engine_by_container[name].container(name)
        # A stranger's machine is not known: its figures must not be read on any other.
        return replace(self._engines[0].container(name), machine=None)

    def find_containers(self, role: str = "") -> tuple[powers.ContainerEntry, ...]:
        by_engine = self._each(lambda engine: engine.find_containers(role))
        all_entries: list[powers.ContainerEntry] = []
        for engine, entries in zip(self._engines, by_engine, strict=True):
            for entry in entries:
                self._engine_by_container[entry.name] = engine
            all_entries += entries
        return tuple(all_entries)

    @contextmanager
    def running(self, spec: powers.ContainerSpec) -> Iterator[DockerContainer]:
        engine = self._engine_for(spec)
        try:
            with engine.running(_on_machine(spec)) as container:
                yield _as_seen(container, spec, engine)
        finally:
            self._engine_by_container.pop(spec.name, None)

    def stand(self, spec: powers.ContainerSpec) -> DockerContainer:
        engine = self._engine_for(spec)
        return _as_seen(engine.stand(_on_machine(spec)), spec, engine)

    def _engine_for(self, spec: powers.ContainerSpec) -> DockerPlatform:
        """The engine of the container's placement. It is known from then on as the container's."""
        engine = self.engine_of(spec.placement)
        self._engine_by_container[spec.name] = engine
        return engine

    def once(self, spec: powers.ContainerSpec, timeout_s: float) -> powers.Completed:
        return self.engine_of(spec.placement).once(_on_machine(spec), timeout_s)

    @contextmanager
    def network(
        self, name: str, nodes: int, addresses: Sequence[str] = ()
    ) -> Iterator[powers.Network]:
        """Nothing is made. Other `addresses` than the machines' cannot be given."""
        yield powers.Network(
            name, tuple(engine.reach.address for engine in self._nodes[:nodes])
        )

    def volume(
        self, name: str, device: str, fstype: str, placement: str = ""
    ) -> AbstractContextManager[str]:
        return self.engine_of(placement).volume(name, device, fstype)


def _check_addresses(engines: Sequence[DockerPlatform]) -> None:
    local = [engine.known_as for engine in engines if engine.reach.is_local]
    if local and len(engines) > 1:
        raise UsageError(
            f"machines: the engine {local[0]} is reached over a socket or the "
            "loopback of this computer. The other nodes have no address for it",
            advice="name it by the address that the others reach: tcp://… or ssh://…",
        )
    names_at: dict[str, list[str]] = {}
    for engine in engines:
        names_at.setdefault(engine.reach.address, []).append(engine.known_as)
    address, names = max(names_at.items(), key=_count)
    if len(names) > 1:
        raise UsageError(
            f"machines: {' and '.join(names)} are one machine ({address}), "
            "whose ports two nodes cannot share",
            advice="name a machine for each node",
        )


def _count(entry: tuple[str, list[str]]) -> int:
    """How many engines an address has. `entry`: the address, and their names."""
    _, names = entry
    return len(names)


def _listed(different: Iterable[Any]) -> str | None:
    shown: list[str] = []
    for value in different:
        if value is None:
            shown.append("unknown")
        else:
            shown.append(str(value))
    if shown == ["unknown"]:
        return None
    return ", ".join(shown)


def _on_machine(spec: powers.ContainerSpec) -> powers.ContainerSpec:
    """The container's specification, in the machine's own network if the container is in one."""
    # A bridge of Docker ends at its machine.
    if spec.network is None:
        return spec
    return replace(spec, network=powers.HOST_NETWORK, address=None, ports={})


def _as_seen(
    container: DockerContainer, spec: powers.ContainerSpec, engine: DockerPlatform
) -> DockerContainer:
    if spec.network is None:
        return container
    ports = {port: port for port in spec.ports}
    return replace(
        container, address=spec.address, ports=ports, host=engine.reach.address
    )
