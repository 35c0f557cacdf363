"""On which machines a tier's gates are taken, and these gates as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.platforms.common.machines import is_here
from orchestrator.powers import Machine, World
from orchestrator.tier import Gate, GateCheck
from orchestrator.tiers.common.emulated import disk_files, host_load


@dataclass(frozen=True)
class GatePlace:
    """A machine that runs nodes of a database. `nodes`: those, if the campaign has several
    machines; `placement`: of the first of them."""

    machine: Machine
    placement: str = "node-1"
    nodes: tuple[str, ...] = ()

    def named(self, check: GateCheck) -> GateCheck:
        if not self.nodes:
            return check
        return replace(check, disk=f"{self.nodes[0]} ({self.machine.name})", nodes=self.nodes)


def places(nodes: int, world: World) -> tuple[GatePlace, ...]:
    """Each machine that runs some of so many nodes, once. Of several machines the platform decides
    which: nodes are then started there for a moment, empty."""
    machines = world.platform.machines()
    if len(machines) == 1:
        return (GatePlace(machines[0]),)
    found: dict[str, GatePlace] = {}
    for number, machine in enumerate(disk_files.machines_of_nodes(nodes, world), start=1):
        node = f"node-{number}"
        place = found.setdefault(machine.name, GatePlace(machine, node))
        found[machine.name] = replace(place, nodes=(*place.nodes, node))
    return tuple(found.values())


def identity(place: GatePlace, world: World) -> Any:
    """What a kept gate depends on of its machine. This computer has the cache to itself; gates of
    others lie there side by side."""
    facts = place.machine.facts()
    kind = (facts.kernel, facts.cpus, facts.cpu_model)
    if is_here(world):
        return kind
    return (world.platform.facts().get("ID"), place.machine.name, *kind)


def together(gates: Sequence[tuple[GatePlace, Gate]]) -> Gate:
    """One gate with the checks of all machines, as old as the oldest and as busy as the busiest;
    `device` has the facts of each under `machines`."""
    place, first = gates[0]
    if not place.nodes:
        return first
    devices = {place.machine.name: dict(gate.device) for place, gate in gates}
    return Gate(
        first.tier,
        min(gate.taken_s for _, gate in gates),
        tuple(place.named(check) for place, gate in gates for check in gate.checks),
        {**first.device, **host_load.worst(devices.values()), "machines": devices},
        reused=all(gate.reused for _, gate in gates),
    )
