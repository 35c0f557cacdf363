"""The truth gates of a campaign: when each is due.

A gate is taken before a tier's first use. Those of real disks are also taken after the last run
and, as asked, between runs. `gate_taking` does it.
"""

from collections.abc import Callable, Mapping, Sequence

from orchestrator import model, powers
from orchestrator.design.checked_disks import checked_disks, disks_of
from orchestrator.run.disks import credit
from orchestrator.run.disks.gate_taking import GateTaker
from orchestrator.run.runs_ahead.schedule import Schedule
from orchestrator.tier import Gate, Tier


class Gates:
    """The truth gates of a campaign."""

    def __init__(
        self,
        taker: GateTaker,
        world: powers.World,
        schedule: Schedule,
        keep: Callable[[Sequence[Gate]], None],
        before: Sequence[Gate] = (),
    ) -> None:
        """`keep` gets all gates so far, each time that a gate was taken. `before`: the gates from
        before the campaign was gone on with."""
        self._taker = taker
        self._world = world
        self._keep = keep
        self._schedule = schedule
        self._in_force: dict[str, tuple[Tier, Gate]] = {}
        self._all = list(before)
        self.credit = credit.BurstCredit(world)

    def of(self, tier: Tier) -> Gate:
        """The gate in force, passed or not: of this campaign, kept from before, or taken now.

        One that failed is taken again: a busy minute costs one run.
        """
        in_force = self._in_force.get(disks_of(tier))
        if in_force is not None:
            _, gate = in_force
            if gate.passed:
                return gate
        drain = self._schedule.plan.disk_checks.drain
        gate = self._taker.take(
            tier, self._most_nodes(tier), drain=drain, may_be_kept=True, thorough=False
        )
        return self._add(tier, gate)

    def after(self, run: model.Run) -> None:
        """Takes the gates of real disks that are due after `run`.

        Whatever goes wrong with a gate is said and not raised: what was measured stands,
        and the next run of its tier takes it.
        """
        plan = self._schedule.plan
        is_last = self._schedule.is_last(run)
        is_due = (
            plan.disk_checks.gate_every
            and run.number % plan.disk_checks.gate_every == 0
        )
        if not is_last and not is_due:
            return
        # A copy, because a gate that is retaken changes the mapping.
        for tier, before in list(self._in_force.values()):
            # Credit is not used up behind the last run: nothing is measured for which it would
            # matter.
            drain = plan.disk_checks.drain and not is_last
            self._retake(tier, before, f"run {run.number}", drain)

    def complete(self, ended_s: Mapping[str, float]) -> None:
        """Takes the last gate of real disks where it is missing.

        That is so if the program was ended between it and the last run. `ended_s`: profile → when
        its last run ended.
        """
        # Gates stand in the order of time, so that the last of each tier counts.
        newest = {gate.tier: gate for gate in self._all}
        for disks, checked in checked_disks(self._schedule.plan).items():
            # Disks that this program has used had their last gate behind its last run.
            if disks in self._in_force:
                continue
            tier = checked.largest.tier
            before = newest.get(tier.name)
            if before is None:
                continue
            last_s = 0.0
            for profile in checked.profiles:
                last_s = max(last_s, ended_s.get(profile, 0.0))
            if before.taken_s < last_s:
                self._retake(tier, before, "the last run", drain=False)

    def _retake(self, tier: Tier, before: Gate, after: str, drain: bool) -> None:
        # Emulated disks are held to their limits by us; only a real one may have
        # changed since.
        if not tier.disk.is_real or not before.checks or not before.passed:
            return
        warn = self._world.progress.warn
        try:
            gate = self._taker.take(
                tier,
                self._most_nodes(tier),
                drain=drain,
                thorough=False,
                may_be_kept=False,
            )
            self._add(tier, gate)
        except Exception as error:
            # The next run of this tier takes a gate if none is in force.
            self._in_force.pop(disks_of(tier), None)
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
        self._in_force[disks_of(tier)] = tier, gate
        self._all.append(gate)
        # A gate shows whether the disk bursts, and uses up some of its credit.
        self.credit.checked(tier, gate)
        self._keep(self._all)
        return gate

    def _most_nodes(self, tier: Tier) -> int:
        """How many nodes the largest cluster has that the campaign runs on these disks."""
        checked = checked_disks(self._schedule.plan).get(disks_of(tier))
        if checked is None:
            return 1
        return checked.largest.cluster.nodes
