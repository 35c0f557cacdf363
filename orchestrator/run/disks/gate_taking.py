"""How a truth gate is taken: by the tier's mechanism, on each machine that has disks of its own.

A gate that passed is kept (`kept_gates`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator import parts, powers
from orchestrator.design import node_disks
from orchestrator.planning import paces
from orchestrator.run.disks import busy_machines
from orchestrator.run.disks.kept_gates import GatePlace, KeptGates
from orchestrator.run.runs_ahead import spent_times
from orchestrator.tier import Gate, GateCheck, Tier

_RETRIES = 2
_THOROUGH_S = 180  # seconds that a thorough gate takes; and a short one:
_SHORT_S = 15


class GateTaker:
    """Takes gates, or finds those that were kept."""

    def __init__(
        self, mechanisms: Mapping[str, parts.TierMechanism], world: powers.World
    ) -> None:
        self._mechanisms = mechanisms
        self._world = world
        self._attempts = 0
        self._kept_gates = KeptGates(mechanisms, world)

    def take(
        self,
        tier: Tier,
        nodes: int,
        *,
        thorough: bool,
        drain: bool,
        may_be_kept: bool,
    ) -> Gate:
        """Takes the gate of a tier that so many nodes have; keeps it if it passed.

        `drain`: a real disk's burst credit is used up first, and it is then held to its
        base limits. `may_be_kept`: an earlier gate will do.
        """
        gates: list[tuple[GatePlace, Gate]] = []
        for place in self._places(tier, nodes):
            gate: Gate | None = None
            if may_be_kept:
                gate = self._kept_gates.find(tier, place)
            if gate is None:
                gate = self._taken(tier, place, thorough, drain)
            gates.append((place, gate))
        return _as_one(gates)

    def _places(self, tier: Tier, nodes: int) -> tuple[GatePlace, ...]:
        """Where the disk check is made: once, where the mechanism has its disks, or on each node's
        machine.

        Of several machines the platform decides which: nodes are then started there for a moment,
        empty.
        """
        on_machines = self._abilities(tier).gates_of_machines
        if on_machines is None:
            return (GatePlace(self._world.machine),)
        machines = self._world.platform.machines()
        # All nodes run on it, so none need be started to see where they would be.
        if len(machines) == 1:
            return (GatePlace(machines[0]),)
        places: dict[str, GatePlace] = {}
        names = node_disks.node_names(nodes)
        machines_of_nodes = on_machines.machines_of_nodes(nodes, self._scoped())
        for node, machine in zip(names, machines_of_nodes, strict=True):
            # Each machine has one check, however many nodes it runs: their disks are alike.
            place = places.get(machine.name, GatePlace(machine))
            places[machine.name] = replace(place, nodes=(*place.nodes, node))
        return tuple(places.values())

    def _taken(self, tier: Tier, place: GatePlace, thorough: bool, drain: bool) -> Gate:
        question = f"is the disk what {tier.title} declares{place.in_words}?"
        expected_s = _SHORT_S
        if thorough:
            expected_s = _THOROUGH_S
        self._world.progress.step(f"disk check: {question}", expected_s)
        started_s = self._world.clock.monotonic()
        if thorough:
            gate = self._measured(tier, place, thorough=True, drain=drain)
        else:
            gate = self._tried(tier, place, drain)
        # Estimates learn from quick checks alone; the others take minutes.
        if not thorough and not drain:
            took_s = self._world.clock.monotonic() - started_s
            name = paces.kept_as(paces.GATES, tier, self._world.platform.name)
            disks = node_disks.gated(tier)
            spent_times.keep(name, took_s, self._world, disks)
        # Gates that passed are kept, no others: a disk that failed may have met a busy moment.
        if gate.passed and gate.checks:
            self._kept_gates.keep(gate, tier, place)
        return gate

    def _tried(self, tier: Tier, place: GatePlace, drain: bool) -> Gate:
        """A busy moment of this machine may fail an honest disk; a dishonest one fails on."""
        gate = self._measured(tier, place, thorough=False, drain=drain)
        for _ in range(_RETRIES):
            if gate.passed or _is_drained(gate):
                break
            gate = self._measured(tier, place, thorough=False, drain=drain)
        return gate

    def _measured(
        self, tier: Tier, place: GatePlace, *, thorough: bool, drain: bool
    ) -> Gate:
        abilities = self._abilities(tier)
        world = self._scoped()
        bursts = tier.limits.burst or (tier.wal and tier.wal.limits.burst)
        # A disk with credit left would show its peak, and hide that its base is wrong.
        if drain and bursts and abilities.drained_gate is not None:
            return abilities.drained_gate(tier, world, thorough)
        if abilities.gates_of_machines is None:
            mechanism = self._mechanisms[tier.disk.enforcement]
            return mechanism.gate(tier, world, thorough)
        # Disks of one machine are alike, so the gate of any of its nodes holds for all.
        node = "node-1"
        if place.nodes:
            node = place.nodes[0]
        return abilities.gates_of_machines.take(node, tier, world, thorough)

    def _abilities(self, tier: Tier) -> parts.TierAbilities:
        return self._mechanisms[tier.disk.enforcement].abilities

    def _scoped(self) -> powers.World:
        """A world with its own names for each attempt: leftovers of one do not hinder the next."""
        self._attempts += 1
        scope = f"{self._world.scope}-g{self._attempts}"
        return replace(self._world, scope=scope)


def _as_one(gates: Sequence[tuple[GatePlace, Gate]]) -> Gate:
    """One gate with the checks of all machines, as old as the oldest and as busy as the busiest.

    `device` has the facts of each under `machines`.
    """
    first_place, first = gates[0]
    if not first_place.nodes:
        return first
    devices: dict[str, dict[str, Any]] = {}
    checks: list[GateCheck] = []
    taken_s = first.taken_s
    is_reused = True
    for place, gate in gates:
        devices[place.machine.name] = dict(gate.device)
        checks += _checks_on(place, gate)
        taken_s = min(taken_s, gate.taken_s)
        is_reused = is_reused and gate.reused
    worst = busy_machines.worst(devices.values())
    device = {**first.device, **worst, "machines": devices}
    return Gate(
        tier=first.tier,
        taken_s=taken_s,
        checks=tuple(checks),
        device=device,
        reused=is_reused,
    )


def _checks_on(place: GatePlace, gate: Gate) -> Iterator[GateCheck]:
    """The checks of one machine, each with where it was made."""
    disk = f"{place.nodes[0]} ({place.machine.name})"
    for check in gate.checks:
        yield replace(check, disk=disk, nodes=place.nodes)


def _is_drained(gate: Gate) -> bool:
    """A disk that was loaded for so long in vain is not loaded again."""
    return any(check.quantity == "drained" for check in gate.checks)
