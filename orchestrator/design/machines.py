"""Which machines a profile names, and what cannot run on several engines of containers."""

import re
from collections.abc import Iterator, Sequence

from orchestrator.errors import KeyPlace, Mistake, UsageError
from orchestrator.keys import engine_addresses, refusals, schema
from orchestrator.model import Placing, Profile
from orchestrator.tier import DiskKind

_KINDS: tuple[DiskKind, ...] = ("emulated", "mounted", "none")
_NO_DISK_OF_MACHINES = "disks of several machines are `emulated`, `mounted` or `none`"
_HOST = re.compile(r"\w+://(?:[^@/]*@)?([^:/]+)")  # the host of an address


def placing(where: str, read: schema.NamedTierYaml, kind: DiskKind) -> Placing | None:
    """The placing of a profile's nodes; None if it names no machines.

    UsageError for what cannot run on the machines that it names.
    """
    mistakes: list[Mistake] = []
    for key, what in _mistakes(read, kind):
        mistakes.append(Mistake.at(KeyPlace(where).below_path(key), what))
    refusals.raise_all(mistakes)
    if read.machines:
        return Placing(machines=read.machines, client_machine=read.client_machine)
    return read.kubernetes


def _mistakes(read: schema.NamedTierYaml, kind: DiskKind) -> Iterator[tuple[str, str]]:
    if not read.machines:
        if read.client_machine:
            yield "client_machine", "it goes with `machines`, the engines of the nodes"
        return
    yield from _mistakes_of_addresses(read)
    if len(set(read.machines)) < len(read.machines):
        yield (
            "machines",
            (
                "one is named twice. Nodes use the ports of their machine, so each "
                "needs its own"
            ),
        )
    if read.kubernetes:
        yield "machines", "they are engines: leave out `kubernetes`, which names others"
    if read.cluster.existing:
        yield (
            "machines",
            "this is an existing cluster: there is no node to start on them",
        )
    if read.cluster.port is not None:
        yield (
            "cluster.port",
            "on `machines` a node has its database's own port: leave it out",
        )
    if kind not in _KINDS:
        yield "tier.enforcement", _NO_DISK_OF_MACHINES


def _mistakes_of_addresses(read: schema.NamedTierYaml) -> Iterator[tuple[str, str]]:
    """What names no engine, such as a host without a scheme: Docker would take it for a context."""
    engines = [(f"machines.{k}", engine) for k, engine in enumerate(read.machines)]
    if read.client_machine:
        engines.append(("client_machine", read.client_machine))
    for key, engine in engines:
        mistake = engine_addresses.mistake_in(engine)
        if mistake:
            yield key, mistake


def named(profile: Profile) -> tuple[str, ...]:
    """The engines of its nodes; empty if it names none."""
    if profile.placing:
        return profile.placing.machines
    return ()


def known_as(engine: str) -> str:
    """A short name for an engine: the host of its address, or that of its context."""
    # The user and the port of an address say nothing in tables and messages.
    address = _HOST.match(engine)
    if address:
        return address[1]
    return engine


def check_platform(profile: Profile, platform: str, has_engines: bool) -> None:
    """UsageError if machines are named for a platform that has no engines to connect to."""
    if named(profile) and not has_engines:
        raise UsageError(
            f"{profile.name} names `machines`, whose engines {platform} does not have",
            advice="take `machines` out of the profile, or run it on another platform",
        )


def check_asked(profile: Profile, platform: str | None) -> None:
    """UsageError if it names machines of Kubernetes, and nobody says whether it is to run there."""
    if profile.placing and not named(profile) and platform is None:
        raise UsageError(
            f"{profile.name} has `kubernetes`, and no platform",
            advice="add `platform: kubernetes`, or another",
        )


def check(profiles: Sequence[Profile], platform: str, has_engines: bool) -> None:
    """Checks as `check_platform` does.

    UsageError too if profiles name fewer machines than they have nodes.
    """
    for profile in profiles:
        check_platform(profile, platform, has_engines)
        engines = named(profile)
        if engines and profile.cluster.nodes > len(engines):
            raise _few_machines(profile.name, profile.cluster.nodes, engines)


def _few_machines(profile: str, nodes: int, engines: Sequence[str]) -> UsageError:
    names = f"{len(engines)} machines ({', '.join(engines)})"
    return UsageError(
        f"{profile} has {nodes} nodes and names {names}",
        advice="name one machine for each node, or give --nodes",
    )
