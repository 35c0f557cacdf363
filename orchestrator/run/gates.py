"""The truth gates of a campaign: taken before a tier's first use, kept, and used again. Those of
real disks are also taken after the last run and, as asked, between runs.

A gate that passed is kept in the cache under all that it depends on: the tier's limits, how they
are enforced, the image of the disk, the fio jobs, the machine with its memory, the disk on which
its files lie. While that is unchanged, later campaigns use it again for seven days. Real disks are
always measured. Of disks that are made on each node's machine there is a gate on each of these."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from orchestrator import errors, model, parts, powers
from orchestrator.kernel import mounts
from orchestrator.planning import node_disks, paces
from orchestrator.platforms import own_images
from orchestrator.platforms.common import marked
from orchestrator.run import credit, observed
from orchestrator.run.schedule import Schedule
from orchestrator.system import files
from orchestrator.tier import Gate, Tier, as_written
from orchestrator.tiers.common.emulated import disk_files, host_load
from orchestrator.tiers.common.real import removal
from orchestrator.units import format_quantity, format_seconds

MAX_AGE_S = 7 * 86_400.0
_RETRIES = 2
# These fields of a tier change nothing on the device.
_NAMES = (
    *("name", "title", "like", "price", "source", "as_of", "notes"),
    *(
        "burst",
        "burst_time_scale",
        "latency_assumed",
        "catalog_type",
        "snapshots",
        "storage_class",
    ),
)


@dataclass(frozen=True)
class GatePlace:
    """A machine that runs nodes of a database. `nodes`: those, if there are several machines."""

    machine: powers.Machine
    nodes: tuple[str, ...] = ()


def _as_one(gates: Sequence[tuple[GatePlace, Gate]]) -> Gate:
    """One gate with the checks of all machines, as old as the oldest and as busy as the busiest;
    `device` has the facts of each under `machines`."""
    place, first = gates[0]
    if not place.nodes:
        return first
    devices = {place.machine.name: dict(gate.device) for place, gate in gates}
    checks = (
        replace(
            check, disk=f"{place.nodes[0]} ({place.machine.name})", nodes=place.nodes
        )
        for place, gate in gates
        for check in gate.checks
    )
    return Gate(
        first.tier,
        min(gate.taken_s for _, gate in gates),
        tuple(checks),
        {**first.device, **host_load.worst(devices.values()), "machines": devices},
        reused=all(gate.reused for _, gate in gates),
    )


def _disks_of(tier: Tier) -> str:
    """What one gate holds for: the tier, on as many disks as its nodes have."""
    return f"{tier.name} {len(tier.disk.of_nodes)}"


class Gates:
    """The truth gates of a campaign, or of one tier by itself."""

    def __init__(
        self,
        mechanisms: Mapping[str, parts.TierMechanism],
        world: powers.World,
        schedule: Schedule | None = None,
        keep: Callable[[Sequence[Gate]], None] = lambda _gates: None,
        nodes: int = 1,
        before: Sequence[Gate] = (),
    ) -> None:
        """`keep` gets all gates so far, each time that one was taken, and those from `before` the
        campaign was gone on with. `nodes`: that have disks of a tier, if no schedule says so."""
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
        """The gate in force, passed or not: of this campaign, kept from before, or taken now. One
        that failed is taken again: a busy minute costs one run."""
        held = self._in_force.get(_disks_of(tier))
        if held and held[1].passed:
            return held[1]
        drain = self._schedule is not None and self._schedule.plan.drain
        return self._add(tier, self.measure(tier, drain=drain, may_be_kept=True))

    def after(self, run: model.Run) -> None:
        """Takes the gates of real disks that are due after `run`. Whatever goes wrong with one is
        said and not raised: what was measured stands, and the next run of its tier takes it."""
        schedule = self._schedule
        if schedule is None:
            return
        plan = schedule.plan
        is_last = schedule.is_last(run)
        if is_last or (plan.gate_every and run.number % plan.gate_every == 0):
            for tier, before in list(self._in_force.values()):
                self._retake(
                    tier, before, f"run {run.number}", drain=plan.drain and not is_last
                )

    def complete(self, ended_s: Mapping[str, float]) -> None:
        """Takes the last gate of real disks where it is missing, because the program was ended
        between them and the last run: `ended_s` is the time of that of each profile."""
        newest = {gate.tier: gate for gate in self._all}
        for profile in self._schedule.plan.profiles if self._schedule else ():
            tier = profile.tier
            last_s = ended_s.get(profile.name)
            before = newest.get(tier.name)
            was_retaken = _disks_of(tier) in self._in_force
            if before and last_s and not was_retaken and before.taken_s < last_s:
                self._retake(tier, before, "the last run", drain=False)

    def _retake(self, tier: Tier, before: Gate, after: str, drain: bool) -> None:
        if not (tier.disk.is_real and before.checks and before.passed):
            return
        try:
            gate = self._add(tier, self.measure(tier, drain=drain))
        except Exception as error:
            self._in_force.pop(_disks_of(tier), None)
            what = f"the truth gate of {tier.name} after {after} could not be taken: {error}"
            self._world.progress.warn(what)
            return
        if not gate.passed:
            what = (
                f"after {after} the disk of {tier.name} does not pass its gate any more"
            )
            self._world.progress.warn(what)

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
        """Takes the gate now; keeps it if it passed. `drain`: a real disk's burst credit is used up
        first, and it is then held to its base limits. `may_be_kept`: an earlier gate will do."""
        gates = []
        for place in self._places(tier):
            kept = None
            if may_be_kept:
                kept = self._kept(tier, place)
            gates.append((place, kept or self._taken(tier, place, thorough, drain)))
        return _as_one(gates)

    def _places(self, tier: Tier) -> tuple[GatePlace, ...]:
        """Where the gate is taken: once, where the mechanism has its disks, or on each machine that
        runs some of the nodes. Of several machines the platform decides which: nodes are then
        started there for a moment, empty."""
        if not isinstance(
            self._mechanisms[tier.disk.enforcement], parts.MadeOnMachines
        ):
            return (GatePlace(self._world.machine),)
        nodes = self._nodes
        if self._schedule is not None:
            profiles = self._schedule.plan.profiles
            nodes = max(
                p.cluster.nodes for p in profiles if tier.name.startswith(p.tier.name)
            )
        machines = self._world.platform.machines()
        places = dict[str, GatePlace]()
        if len(machines) == 1:
            return (GatePlace(machines[0]),)
        on = disk_files.machines_of_nodes(nodes, self._scoped())
        for node, machine in zip(node_disks.node_names(nodes), on, strict=True):
            place = places.get(machine.name, GatePlace(machine))
            places[machine.name] = replace(place, nodes=(*place.nodes, node))
        return tuple(places.values())

    def _taken(self, tier: Tier, place: GatePlace, thorough: bool, drain: bool) -> Gate:
        on = ""
        if place.nodes:
            on = f" on {place.machine.name}"
        question = f"truth gate: is the disk what {tier.title} declares{on}?"
        self._world.progress.step(question, 180 if thorough else 15)
        started_s = self._world.clock.monotonic()
        gate = self._measured(tier, place, thorough, drain)
        for _ in range(0 if thorough else _RETRIES):
            if gate.passed or any(check.quantity == "drained" for check in gate.checks):
                break  # a disk that was loaded for so long in vain is not loaded again
            # A busy moment of this machine may fail an honest disk; a dishonest one fails on.
            gate = self._measured(tier, place, False, drain)
        if not thorough and not drain:
            took_s = self._world.clock.monotonic() - started_s
            name = paces.kept_as(paces.GATES, tier, self._world.platform.name)
            observed.note(name, took_s, self._world, max(1, node_disks.count(tier)))
        if gate.passed and gate.checks and (file := self._file(tier, place)):
            marked.make(str(file.parent), removal.owner(self._world))
            files.write_json(file, asdict(gate))
        return gate

    def _measured(
        self, tier: Tier, place: GatePlace, thorough: bool, drain: bool
    ) -> Gate:
        mechanism = self._mechanisms[tier.disk.enforcement]
        world = self._scoped()
        bursts = tier.limits.burst or (tier.wal and tier.wal.limits.burst)
        if drain and bursts and isinstance(mechanism, parts.DrainsBurst):
            return mechanism.drained_gate(tier, world, thorough)
        if isinstance(mechanism, parts.MadeOnMachines):
            return mechanism.gate_on((*place.nodes, "node-1")[0], tier, world, thorough)
        return mechanism.gate(tier, world, thorough)

    def _scoped(self) -> powers.World:
        """A world with its own names for each attempt: leftovers of one do not hinder the next."""
        self._attempts += 1
        return replace(self._world, scope=f"{self._world.scope}-g{self._attempts}")

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
        on = ""
        if place.nodes:
            on = f" on {place.machine.name}"
        text = f"truth gate of {tier.name}{on}: passed {format_seconds(age_s)} ago"
        self._world.progress.note(f"{text}, nothing changed since")
        return replace(gate, tier=tier.name, reused=True)

    def _file(self, tier: Tier, place: GatePlace) -> Path | None:
        """Where the gate is kept. None if it is not: also if the disk of its files is not seen."""
        mechanism = self._mechanisms[tier.disk.enforcement]
        if not isinstance(mechanism, parts.KeepsGate):
            return None
        identity = mechanism.gate_identity(self._world)
        platform = self._world.platform
        machine = place.machine
        try:
            facts = machine.facts()
            engine = platform.facts().get("ID")
            disk = mounts.disk_below(platform.folder(self._world.cache), machine)
        except (OSError, errors.TierbenchError):
            return None
        on = (
            engine,
            machine.name,
            facts.kernel,
            facts.cpus,
            facts.cpu_model,
            facts.memory_bytes,
        )
        flat = as_written(tier)
        content = {
            **identity,
            "schema_version": 2,  # checks have their quantity
            "limits": {key: value for key, value in flat.items() if key not in _NAMES},
            "jobs": own_images.content_hash(self._world.root / "workloads" / "fio"),
            "machine": on,
            "disk": disk,
        }
        key = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[
            :16
        ]
        return self._world.cache / "truth-gates" / f"{key}.json"


def require_passed(gate: Gate) -> None:
    """GateError if the disk is not what its tier declares, or this machine was too busy to tell."""
    if gate.passed:
        return
    misses = "; ".join(_misses(gate))
    busy = " and ".join(host_load.reasons(gate))
    if busy:
        raise _busy_machine(gate.tier, misses, busy)
    raise _another_disk(gate.tier, misses)


def _busy_machine(tier: str, misses: str, busy: str) -> errors.GateError:
    return errors.GateError(
        f"the disk of {tier} is not what the tier declares: {misses}. "
        f"This machine was busy during the check: {busy}",
        advice="stop what else runs here and try again; an honest disk fails on a busy machine",
    )


def _another_disk(tier: str, misses: str) -> errors.GateError:
    return errors.GateError(
        f"the disk of {tier} is not what the tier declares: {misses}",
        advice="figures made on it would say nothing about the tier: see docs/TIERS.md",
    )


def _misses(gate: Gate) -> Iterator[str]:
    """What is wrong, disk by disk where the tier names several."""
    missed: dict[tuple[str, str], list[str]] = {}
    for check in (check for check in gate.checks if not check.passed):
        measured = f"measured {format_quantity(check.measured, check.unit)}"
        if check.declared is not None:
            measured += f", declared {format_quantity(check.declared, check.unit)}"
        if check.disk:
            is_wrong = "failed"
            if check.verdict != "failed":
                is_wrong = f"is {check.verdict}"
            limits = missed.setdefault((check.disk, is_wrong), [])
            limits.append(f"{check.limit} {measured}")
        else:
            yield f"{check.limit} {check.verdict}: {measured}"
    for (disk, is_wrong), limits in missed.items():
        yield f"{disk} {is_wrong}: {', '.join(limits)}"
