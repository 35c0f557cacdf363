"""What each disk of the catalog would have done with the observed demand: shares of the time, and
one of three words. They are no words of proof: nothing was loaded, and no such disk was touched.

D: the share of the time that asks for 95 % of a cap or more: what users see who wait for each I/O.
S: the share at the cap if all that waits is done later: what queues of work see. Always D ≤ S.
`would have carried`: the most that S can be is within the tolerance, on the disk of every node.
`would not`: the least that D can be is above it, on the disk of some node. Where nothing is known
of seconds, there is no D: then the least of S is taken, as for work that is all done later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from orchestrator.analysis.observed import calibration, censored, replay
from orchestrator.analysis.observed.censored import Censored
from orchestrator.analysis.observed.demand import Demand
from orchestrator.analysis.observed.disk_history import DiskHistory, OnDisk
from orchestrator.tier import Limits
from orchestrator.tier_catalog.candidates import Need, Purchase

Word = Literal["would have carried", "would not", "cannot be told"]


@dataclass(frozen=True)
class CandidateAnswer:
    """A candidate on the disks of all nodes. at_least: the observed disk held its load back, so
    that this one may have been asked for more. why: what keeps it from being told."""

    purchase: Purchase
    disks: tuple[OnDisk, ...]
    word: Word
    why: str = ""
    at_least: bool = False

    @property
    def worst(self) -> OnDisk:
        """The disk that is at the cap in most of the time."""
        return max(self.disks, key=lambda disk: disk.at_cap.high)

    @property
    def low(self) -> float:
        """The least that D can be on the disk that is asked most."""
        return max(disk.asking.low for disk in self.disks)

    @property
    def high(self) -> float:
        """The most that S can be on the disk that is asked most."""
        return self.worst.at_cap.high


@dataclass(frozen=True)
class Observed:
    """All that was read, and what it says. source: the limits of the observed disk, if declared,
    with its I/O unit. tolerance: the share of the time that may be at a cap."""

    histories: tuple[DiskHistory, ...]
    source: Censored
    tolerance: float

    @classmethod
    def of(
        cls, demands: Sequence[Demand], tolerance: float, source: tuple[Limits, int | None] | None
    ) -> Observed:
        caps, unit_bytes = (replay.caps(source[0]), source[1]) if source else ((), None)
        held = censored.held_back(demands, caps, unit_bytes)
        return cls(tuple(map(DiskHistory.of, demands)), held, tolerance)

    @property
    def unseen(self) -> float:
        """The share of the time that may have had seconds of another shape than all pieces."""
        coarse = [each.demand for each in self.histories if not each.demand.is_fine]
        return max((calibration.unseen_share(len(each.pieces)) for each in coarse), default=0.0)

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(why for each in self.histories for why in each.refused))

    def needs(self, units_bytes: Iterable[int | None]) -> dict[int | None, Need]:
        """For each I/O unit the least IOPS and bytes/s that carry the disk of every node."""
        needs = dict.fromkeys(units_bytes, (0.0, 0.0))
        for each in self.histories:
            for unit, (iops, rate) in needs.items():
                own_iops, own_rate = each.need(unit, self.tolerance)
                needs[unit] = max(iops, own_iops), max(rate, own_rate)
            each.forget()
        return needs

    def answers(self, purchases: Sequence[Purchase]) -> tuple[CandidateAnswer, ...]:
        limits = [
            (
                replay.caps(each.chosen.limits) + replay.caps(each.vm or Limits(), " of the VM"),
                each.unit_bytes,
            )
            for each in purchases
        ]
        disks: dict[object, list[OnDisk]] = {key: [] for key in limits}  # rows often share theirs
        for each in self.histories:
            for key in dict.fromkeys(limits):
                disks[key].append(each.of_caps(*key))
            each.forget()
        return tuple(
            self._told(purchase, key[0], tuple(disks[key]))
            for purchase, key in zip(purchases, limits, strict=True)
        )

    def _told(
        self, purchase: Purchase, caps: Sequence[replay.RateCap], disks: tuple[OnDisk, ...]
    ) -> CandidateAnswer:
        hidden = self.source.hides(caps)
        answer = CandidateAnswer(purchase, disks, "cannot be told", at_least=hidden)
        word, why = self._word(answer, caps)
        return replace(answer, word=word, why=why)

    def _word(self, answer: CandidateAnswer, caps: Sequence[replay.RateCap]) -> tuple[Word, str]:
        purchase = answer.purchase
        if purchase.lacks:
            return "cannot be told", purchase.lacks
        apart = {cap.counted for cap in caps} & {"reads", "writes"}
        if apart and not all(each.demand.apart for each in self.histories):
            return "cannot be told", "it limits reads and writes apart, which were read together"
        if any(each.is_blind for each in self.histories):
            return "cannot be told", ", ".join(self.refused)
        if answer.low > self.tolerance:
            return "would not", ""
        if answer.high > self.tolerance:
            return "cannot be told", ", ".join(self.refused) or "the bounds are on both sides"
        if answer.at_least and answer.high + self.source.share > self.tolerance:
            return "cannot be told", "the observed disk held its load back"
        if purchase.unit_bytes is None:
            return "cannot be told", "how large an I/O counts as one is not documented"
        return "would have carried", ""


def worth_measuring(
    answers: Sequence[CandidateAnswer], tolerance: float
) -> tuple[CandidateAnswer, ...]:
    """The two to rent, of answers from cheap to dear: the cheapest of which the most, and the
    cheapest of which the least is within the tolerance. If they are one, it and the next cheaper
    that is still open. Fewer, if there are none."""
    sold = [e for e in answers if e.purchase.chosen.tier.price and not e.purchase.lacks]
    may = [each for each in sold if each.low <= tolerance]
    carries = [each for each in sold if each.high <= tolerance]
    chosen = [*may[:1], *(each for each in carries[:1] if each not in may[:1])]
    if len(chosen) == 1:
        chosen = [*sold[: sold.index(chosen[0])][-1:], *chosen]
    return tuple(chosen)
