"""The truth gates of a campaign: taken before a tier's first use, kept, and used again.

Those of real disks are also taken after the last run and, as asked, between runs.

A gate that passed is kept in the cache under all that it depends on: the tier's limits, how
they are enforced, the image of the disk, the fio jobs, the machine with its memory, the disk
on which its files lie. While that is unchanged, later campaigns use it again for seven days.
Real disks are always measured. Of disks that are made on each node's machine there is a gate
on each of these.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from orchestrator import errors, model, parts, powers
from orchestrator.design import node_disks
from orchestrator.planning import paces
from orchestrator.run import busy_machines, credit, observed
from orchestrator.run.schedule import Schedule
from orchestrator.system import files, marked, marked_folders
from orchestrator.tier import Gate, GateCheck, Tier, as_written
from orchestrator.units import format_quantity, format_seconds

MAX_AGE_S = 7 * 86_400.0
_RETRIES = 2
_THOROUGH_S = 180  # that a gate takes; and a short one:
_SHORT_S = 15
_KEY_DIGITS = 16  # of the hash of all that a gate depends on
_SCHEMA_VERSION = 2  # of kept gates: checks have their quantity
# These fields of a tier change nothing on the device.
_NAMES = (
    "name",
    "title",
    "like",
    "price",
    "source",
    "as_of",
    "notes",
    "burst",
    "burst_time_scale",
    "latency_assumed",
    "read_latency_measured",
    "write_latency_measured",
    "catalog_type",
    "size_bytes",
    "snapshots",
    "storage_class",
)


@dataclass(frozen=True)
class GatePlace:
    """A machine that runs nodes of a database. `nodes`: those, if there are several machines."""

    machine: powers.Machine
    nodes: tuple[str, ...] = ()

    @property
    def in_words(self) -> str:
        """` on server-1`; empty if there is one machine."""
        if not self.nodes:
            return ""
        return f" on {self.machine.name}"


def _as_one(gates: Sequence[tuple[GatePlace, Gate]]) -> Gate:
    """One gate with the checks of all machines, as old as the oldest and as busy as the busiest.

    `device` has the facts of each under `machines`.
    """
    first_place, first = gates[0]
    if not first_place.nodes:
        return first
    devices: dict[str, dict[str, Any]] = {}
    checks: list[GateCheck] = []
    for place, gate in gates:
        devices[place.machine.name] = dict(gate.device)
        checks += _checks_on(place, gate)
    worst = busy_machines.worst(devices.values())
    return Gate(
        tier=first.tier,
        taken_s=min(gate.taken_s for _, gate in gates),
        checks=tuple(checks),
        device={**first.device, **worst, "machines": devices},
        reused=all(gate.reused for _, gate in gates),
    )


def _checks_on(place: GatePlace, gate: Gate) -> Iterator[GateCheck]:
    """The checks of one machine, each with where it was made."""
    disk = f"{place.nodes[0]} ({place.machine.name})"
    for check in gate.checks:
        yield replace(check, disk=disk, nodes=place.nodes)


def _disks_of(tier: Tier) -> str:
    """What one gate holds for: the tier, on as many disks as its nodes have."""
    return f"{tier.name} {len(tier.disk.of_nodes)}"


def _keep_none(_gates: Sequence[Gate]) -> None:
    """Gates of a tier by itself are only shown."""


class Gates:
    """The truth gates of a campaign, or of one tier by itself."""

    def __init__(
        self,
        mechanisms: Mapping[str, parts.TierMechanism],
        world: powers.World,
        schedule: Schedule | None = None,
        keep: Callable[[Sequence[Gate]], None] = _keep_none,
        nodes: int = 1,
        before: Sequence[Gate] = (),
    ) -> None:
        """`keep` gets all gates so far, each time that one was taken, and those from `before`
        the campaign was gone on with. `nodes`: that have disks of a tier, if no schedule
        says so."""
        self._mechanisms = mechanisms
        self._world = world
        self._keep = keep
        self._schedule = schedule
        self._nodes = nodes
        self._in_force: dict[str, tuple[Tier, Gate]] = {}
        self._all = list(before)
        self._attempts = 0
        self.credit = credit.BurstCredit(world)

    def of(self, tier: Tier) -> Gate:
        """The gate in force, passed or not: of this campaign, kept from before, or taken now.

        One that failed is taken again: a busy minute costs one run.
        """
        in_force = self._in_force.get(_disks_of(tier))
        if in_force is not None:
            _, gate = in_force
            if gate.passed:
                return gate
        drain = self._schedule is not None and self._schedule.plan.drain
        return self._add(tier, self.measure(tier, drain=drain, may_be_kept=True))

    def after(self, run: model.Run) -> None:
        """Takes the gates of real disks that are due after `run`.

        Whatever goes wrong with a gate is said and not raised: what was measured stands,
        and the next run of its tier takes it.
        """
        schedule = self._schedule
        if schedule is None:
            return
        plan = schedule.plan
        is_last = schedule.is_last(run)
        is_due = plan.gate_every and run.number % plan.gate_every == 0
        if not is_last and not is_due:
            return
        name = f"run {run.number}"
        for tier, before in list(self._in_force.values()):
            self._retake(tier, before, name, drain=plan.drain and not is_last)

    def complete(self, ended_s: Mapping[str, float]) -> None:
        """Takes the last gate of real disks where it is missing, because the program was ended
        between it and the last run: `ended_s` is when that of each profile ended."""
        if self._schedule is None:
            return
        newest = {gate.tier: gate for gate in self._all}
        for profile in self._schedule.plan.profiles:
            tier = profile.tier
            last_s = ended_s.get(profile.name)
            before = newest.get(tier.name)
            was_retaken = _disks_of(tier) in self._in_force
            if before is None or not last_s or was_retaken:
                continue
            if before.taken_s < last_s:
                self._retake(tier, before, "the last run", drain=False)

    def _retake(self, tier: Tier, before: Gate, after: str, drain: bool) -> None:
        if not tier.disk.is_real or not before.checks or not before.passed:
            return
        warn = self._world.progress.warn
        try:
            gate = self._add(tier, self.measure(tier, drain=drain))
        except Exception as error:
            self._in_force.pop(_disks_of(tier), None)
            warn(
                f"the disk check of {tier.name} after {after} could not be made: "
                f"{error}"
            )
            return
        if not gate.passed:
            warn(
                f"after {after} the disk of {tier.name} no longer passes its disk check"
            )

    def _add(self, tier: Tier, gate: Gate) -> Gate:
        self._in_force[_disks_of(tier)] = tier, gate
        self._all.append(gate)
        self.credit.checked(tier, gate)
        self._keep(self._all)
        return gate

    def measure(
        self,
        tier: Tier,
        thorough: bool = False,
        drain: bool = False,
        may_be_kept: bool = False,
    ) -> Gate:
        """Takes the gate now; keeps it if it passed.

        `drain`: a real disk's burst credit is used up first, and it is then held to its
        base limits. `may_be_kept`: an earlier gate will do.
        """
        gates: list[tuple[GatePlace, Gate]] = []
        for place in self._places(tier):
            gate: Gate | None = None
            if may_be_kept:
                gate = self._kept(tier, place)
            if gate is None:
                gate = self._taken(tier, place, thorough, drain)
            gates.append((place, gate))
        return _as_one(gates)

    def _places(self, tier: Tier) -> tuple[GatePlace, ...]:
        """Where the disk check is made: once, where the mechanism has its disks, or on each node's
        machine.

        Of several machines the platform decides which: nodes are then started there for a moment,
        empty.
        """
        on_machines = self._abilities(tier).gates_of_machines
        if on_machines is None:
            return (GatePlace(self._world.machine),)
        nodes = self._most_nodes(tier)
        machines = self._world.platform.machines()
        if len(machines) == 1:
            return (GatePlace(machines[0]),)
        places: dict[str, GatePlace] = {}
        names = node_disks.node_names(nodes)
        machines_of_nodes = on_machines.machines_of_nodes(nodes, self._scoped())
        for node, machine in zip(names, machines_of_nodes, strict=True):
            place = places.get(machine.name, GatePlace(machine))
            places[machine.name] = replace(place, nodes=(*place.nodes, node))
        return tuple(places.values())

    def _most_nodes(self, tier: Tier) -> int:
        """How many nodes the largest cluster of the campaign has that uses the tier, at any
        value."""
        if self._schedule is None:
            return self._nodes
        nodes: list[int] = []
        for profile in self._schedule.plan.profiles:
            if tier.name.startswith(profile.tier.name):
                nodes.append(profile.cluster.nodes)
        return max(nodes)

    def _taken(self, tier: Tier, place: GatePlace, thorough: bool, drain: bool) -> Gate:
        question = f"is the disk what {tier.title} declares{place.in_words}?"
        expected_s = _SHORT_S
        if thorough:
            expected_s = _THOROUGH_S
        self._world.progress.step(f"disk check: {question}", expected_s)
        started_s = self._world.clock.monotonic()
        if thorough:
            gate = self._measured(tier, place, thorough, drain)
        else:
            gate = self._tried(tier, place, drain)
        if not thorough and not drain:
            took_s = self._world.clock.monotonic() - started_s
            name = paces.kept_as(paces.GATES, tier, self._world.platform.name)
            disks = node_disks.gated(tier)
            observed.note(name, took_s, self._world, disks)
        if gate.passed and gate.checks:
            self._write(gate, tier, place)
        return gate

    def _tried(self, tier: Tier, place: GatePlace, drain: bool) -> Gate:
        """A busy moment of this machine may fail an honest disk; a dishonest one fails on."""
        gate = self._measured(tier, place, False, drain)
        for _ in range(_RETRIES):
            if gate.passed or _is_drained(gate):
                break
            gate = self._measured(tier, place, False, drain)
        return gate

    def _write(self, gate: Gate, tier: Tier, place: GatePlace) -> None:
        """Keeps the gate, where that may be."""
        file = self._file(tier, place)
        if file is None:
            return
        marked.make(str(file.parent), marked_folders.owner(self._world))
        files.write_json(file, asdict(gate))

    def _measured(
        self, tier: Tier, place: GatePlace, thorough: bool, drain: bool
    ) -> Gate:
        abilities = self._abilities(tier)
        world = self._scoped()
        bursts = tier.limits.burst or (tier.wal and tier.wal.limits.burst)
        if drain and bursts and abilities.drained_gate is not None:
            return abilities.drained_gate(tier, world, thorough)
        if abilities.gates_of_machines is None:
            mechanism = self._mechanisms[tier.disk.enforcement]
            return mechanism.gate(tier, world, thorough)
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

    def _kept(self, tier: Tier, place: GatePlace) -> Gate | None:
        file = self._file(tier, place)
        if file is None or not file.is_file():
            return None
        try:
            gate = TypeAdapter(Gate).validate_json(file.read_bytes())
        except ValidationError:
            return None  # written by another version: take it anew
        age_s = self._world.clock.now() - gate.taken_s
        if not gate.passed or not 0 <= age_s <= MAX_AGE_S:
            return None
        passed = f"passed {format_seconds(age_s)} ago, nothing changed since"
        self._world.progress.note(
            f"disk check of {tier.name}{place.in_words}: {passed}"
        )
        return replace(gate, tier=tier.name, reused=True)

    def _file(self, tier: Tier, place: GatePlace) -> Path | None:
        """The file in which the disk check is kept.

        None if it is not, as when the disk of its files is not seen.
        """
        kept_gate = self._abilities(tier).kept_gate
        if kept_gate is None:
            return None
        world = self._world
        try:
            identity = kept_gate(place.machine, world)
            machine = _machine_identity(place.machine, world)
        except (OSError, errors.TierbenchError):
            return None
        content = {
            **identity,
            "schema_version": _SCHEMA_VERSION,
            "limits": _device_limits(tier),
            "machine": machine,
        }
        written = json.dumps(content, sort_keys=True).encode()
        key = hashlib.sha256(written).hexdigest()[:_KEY_DIGITS]
        return world.cache / "truth-gates" / f"{key}.json"


def _machine_identity(machine: powers.Machine, world: powers.World) -> list[Any]:
    """What identifies the machine. A check says nothing of another machine, engine or kernel."""
    facts = machine.facts()
    return [
        world.platform.facts().get("ID"),
        machine.name,
        facts.kernel,
        facts.cpus,
        facts.cpu_model,
        facts.memory_bytes,
    ]


def _device_limits(tier: Tier) -> dict[str, Any]:
    """What a tier declares that changes something on the device."""
    declared = as_written(tier)
    for name in _NAMES:
        declared.pop(name, None)
    return dict(declared)


def _is_drained(gate: Gate) -> bool:
    """A disk that was loaded for so long in vain is not loaded again."""
    return any(check.quantity == "drained" for check in gate.checks)


def require_passed(gate: Gate) -> None:
    """GateError if the disk is not what its tier declares, or this machine was too busy to tell."""
    if gate.passed:
        return
    misses = "; ".join(_misses(gate))
    busy = " and ".join(busy_machines.reasons(gate))
    if busy:
        raise _busy_machine(gate.tier, misses, busy)
    raise _another_disk(gate.tier, misses)


def _busy_machine(tier: str, misses: str, busy: str) -> errors.GateError:
    return errors.GateError(
        f"the disk of {tier} is not what the tier declares: {misses}. "
        f"This machine was busy during the check: {busy}",
        advice=(
            "stop other programs on this machine and try again; on a busy "
            "machine a good disk can fail"
        ),
    )


def _another_disk(tier: str, misses: str) -> errors.GateError:
    return errors.GateError(
        f"the disk of {tier} is not what the tier declares: {misses}",
        advice="figures made on it would say nothing about the tier: see docs/TIERS.md",
    )


def _misses(gate: Gate) -> Iterator[str]:
    """What is wrong, disk by disk where the tier names several."""
    limits_of_disks: dict[str, list[str]] = {}
    for check in gate.checks:
        if check.passed:
            continue
        measured = f"measured {format_quantity(check.measured, check.unit)}"
        if check.declared is not None:
            measured += f", declared {format_quantity(check.declared, check.unit)}"
        if not check.disk:
            yield f"{check.limit} {check.verdict}: {measured}"
            continue
        is_wrong = f"is {check.verdict}"
        if check.verdict == "failed":
            is_wrong = "failed"
        limits = limits_of_disks.setdefault(f"{check.disk} {is_wrong}", [])
        limits.append(f"{check.limit} {measured}")
    for disk_is_wrong, limits in limits_of_disks.items():
        yield f"{disk_is_wrong}: {', '.join(limits)}"
