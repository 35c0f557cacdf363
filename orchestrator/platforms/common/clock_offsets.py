"""By how much the clock of another machine is off, from answers of the last minute."""

from orchestrator.powers import ClockOffset, Moment

# Two clocks of computers drift apart by some milliseconds a minute at most.
RECENT_S = 60.0


class RecentOffsets:
    """What answers showed of a clock within the last `RECENT_S`."""

    def __init__(self) -> None:
        self._seen: list[tuple[Moment, ClockOffset]] = []

    def add(self, offset: ClockOffset, at: Moment) -> None:
        """`at`: when it was seen."""
        still_true = []
        for seen_at, seen in self._seen:
            # The fastest answer of the whole time would hide that clocks drift apart. An answer
            # that this one contradicts is of a time before the clock was set.
            is_recent = at - seen_at <= RECENT_S
            if is_recent and seen.may_equal(offset):
                still_true.append((seen_at, seen))
        still_true.append((at, offset))
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
