"""What stays of an observation that was judged: its answers, and how it was read. Pure.

The readings of a week are hundreds of megabytes, and drawing the charts of a page takes as much
memory again. So the readings are dropped before the page is drawn, and `DiskRead` keeps what the
page says of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, Self

from orchestrator.extensions.observe.candidates import Purchase
from orchestrator.extensions.observe.judging.demand import Demand
from orchestrator.extensions.observe.judging.drawn_seconds import has_enough_pieces
from orchestrator.extensions.observe.judging.rate_caps import Caps, RateCap
from orchestrator.extensions.observe.judging.share_bounds import OnDisk
from orchestrator.units import gathered

Word = Literal["would have carried", "would not", "cannot be told"]


@dataclass(frozen=True)
class CandidateAnswer:
    """Whether one purchase would have carried the observed load.

    on: how much of the time the load would have been at the purchase's caps.
    word: the answer; why: the reason why there is none, or why it is doubted.
    at_least: the observed disk held its load back, or seems to have. On a faster disk the load may
        have been larger than what was observed.
    """

    purchase: Purchase
    on: OnDisk
    word: Word
    why: str
    at_least: bool


@dataclass(frozen=True)
class DiskRead:
    """How a disk of a node was read.

    begin_s, end_s: Unix times of the first reading and of the last.
    resolution_s: the usual time between two readings; is_fine: whether it is so short that it shows
        what the disk does in a second.
    pieces: how many stretches were also read second by second, because the readings are coarse;
        has_enough_pieces: whether they are enough to judge single seconds.
    coverage: the share of the time that was read.
    left_out, impossible, unlikely: as of `Demand`.
    """

    node: str
    device: str
    begin_s: float
    end_s: float
    resolution_s: float
    is_fine: bool
    pieces: int
    has_enough_pieces: bool
    coverage: float
    left_out: int
    impossible: int
    unlikely: tuple[str, ...]

    @classmethod
    def of(cls, demand: Demand) -> Self:
        return cls(
            node=demand.node,
            device=demand.device,
            begin_s=float(demand.begin_s[0]),
            end_s=float(demand.end_s[-1]),
            resolution_s=demand.resolution_s,
            is_fine=demand.is_fine,
            pieces=len(demand.pieces),
            has_enough_pieces=demand.is_fine or has_enough_pieces(demand),
            coverage=demand.coverage,
            left_out=demand.left_out,
            impossible=demand.impossible,
            unlikely=demand.unlikely,
        )


@dataclass(frozen=True, kw_only=True)
class ReachedLimits:
    """The limits at which the observed disks were, or seem to have been.

    source: the caps of the observed disks that they may have reached, which nobody declared if it
        is `inferred`; held_back: the share of the time at them, at most.
    reported: the caps at which they were by their provider's own word, in reported_share of the
        time, at most. machine_share: for which share of the time their machines' limits held them
        back, by the disks' own count; None: not counted. contradiction: why the count is not
        believed, in words.
    beyond: the share of the time with more than twice what the observed disk is said to do.
    """

    source: Caps = ()
    inferred: bool = True
    held_back: float = 0.0
    reported: Caps = ()
    reported_share: float = 0.0
    machine_share: float | None = None
    contradiction: str = ""
    beyond: float = 0.0


@dataclass(frozen=True)
class AnsweredObservation(ReachedLimits):
    """What a page says of an observation: how each disk was read, the limits that it reached, and
    what each candidate would have done.

    tolerance, denied, refused: as of `Observed`.
    counted_share: for which share of the time a limit of the disk or its machine held it back, by
        the disk's own count; None: it is not known of all limits and all the time.
    answers: one for each candidate, ordered from cheap to dear.
    """

    disks: tuple[DiskRead, ...]
    tolerance: float
    denied: Caps
    counted_share: float | None
    refused: str
    answers: tuple[CandidateAnswer, ...]

    @property
    def reported_of_disks(self) -> Caps:
        """The reported limits that are the disks' own, and not their machines'."""
        of_disks: list[RateCap] = []
        for cap in self.reported:
            if not cap.is_of_machine:
                of_disks.append(cap)
        return tuple(of_disks)

    @property
    def apart_s(self) -> float:
        """How far apart readings are, in seconds, where only sums are known; 0 if that is nowhere
        so."""
        apart_s = 0.0
        for disk in self.disks:
            # Seconds are drawn if there are enough pieces, so that sums are not all that is known.
            if not disk.has_enough_pieces:
                apart_s = max(apart_s, disk.resolution_s)
        return apart_s

    @property
    def worth(self) -> Mapping[str, Sequence[CandidateAnswer]]:
        """What is worth measuring, by provider; empty if nothing is."""
        by_provider = gathered(
            (answer.purchase.provider, answer) for answer in self.answers
        )
        worth: dict[str, Sequence[CandidateAnswer]] = {}
        for provider, answers in by_provider.items():
            pair = worth_measuring(answers, self.tolerance)
            if pair:
                worth[provider] = pair
        return worth


def worth_measuring(
    answers: Sequence[CandidateAnswer], tolerance: float
) -> Sequence[CandidateAnswer]:
    """The two answers to rent and measure, from answers ordered from cheap to dear.

    The first is the cheapest answer whose lowest share is within the tolerance. The second is the
    cheapest answer whose highest share is. If both are the same answer, a cheaper answer is added:
    the one least at its cap. If no answer qualifies, there are fewer.
    """
    sold = [answer for answer in answers if _is_sold(answer.purchase)]
    may_carry = [answer for answer in sold if answer.on.at_cap_least <= tolerance]
    if not may_carry:
        return []
    cheapest = may_carry[0]
    place = sold.index(cheapest)
    carrying = [
        answer for answer in sold[place + 1 :] if answer.on.at_cap_most <= tolerance
    ]
    # Somewhere between these two is the cheapest that does: both ends are worth a measurement.
    if cheapest.on.at_cap_most > tolerance:
        return [cheapest, *carrying[:1]]
    if not place:
        return [cheapest]
    # The cheapest carries the load by both figures. What is open is whether a cheaper one does too.
    nearest = min(sold[:place], key=attrgetter("on.at_cap_most"))
    return [nearest, cheapest]


def _is_sold(purchase: Purchase) -> bool:
    """Whether the purchase has a price, and all that must be known to rent it is known."""
    return bool(purchase.tier.price) and not purchase.lacks
