"""What each disk of the catalog would have done with the observed demand: shares of the time, and
one of three words. They are no words of proof: nothing was loaded, and no such disk was touched.

Words go by `at_cap_least` and `at_cap_most` of `OnDisk`, which has all shares of the time: another
disk is asked for another sum, so its load may be smaller or larger by SLACK.
docs/research/OBSERVE.md says why a capped source bounds only larger disks.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from orchestrator.extensions.observe.candidates import IO_BYTES, Purchase
from orchestrator.extensions.observe.judging import (
    contradicted_counts,
    counted_limits,
    node_sums,
    rate_caps,
    reported_limits,
    source_caps,
)
from orchestrator.extensions.observe.judging.answered_observation import (
    AnsweredObservation,
    CandidateAnswer,
    DiskRead,
    ReachedLimits,
    Word,
)
from orchestrator.extensions.observe.judging.counted_limits import CountedLimits
from orchestrator.extensions.observe.judging.demand import Demand
from orchestrator.extensions.observe.judging.drawn_seconds import (
    LEAST_COVERAGE,
    by_second,
    refusals,
)
from orchestrator.extensions.observe.judging.rate_caps import Caps, Counted, RateCap
from orchestrator.extensions.observe.judging.share_bounds import (
    OnDisk,
    behind_machine,
    forget,
    judged,
    of_worst,
)
from orchestrator.tier import Limits


class _Sold(NamedTuple):
    """Up to `most` is sold, and so much of the tolerance is for the least that is needed."""

    counted: Counted
    most: float
    part: float


# Two limits may be reached in unlike seconds, so they share the tolerance.
_SOLD = (_Sold("ios", 1e6, 0.9), _Sold("bytes", 2e10, 0.1))
_FINE = 4096  # rates between one and the most, of which the least is sought


# ------------------------------------------------------------------ an observation


@dataclass(frozen=True)
class Observed(ReachedLimits):
    """All that was read.

    tolerance: the share of the time that may be at a cap.
    counted: what the disks themselves counted of their limits, if all of it is known.
    """

    demands: tuple[Demand, ...]
    tolerance: float
    counted: CountedLimits | None = None

    @classmethod
    def of(
        cls, demands: Sequence[Demand], tolerance: float, source: Limits | None = None
    ) -> Self:
        """source: the limits of each observed device, if they are known."""
        beyond = 0.0
        reported = reported_limits.shares(demands)
        contradiction = contradicted_counts.contradiction(demands, source)
        counted = None
        if not contradiction:
            counted = CountedLimits.of(demands, source)
        machine_share = counted_limits.machine_share(demands)
        if source:
            shares = source_caps.shares_at_known(source, demands)
            beyond = source_caps.share_beyond(source, demands)
        else:
            shares = source_caps.shares_at_seeming(demands)
        forget(demands)
        observed = cls(
            tuple(demands),
            tolerance,
            source=tuple(cap for cap, share in shares.items() if share),
            inferred=source is None,
            # This is the most: nobody knows whether two caps were reached in the same seconds.
            held_back=min(1.0, sum(shares.values())),
            reported=tuple(reported),
            reported_share=min(1.0, sum(reported.values())),
            beyond=beyond,
            machine_share=machine_share,
            contradiction=contradiction,
        )
        if counted is None:
            return observed
        return observed.by_count(counted)

    def by_count(self, counted: CountedLimits) -> Self:
        """The disks' own count in the place of what sums say of the time at their caps."""
        return replace(
            self,
            counted=counted,
            source=counted.reached,
            held_back=counted.share,
            reported=tuple(cap for cap in self.reported if cap.is_of_machine),
            reported_share=self.machine_share or 0.0,
        )

    @property
    def denied(self) -> Caps:
        """What readings look like as a cap, which by the provider's word is none of the disk's."""
        if not self.inferred:
            return ()
        denied: list[RateCap] = []
        for cap in self.source:
            if reported_limits.denied(self.demands, cap):
                denied.append(cap)
        return tuple(denied)

    @cached_property
    def refused(self) -> str:
        """Why seconds cannot be told, if so."""
        reasons: dict[str, None] = {}
        for demand in self.demands:
            reasons.update(dict.fromkeys(refusals(demand)))
        return "; ".join(reasons)

    @property
    def needs(self) -> tuple[float, ...]:
        """The least IOPS, of I/Os of IO_BYTES at most, and bytes/s that carry every disk."""
        needs = [0.0] * len(_SOLD)
        # Disk by disk, because what is computed of each is larger than its readings.
        for demand in self.demands:
            for place, sold in enumerate(_SOLD):
                least = _least(demand, sold, sold.part * self.tolerance)
                needs[place] = max(needs[place], least)
            forget([demand])
        return tuple(needs)

    def against(self, purchases: Sequence[Purchase]) -> AnsweredObservation:
        """What is told of the observation, with an answer for each purchase."""
        # Node by node, because what is drawn for each is in memory once.
        by_node: list[Sequence[OnDisk]] = []
        for disks in node_sums.by_node(self.demands):
            by_node.append(_on_node(disks, purchases))
            forget(disks)
            by_second.cache_clear()
        answers = []
        for place, purchase in enumerate(purchases):
            worst = of_worst([on_disks[place] for on_disks in by_node])
            limits = tuple(rate_caps.caps(purchase.tier.limits, purchase.vm))
            # Disks of one node share its machine's caps, of which each disk's count says nothing.
            if self.counted is not None and len(by_node) == len(self.demands):
                worst = self.counted.settled(worst, limits, purchase.unit_bytes)
            answers.append(self._answer(purchase, limits, worst))
        return self.with_answers(answers)

    def with_answers(self, answers: Sequence[CandidateAnswer]) -> AnsweredObservation:
        """What is told of it, which holds no readings."""
        return AnsweredObservation(
            disks=tuple(DiskRead.of(demand) for demand in self.demands),
            tolerance=self.tolerance,
            source=self.source,
            inferred=self.inferred,
            held_back=self.held_back,
            reported=self.reported,
            reported_share=self.reported_share,
            denied=self.denied,
            counted_share=self._counted_share,
            machine_share=self.machine_share,
            contradiction=self.contradiction,
            beyond=self.beyond,
            refused=self.refused,
            answers=tuple(answers),
        )

    @property
    def _counted_share(self) -> float | None:
        if self.counted is None:
            return None
        return self.counted.share

    def _answer(
        self, purchase: Purchase, caps: Sequence[RateCap], on: OnDisk
    ) -> CandidateAnswer:
        is_hidden = self._is_hidden(caps)
        word, why = self._word(purchase, on, is_hidden)
        return CandidateAnswer(purchase, on, word, why, is_hidden)

    def _is_hidden(self, caps: Sequence[RateCap]) -> bool:
        """Whether some of the demand on these caps was not seen.

        This is so if some cap was reached, and none of these caps is as low.
        """
        # What passes the larger limit first leaves a smaller one as it was. Only what a larger disk
        # would have been asked for is hidden.
        reached_caps = (*self.source, *self.reported)
        return not all(_limit_as_low(caps, reached) for reached in reached_caps)

    def _word(
        self, purchase: Purchase, on: OnDisk, is_hidden: bool
    ) -> tuple[Word, str]:
        """The word for a purchase, with why it holds or is doubted."""
        coverage = min(demand.coverage for demand in self.demands)
        # Checks go from what is known of the disk, to what was read, to what follows. The first
        # that bars a word is the reason for it.
        if purchase.lacks:
            return "cannot be told", purchase.lacks
        if coverage < LEAST_COVERAGE and self.refused:
            return "cannot be told", self.refused
        if on.at_cap_least > self.tolerance:
            return "would not", ""
        if on.at_cap_most > self.tolerance:
            why = self.refused or "the bounds are on both sides"
            return "cannot be told", why
        # What was hidden while the observed disk was at its cap may all fall on this one.
        at_own_cap = max(self.held_back, self.reported_share)
        was_held_back = is_hidden and on.at_cap_most + at_own_cap > self.tolerance
        if was_held_back:
            return "cannot be told", self._held_back_in_words
        # The larger I/Os may count as several, which no reading tells.
        if purchase.unit_bytes is None:
            why = "how large an I/O counts as one is not documented"
            return "cannot be told", why
        return "would have carried", ""

    @property
    def _held_back_in_words(self) -> str:
        if self.counted is not None:
            return "the observed disk counted that it held its load back"
        if self.reported_share > self.tolerance:
            return "its provider says that the observed disk held its load back"
        if self.inferred:
            return "the observed disk seems to be at its limit: name it with --source"
        return "the observed disk held its load back"


