"""When disks are slow in the window of a load (`slow` of a workload), and in words. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.texts.prose import listed
from orchestrator.tier.slow_disk import SlowDisk
from orchestrator.units import format_number, format_seconds

# The scopes of figures before a disk is slow and while it is; here, because stored answers load
# no library of tables for them.
BEFORE_SLOW_SCOPE = "before_slow"
SLOW_SCOPE = "slow_disk"
# The rate of a shorter time is that of a few transactions.
SHORTEST_S = 1.0
# The load is as before when so many seconds in a row are.
RECOVERED_FOR_S = 5
# The disk is as declared a moment later than planned.
LEFT_TO_RECOVER_S = RECOVERED_FOR_S + 1.0


@dataclass(frozen=True)
class SlowPart:
    """A slow disk with its times, in seconds since the window's begin."""

    disk: SlowDisk
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class SlowTime:
    """From the first moment at which a disk is slow to the last, as of `SlowPart`."""

    begin_s: float
    end_s: float


def described(disk: SlowDisk) -> str:
    """A phrase, such as `node-3 at 10 % of its IOPS and bytes/s for 60 s`."""
    whose = disk.whose
    lasts = format_seconds(disk.lasts_s)
    amount = format_number(disk.amount)
    if disk.how == "share":
        return f"{whose} at {amount} % of its IOPS and bytes/s for {lasts}"
    if disk.how == "latency":
        return f"{whose} at {amount} times its latency for {lasts}"
    return f"{whose} stalled for {lasts}"


def all_described(disks: Sequence[SlowDisk]) -> str:
    """Several in a row, and when each begins if that is given; empty without any."""
    texts: list[str] = []
    for disk in disks:
        text = described(disk)
        if disk.after_s is not None:
            text = f"{text} from {format_seconds(disk.after_s)} on"
        texts.append(text)
    return listed(texts)


def parts(disks: Sequence[SlowDisk], measure_s: float) -> tuple[SlowPart, ...]:
    """In the order in which they begin. One without `after_s` is in the middle of the window."""
    timed: list[SlowPart] = []
    for disk in disks:
        begin_s = disk.after_s
        if begin_s is None:
            # The middle of the window has as much time before as after to compare with.
            begin_s = (measure_s - disk.lasts_s) / 2
        timed.append(SlowPart(disk, begin_s, begin_s + disk.lasts_s))
    return tuple(sorted(timed, key=_begin_s))


def slow_time(disks: Sequence[SlowDisk], measure_s: float) -> SlowTime | None:
    """The span of all of them; None where no disk is slow."""
    if not disks:
        return None
    timed = parts(disks, measure_s)
    end_s = max(part.end_s for part in timed)
    return SlowTime(timed[0].begin_s, end_s)


def _too_short(slow: SlowTime) -> Iterator[str]:
    least = format_seconds(SHORTEST_S)
    if 0 < slow.begin_s < SHORTEST_S:
        before = format_seconds(slow.begin_s)
        yield f"{before} before the slow disk are too few to compare with: give {least} or more"
    lasts_s = slow.end_s - slow.begin_s
    if lasts_s < SHORTEST_S:
        lasts = format_seconds(lasts_s)
        yield f"a slow disk of {lasts} is too short to be measured: give {least} or more"


def _begin_s(part: SlowPart) -> float:
    return part.begin_s


def mistakes(disks: Sequence[SlowDisk], measure_s: float) -> Iterator[str]:
    """Why these cannot be in a window of `measure_s`: each a sentence without its full stop.

    There is one time before, one meanwhile and one after: so no gap is between them.
    """
    slow = slow_time(disks, measure_s)
    if slow is not None:
        yield from _too_short(slow)
    end_by_disk: dict[str, float] = {}
    slow_until_s: float | None = None
    for part in parts(disks, measure_s):
        disk = part.disk.disk
        if part.begin_s <= 0 or part.end_s >= measure_s:
            window = format_seconds(measure_s)
            yield (
                f"{described(part.disk)} does not begin and end within the window of {window}"
            )
        if part.begin_s < end_by_disk.get(disk, 0.0):
            yield f"{part.disk.whose} would be slow twice at the same time"
        # Parts are in the order of their begins, so no later one can fill this gap.
        if slow_until_s is not None and part.begin_s > slow_until_s:
            gap = format_seconds(part.begin_s - slow_until_s)
            yield f"no disk would be slow for {gap} in between: let one follow the other"
        end_by_disk[disk] = part.end_s
        slow_until_s = max(part.end_s, slow_until_s or 0.0)
