"""Using up the burst credit of a real disk by load, so that its base limits can be measured.

A bucket of (peak − base) × duration is empty after `duration` at the peak. There may be one for
I/Os and one for bytes; a block size at which both are at their peaks empties them together."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from orchestrator import powers
from orchestrator.tier import GateCheck, Tier
from orchestrator.tiers.common.gate import expected
from orchestrator.units import format_quantity, format_seconds

_MOST = 1.05  # factor of the base rate: as much as a gate allows
_BLOCKS_BYTES = (4096, 262_144)  # blocks of the checks of IOPS and of bytes/s
_STEPS = 60  # steps that empty a full bucket; no shorter than _SHORTEST_STEP_S
_SHORTEST_STEP_S = 1.0
# A disk that is fast for so many times its declared burst, and 10 s, has more than it declares.
_PATIENCE = 1.5
_MORE_PATIENCE_S = 10.0
_IDLE_S = 1.5  # time between two jobs of fio, in which a disk earns credit

# Block in bytes, seconds → requests of that size a second.
Measure = Callable[[int, float], float]


class Credit:
    """The burst credit of one real disk, used up before its base limits are measured. `base`: the
    tier without burst. `ramp_s`: for which the peak uses up what was earned between two jobs.
    `drained`, as the gate's `device` keeps it: how long each block size was asked for until the
    disk was at its base; `fell`: it was."""

    def __init__(self, tier: Tier, world: powers.World) -> None:
        self._tier = tier
        self._world = world
        self._peak = expected.at_peak(tier)
        self.drained: list[dict[str, Any]] = []
        self.base = tier.without_burst()
        # A job may read with small or with large blocks: the longer ramp holds for both.
        self.ramp_s = max(self._earned_s(block) for block in _BLOCKS_BYTES)

    def _rates(self, block_bytes: int) -> tuple[float, float]:
        """Base and peak in blocks a second; alike if the tier cannot burst with such blocks."""
        base_per_s = expected.cap_per_s(self.base, block_bytes)
        peak_per_s = expected.cap_per_s(self._peak, block_bytes)
        return base_per_s or 0.0, peak_per_s or 0.0

    def _earned_s(self, block_bytes: int) -> float:
        """How long the peak uses up what is earned at rest between two jobs."""
        base_per_s, peak_per_s = self._rates(block_bytes)
        if peak_per_s <= base_per_s:
            return 0.0
        # A bucket earns its base rate at rest. At the peak it loses what the peak is above the
        # base.
        return _IDLE_S * base_per_s / (peak_per_s - base_per_s)

    def use_up(self, blocks_bytes: Sequence[int], measure: Measure) -> None:
        """Loads the disk with each block size until it is no more than 5 % above its base. One
        that did not come down once is not loaded again."""
        for block in blocks_bytes:
            base_per_s, peak_per_s = self._rates(block)
            # A disk that stays fast fails the gate as it is;
            # each further load would last the full patience.
            always_fell = all(load["fell"] for load in self.drained)
            if peak_per_s > _MOST * base_per_s and always_fell:
                load = self._until_base(block, base_per_s, measure)
                self.drained.append({"block_bytes": block, **load})

    def _until_base(
        self, block_bytes: int, base_per_s: float, measure: Measure
    ) -> dict[str, Any]:
        duration_s = 0.0
        if self._tier.limits.burst:
            duration_s = self._tier.limits.burst.duration_s
        clock = self._world.clock
        text = f"using up the burst credit of {self._tier.title}"
        started_s = clock.monotonic()
        while True:
            left_s = duration_s - (clock.monotonic() - started_s)
            self._world.progress.step(text, max(0.0, left_s) or None)
            # Short steps: once the disk has fallen, a sixtieth of the time is lost at most.
            per_s = measure(block_bytes, max(_SHORTEST_STEP_S, duration_s / _STEPS))
            took_s = clock.monotonic() - started_s
            fell = per_s <= _MOST * base_per_s
            too_late = took_s > _PATIENCE * duration_s + _MORE_PATIENCE_S
            if fell or too_late:
                return {
                    "took_s": round(took_s, 1),
                    "per_s": per_s,
                    "base_per_s": base_per_s,
                    "fell": fell,
                }

    def never_fell(self) -> Iterator[GateCheck]:
        """A failed check for the block size at which the disk never came down to its base."""
        for load in self.drained:
            if not load["fell"]:
                took = format_seconds(load["took_s"])
                size_kib = load["block_bytes"] // 1024
                yield GateCheck(
                    f"rate after {took} of load that should have used up the burst credit"
                    f", {size_kib} KiB random read",
                    "1/s",
                    declared=load["base_per_s"],
                    measured=load["per_s"],
                    tolerance_pct=100 * (_MOST - 1),
                    verdict="faster than declared (cache or burst)",
                    quantity="drained",
                )


def at_both_peaks_bytes(tier: Tier) -> tuple[int, ...]:
    """The block that empties both buckets together; none if there is only one bucket."""
    burst = tier.limits.burst
    if burst is None or not burst.iops or not burst.bytes_per_s:
        return ()
    smallest, largest = _BLOCKS_BYTES
    # Both rates are at their peaks with bytes/s ÷ IOPS as the block. fio takes multiples of 4 KiB.
    multiples = burst.bytes_per_s // burst.iops // smallest
    # Beyond 256 KiB a provider counts a request as several I/Os.
    return (min(max(multiples * smallest, smallest), largest),)


def announcement(tier: Tier) -> str:
    """What is said before: how long it takes at most."""
    burst = tier.limits.burst
    longest = "no time"
    peaks: list[str] = []
    if burst:
        longest = format_seconds(burst.duration_s)
        if burst.iops:
            peaks.append(format_quantity(burst.iops, "1/s"))
        if burst.bytes_per_s:
            peaks.append(format_quantity(burst.bytes_per_s, "bytes/s"))
    return (
        f"the burst credit of {tier.title} is used up first. Each disk is loaded until it "
        "falls to its base rate. If the load reaches the peak "
        f"({' and '.join(peaks)}), this takes {longest} at most"
    )
