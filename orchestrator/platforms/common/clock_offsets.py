"""By how much the clock of another machine is off, from answers of the last minute."""

from orchestrator.powers import ClockOffset

# Two clocks of computers drift apart by some milliseconds a minute at most.
RECENT_S = 60.0


class RecentOffsets:
    """What answers showed of a clock within the last `RECENT_S`."""

    def __init__(self) -> None:
        self._seen: list[tuple[float, ClockOffset]] = []

    def add(self, offset: ClockOffset, at_s: float) -> None:
        """`at_s`: when it was seen, by a clock that is never set."""
        still_true = []
        for seen_s, seen in self._seen:
            # The fastest answer of the whole time would hide that clocks drift apart. An answer
            # that this one contradicts is of a time before the clock was set.
            is_recent = at_s - seen_s <= RECENT_S
            if is_recent and seen.may_equal(offset):
                still_true.append((seen_s, seen))
        still_true.append((at_s, offset))
        self._seen = still_true

    @property
    def best(self) -> ClockOffset | None:
        """The offset with the shortest way there and back; the latest of several."""
        best: ClockOffset | None = None
        for _, offset in self._seen:
            # The choice is that of NTP's clock filter (RFC 5905, section 10).
            if best is None or offset.within_s <= best.within_s:
                best = offset
        return best
