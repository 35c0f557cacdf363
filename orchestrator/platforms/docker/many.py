"""Several Docker engines as one platform: one for each node of the database, one for the clients.

A bridge of Docker ends at its machine. So what is in the cluster's network runs in its machine's
own (`--network host`): nodes and clients meet at the machines' addresses, with nothing in between,
and each node has its database's own ports. The addresses stay the same from campaign to campaign,
so data sets can be restored. docs/OPTIONS.md says what that asks of the machines.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.errors import RunError, TierbenchError, UsageError
from orchestrator.model import Placing
from orchestrator.platforms import own_images
from orchestrator.platforms.common.findings import Finding
from orchestrator.platforms.common.watching import Watching
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.platforms.docker.one_of_many import OneOfMany, check_addresses, naming
from orchestrator.powers import (
    HOST_NETWORK,
    Clock,
    Completed,
    Container,
    ContainerSpec,
    Conversation,
    Machine,
    Network,
    Standing,
)
from orchestrator.system import at_once

_ROOT = Path(__file__).resolve().parents[3]  # the project folder, with the images'
_NODE, _CLIENT = "node", "client"


class DockerMachines(Watching):
    """The `Platform` protocol on the engines of `placing`. UnavailableError if one of them does not
    answer, UsageError if others cannot reach it."""

    name = "docker"

    def __init__(self, clock: Clock, placing: Placing) -> None:
        self._clock = clock
        self.campaign = secrets.token_hex(3)
        self._nodes = at_once.each(self._connected, placing.machines)
        check_addresses(self._nodes)
        self._client = self._client_of(placing)
        self._engines = [*self._nodes, *([] if self._client in self._nodes else [self._client])]
        self._engine_by_container: dict[str, OneOfMany] = {}
        self._machines: tuple[Machine, ...] = ()

    def _connected(self, engine: str | None) -> OneOfMany:
        return OneOfMany(self._clock, engine, self.campaign, self)

    def _client_of(self, placing: Placing) -> OneOfMany:
        """The node's own engine where both are the same machine."""
        if placing.client_machine in placing.machines:
            return self._nodes[placing.machines.index(str(placing.client_machine))]
        own = self._connected(placing.client_machine)
        shared = [
            one
            for one in self._nodes
            if not own.reach.is_local and one.reach.address == own.reach.address
        ]
        return shared[0] if shared else own

    # -------------------------------------------------------------- which engine

    def engine_of(self, placement: str) -> OneOfMany:
        """The platform that its machine is by itself."""
        kind, _, number = placement.rpartition("-")
        if kind == _CLIENT:
            return self._client
        if kind != _NODE:
            return self._engines[0]
        if int(number) > len(self._nodes):
            raise UsageError(f"there is no machine for {placement}: the profile names too few")
        return self._nodes[int(number) - 1]

    def _running(self, container: str) -> OneOfMany:
        """The engine that has a container, also one that an earlier program has started."""
        if container not in self._engine_by_container:
            for engine in self._engines:
                with naming(engine):
                    if engine.state(container) != "gone":
                        self._engine_by_container[container] = engine
                        break
        return self._engine_by_container.get(container, self._engines[0])

    def _each(self, ask: Callable[[OneOfMany], Any]) -> list[Any]:
        """The answers of all engines, in their order."""

        def asked(engine: OneOfMany) -> Any:
            with naming(engine):
                return ask(engine)

        return at_once.each(asked, self._engines)

    # -------------------------------------------------------------- the whole

    @contextmanager
    def alone(self) -> Iterator[None]:
        with ExitStack() as up:
            for engine in self._engines:
                with naming(engine):
                    up.enter_context(engine.alone())
            self._bring_images()
            yield

    def other_campaign(self) -> str | None:
        return next(filter(None, self._each(lambda one: one.other_campaign())), None)

    def facts(self) -> dict[str, Any]:
        """Versions of all engines; where they differ, each of them; None if none says it."""
        every = self._each(lambda one: one.facts())
        values = {key: dict.fromkeys(one[key] for one in every) for key in every[0]}
        together = {key: _listed(different) for key, different in values.items()}
        return {**together, "Machines": len(self._engines)}

    def examine(self) -> tuple[Finding, ...]:
        """Returns what each engine is; makes nothing."""
        every = self._each(lambda one: one.examine())
        return tuple(
            replace(finding, subject=f"{finding.subject} of {engine.known_as}")
            for engine, found in zip(self._engines, every, strict=True)
            for finding in found
        )

    def answers(self) -> bool:
        return all(self._each(lambda one: one.answers()))

    def machines(self) -> tuple[Machine, ...]:
        if not self._machines:
            self._machines = tuple(self._each(lambda one: one.machines()[0]))
        return self._machines

    def machines_of_nodes(self) -> tuple[Machine, ...]:
        return tuple(engine.machines()[0] for engine in self._nodes)

    def machine_of(self, container: str) -> Machine:
        engine = self._running(container)
        if container not in self._engine_by_container:
            raise RunError(f"{container}: no machine is known that runs it")
        return engine.machines()[0]

    def folder(self, cache: Path) -> Path:
        return self._nodes[0].folder(cache)

    def sweep(self, only_list: bool = False) -> tuple[str, ...]:
        removed: list[str] = []
        kept: list[TierbenchError] = []
        for engine in self._engines:
            try:
                with naming(engine):
                    removed += [f"{one} of {engine.known_as}" for one in engine.sweep(only_list)]
            except TierbenchError as error:
                kept.append(error)
        if len(kept) == 1:
            raise kept[0]
        if kept:
            raise RunError("; ".join(error.what for error in kept), advice=kept[0].advice)
        return tuple(removed)

    # -------------------------------------------------------------- images

    def image_present(self, tag: str) -> bool:
        return self.image_id(tag) is not None

    def image_id(self, tag: str) -> str | None:
        """The id, or the several that engines have given it; None if one has no such image."""
        found = self._each(lambda one: one.image_id(tag))
        return None if None in found else " ".join(dict.fromkeys(found))

    def image_of(self, container: str) -> str:
        return self._running(container).image_of(container)

    def engine_id(self) -> str | None:
        found = self._each(lambda one: one.engine_id())
        return None if None in found else " ".join(found)

    def pull(self, tag: str) -> bool:
        return all(self._each(lambda one: one.image_present(tag) or one.pull(tag)))

    def ways_to_get(self, tag: str) -> str:
        return f"on each of its machines {self._engines[0].ways_to_get(tag)}"

    def build(self, folder: str, tag: str, on_line: Callable[[str], None]) -> None:
        self._each(lambda one: one.build(folder, tag, on_line))

    def _bring_images(self) -> None:
        """Brings ours to where they are missing, from another engine or from that of the
        environment, where `make setup` builds them. What none has is missed when it is needed."""
        for name in own_images.OURS:
            tag = own_images.tag(_ROOT, name)
            lacking = [one for one in self._engines if not self._has(one, tag)]
            having = [one for one in self._engines if one not in lacking]
            source = next(iter(having), None) or (self._builder(tag) if lacking else None)
            if source is None:
                continue
            for engine in lacking:
                with naming(engine):
                    engine.take_from(source, tag)

    def _has(self, engine: OneOfMany, tag: str) -> bool:
        with naming(engine):
            return engine.image_present(tag)

    def _builder(self, tag: str) -> DockerPlatform | None:
        """The engine of the environment, if it answers and has an image."""
        with suppress(TierbenchError):
            here = DockerPlatform(self._clock)
            return here if here.image_present(tag) else None
        return None

    # -------------------------------------------------------------- containers

    @contextmanager
    def running(self, spec: ContainerSpec) -> Iterator[Container]:
        engine = self.engine_of(spec.placement)
        with ExitStack() as up:
            up.callback(self._engine_by_container.pop, spec.name, None)
            self._engine_by_container[spec.name] = engine
            with naming(engine):
                container = up.enter_context(engine.running(_on_machine(spec)))
            yield _as_seen(container, spec, engine)

    def stand(self, spec: ContainerSpec) -> Container:
        engine = self.engine_of(spec.placement)
        with naming(engine):
            return _as_seen(engine.stand(_on_machine(spec)), spec, engine)

    def standing(self) -> tuple[Standing, ...]:
        return tuple(one for every in self._each(lambda one: one.standing()) for one in every)

    def remove(self, container: str, timeout_s: float) -> None:
        self._running(container).remove(container, timeout_s)

    def once(self, spec: ContainerSpec, timeout_s: float) -> Completed:
        engine = self.engine_of(spec.placement)
        with naming(engine):
            return engine.once(_on_machine(spec), timeout_s)

    @contextmanager
    def network(self, name: str, nodes: int, addresses: Sequence[str] = ()) -> Iterator[Network]:
        """Nothing is made. Other `addresses` than the machines' cannot be given."""
        yield Network(name, tuple(one.reach.address for one in self._nodes[:nodes]))

    def volume(
        self, name: str, device: str, fstype: str, placement: str = ""
    ) -> AbstractContextManager[str]:
        return self.engine_of(placement).volume(name, device, fstype)

    def exec(
        self,
        container: str,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        watch: Sequence[str] = (),
        user: str = "",
    ) -> Completed:
        engine = self._running(container)
        with naming(engine):
            return engine.exec(
                container,
                argv,
                timeout_s=timeout_s,
                env=env,
                on_line=on_line,
                watch=watch,
                user=user,
            )

    def conversation(
        self, container: str, argv: Sequence[str]
    ) -> AbstractContextManager[Conversation]:
        return self._running(container).conversation(container, argv)

    def stop(self, container: str, timeout_s: float) -> None:
        engine = self._running(container)
        with naming(engine):
            engine.stop(container, timeout_s)

    def state(self, container: str) -> str:
        engine = self._running(container)
        with naming(engine):
            return engine.state(container)

    def logs(self, container: str, tail: int | None = None) -> str:
        engine = self._running(container)
        with naming(engine):
            return engine.logs(container, tail)

    def running_as(self, role: str) -> tuple[str, ...]:
        return tuple(
            name for names in self._each(lambda one: one.running_as(role)) for name in names
        )


def _listed(different: Iterable[Any]) -> str | None:
    told = ["unknown" if one is None else str(one) for one in different]
    return None if told == ["unknown"] else ", ".join(told)


def _on_machine(spec: ContainerSpec) -> ContainerSpec:
    """In the machine's own network, if it is in one."""
    if spec.network is None:
        return spec
    return replace(spec, network=HOST_NETWORK, address=None, ports={})


def _as_seen(container: Container, spec: ContainerSpec, engine: OneOfMany) -> Container:
    if spec.network is None:
        return container
    ports = {port: port for port in spec.ports}
    return replace(container, address=spec.address, ports=ports, host=engine.reach.address)