def _on_node(
    disks: Sequence[Demand], purchases: Sequence[Purchase]
) -> Sequence[OnDisk]:
    """What each purchase would have done in the place of each disk of a node.

    Several disks share their machine's caps.
    """
    if len(disks) == 1:
        (alone,) = disks
        return [_in_place_of(alone, purchase, purchase.vm) for purchase in purchases]
    sums = node_sums.of_nodes(disks)
    return [_worst_of_several(disks, sums, purchase) for purchase in purchases]


def _worst_of_several(
    disks: Sequence[Demand], sums: Sequence[Demand], purchase: Purchase
) -> OnDisk:
    """The worst of a node's disks, behind their machine. sums: of what all of them were asked."""
    apart: list[OnDisk] = []
    for disk in disks:
        apart.append(_in_place_of(disk, purchase, None))
    machine = tuple(rate_caps.machine_caps(purchase.vm))
    if not machine:
        return of_worst(apart)
    behind: list[OnDisk] = []
    # Each disk alone too: the sum is known only while all were read, and the machine was asked for
    # no less than any of them.
    for demand in (*sums, *disks):
        behind.append(judged(demand, machine, purchase.unit_bytes))
    return behind_machine(of_worst(apart), of_worst(behind))


def _in_place_of(disk: Demand, purchase: Purchase, vm: Limits | None) -> OnDisk:
    limits = tuple(rate_caps.caps(purchase.tier.limits, vm))
    return judged(disk, limits, purchase.unit_bytes)


def _limit_as_low(caps: Iterable[RateCap], reached: RateCap) -> bool:
    return any(cap.within(reached) for cap in caps)


# ------------------------------------------------------------------ what is needed, and worth it


def _least(demand: Demand, sold: _Sold, share: float) -> float:
    """The least rate with which no more than this share is at the cap, or `most`."""
    rates = np.geomspace(1.0, sold.most, _FINE).tolist()

    # A higher cap is never reached for longer, so the first that carries is found by halving.
    def carries(rate: float) -> bool:
        cap = RateCap("", sold.counted, rate, rate)
        return judged(demand, (cap,), IO_BYTES).at_cap_most <= share

    place = bisect_left(rates, x=True, key=carries)
    return float(rates[min(place, _FINE - 1)])
