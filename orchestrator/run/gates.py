"""The truth gates of a campaign: taken before a tier's first use, kept, and used again.

Those of real disks are also taken after the last run and, as asked, between runs.

A gate that passed is kept (`kept_gates`). Of disks that are made on each node's machine there is a
gate on each of these.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator import errors, model, parts, powers
from orchestrator.design import node_disks
from orchestrator.design.used_profiles import as_used
from orchestrator.planning import paces
from orchestrator.run import busy_machines, credit, observed
from orchestrator.run.kept_gates import GatePlace, KeptGates
from orchestrator.run.schedule import Schedule
from orchestrator.tier import Gate, GateCheck, Tier
from orchestrator.units import format_quantity

_RETRIES = 2
_THOROUGH_S = 180  # seconds that a thorough gate takes; and a short one:
_SHORT_S = 15


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
    return Gate(first.tier, taken_s, tuple(checks), device, is_reused)


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
        self._kept_gates = KeptGates(mechanisms, world)
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
        # A copy, because a gate that is retaken changes the mapping.
        for tier, before in list(self._in_force.values()):
            # Credit is not used up behind the last run: nothing is measured for which it would
            # matter.
            drain = plan.drain and not is_last
            self._retake(tier, before, f"run {run.number}", drain)

    def complete(self, ended_s: Mapping[str, float]) -> None:
        """Takes the last gate of real disks where it is missing, because the program was ended
        between it and the last run: `ended_s` is when that of each profile ended."""
        if self._schedule is None:
            return
        # Gates stand in the order of time, so that the last of each tier counts.
        newest = {gate.tier: gate for gate in self._all}
        for profile in self._schedule.plan.profiles:
            tier = profile.tier
            last_s = ended_s.get(profile.name)
            before = newest.get(tier.name)
            # Disks that this program has used had their last gate behind its last run.
            was_retaken = _disks_of(tier) in self._in_force
            if before is None or not last_s or was_retaken:
                continue
            if before.taken_s < last_s:
                self._retake(tier, before, "the last run", drain=False)

    def _retake(self, tier: Tier, before: Gate, after: str, drain: bool) -> None:
        # Emulated disks are held to their limits by us; only a real one may have
        # changed since.
        if not tier.disk.is_real or not before.checks or not before.passed:
            return
        warn = self._world.progress.warn
        try:
            gate = self._add(tier, self.measure(tier, drain=drain))
        except Exception as error:
            # The next run of this tier takes a gate if none is in force.
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
        # A gate shows whether the disk bursts, and uses up some of its credit.
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
                gate = self._kept_gates.find(tier, place)
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

    def _most_nodes(self, tier: Tier) -> int:
        """How many nodes the largest cluster has that the campaign runs on these disks."""
        if self._schedule is None:
            return self._nodes
        plan = self._schedule.plan
        most = 1
        for run in plan.runs:
            used = as_used(plan.profile(run.profile), plan.workload(run.workload))
            if _disks_of(used.tier) == _disks_of(tier):
                most = max(most, used.cluster.nodes)
        return most

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
        # Estimates learn from quick checks alone; the others take minutes.
        if not thorough and not drain:
            took_s = self._world.clock.monotonic() - started_s
            name = paces.kept_as(paces.GATES, tier, self._world.platform.name)
            disks = node_disks.gated(tier)
            observed.note(name, took_s, self._world, disks)
        # Gates that passed are kept, no others: a disk that failed may have met a busy moment.
        if gate.passed and gate.checks:
            self._kept_gates.keep(gate, tier, place)
        return gate

    def _tried(self, tier: Tier, place: GatePlace, drain: bool) -> Gate:
        """A busy moment of this machine may fail an honest disk; a dishonest one fails on."""
        gate = self._measured(tier, place, False, drain)
        for _ in range(_RETRIES):
            if gate.passed or _is_drained(gate):
                break
            gate = self._measured(tier, place, False, drain)
        return gate

    def _measured(
        self, tier: Tier, place: GatePlace, thorough: bool, drain: bool
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


def _is_drained(gate: Gate) -> bool:
    """A disk that was loaded for so long in vain is not loaded again."""
    return any(check.quantity == "drained" for check in gate.checks)


def require_passed(gate: Gate) -> None:
    """GateError if the disk is not what its tier declares, or this machine was too busy to tell."""
    if gate.passed:
        return
    misses = "; ".join(_misses(gate))
    busy = " and ".join(busy_machines.reasons(gate))
    # A good disk can fail on a busy machine, so there the advice is another one.
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
