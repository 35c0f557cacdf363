"""Several Docker engines as one platform: one for each node of the database, one for the clients.

A bridge of Docker ends at its machine. So what is in the cluster's network runs in its machine's
own (`--network host`): nodes and clients meet at the machines' addresses, with nothing in between,
and each node has its database's own ports. The addresses stay the same from campaign to campaign,
so data sets can be restored. docs/OPTIONS.md says what that asks of the machines."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator import model, powers
from orchestrator.design import machines
from orchestrator.errors import RunError, TierbenchError, UsageError
from orchestrator.platforms import own_images
from orchestrator.platforms.common import architectures
from orchestrator.platforms.docker.containers import DockerContainer
from orchestrator.platforms.docker.engine import THIS_COMPUTER, DockerPlatform
from orchestrator.powers import Finding
from orchestrator.system import at_once

_NODE = "node"
_CLIENT = "client"


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
        self.images = _ImagesOfAll(self._engines)
        self.guard = _GuardOfAll(self._engines, lambda: connect(clock))

    def _connected(self, address: str | None) -> DockerPlatform:
        known_as = THIS_COMPUTER
        if address:
            known_as = machines.known_as(address)
        return self._connect(self._clock, address, self.campaign, known_as)

    def _client_of(self, placing: model.Placing) -> DockerPlatform:
        """The node's own engine where both are the same machine."""
        if placing.client_machine in placing.machines:
            return self._nodes[placing.machines.index(str(placing.client_machine))]
        client = self._connected(placing.client_machine)
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
                f"there is no machine for {placement}: the profile names too few"
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
        """One that is not known yet is a stranger, whose machine is not known either."""
        if name in self._engine_by_container:
            return self._engine_by_container[name].container(name)
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


class _ImagesOfAll(powers.Images):
    """The `Images` protocol: an image is here if it is on all engines."""

    def __init__(self, engines: Sequence[DockerPlatform]) -> None:
        self._engines = engines

    def id(self, tag: str) -> str | None:
        """The id, or the several that engines have given it."""
        ids = at_once.each(lambda engine: engine.images.id(tag), self._engines)
        if None in ids:
            return None
        return " ".join(dict.fromkeys(str(image_id) for image_id in ids))

    @property
    def architecture(self) -> str:
        different: set[str] = set()
        for engine in self._engines:
            different.add(engine.images.architecture)
        return architectures.common(different)

    def mismatch(self, tag: str) -> str:
        """The first engine's that differs, with its name."""
        for engine in self._engines:
            wrong = engine.images.mismatch(tag)
            if wrong:
                return f"of {engine.known_as} {wrong}"
        return ""

    def pull(self, tag: str) -> bool:
        images = [engine.images for engine in self._engines]
        return all(
            at_once.each(lambda there: there.present(tag) or there.pull(tag), images)
        )

    def ways_to_get(self, tag: str) -> str:
        return f"on each of its machines {self._engines[0].images.ways_to_get(tag)}"

    def build(self, folder: str, tag: str, on_line: Callable[[str], None]) -> None:
        at_once.each(
            lambda engine: engine.images.build(folder, tag, on_line), self._engines
        )


class _GuardOfAll:
    """The `Guard` protocol: that of each engine. Its holder has our images on all."""

    brings: Sequence[str] = ()

    def __init__(
        self, engines: Sequence[DockerPlatform], here: Callable[[], DockerPlatform]
    ) -> None:
        self._engines = engines
        self._here = here
        self.beats = engines[0].guard.beats
        for engine in engines[1:]:
            engine.guard.beats = self.beats

    @contextmanager
    def held(self) -> Iterator[None]:
        with at_once.entered(
            [engine.guard.held() for engine in self._engines], in_turn=True
        ):
            self._bring_images()
            yield

    def other(self) -> str | None:
        others = at_once.each(lambda engine: engine.guard.other(), self._engines)
        for campaign in others:
            if campaign:
                return campaign
        return None

    def _bring_images(self) -> None:
        """Brings ours to where they are missing, from another engine or from that of the
        environment, where `make setup` builds them. What none has is missed when it is needed."""
        for name in self.brings or own_images.OURS:
            tag = own_images.tag(own_images.PROJECT, name)
            having: list[DockerPlatform] = []
            lacking: list[DockerPlatform] = []
            for engine in self._engines:
                if engine.images.present(tag):
                    having.append(engine)
                else:
                    lacking.append(engine)
            if not lacking:
                continue
            if not having:
                having += self._builder(tag)
            for engine in lacking:
                self._bring_image(tag, having, engine)

    def _bring_image(
        self, tag: str, having: Sequence[DockerPlatform], engine: DockerPlatform
    ) -> None:
        """Brings the image from the first engine that has it for this engine's own architecture."""
        for source in having:
            if source.images.architecture == engine.images.architecture:
                engine.images.take_from(source.images, tag)
                return

    def _builder(self, tag: str) -> list[DockerPlatform]:
        """The engine of the environment, if it answers and has an image."""
        with suppress(TierbenchError):
            here = self._here()
            if here.images.present(tag):
                return [here]
        return []


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


def _count(engines: tuple[str, list[str]]) -> int:
    """How many engines have an address."""
    _, names = engines
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
