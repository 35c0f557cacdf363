"""What a disk itself counted of its limits, or its provider reports, as a remark beside a cause.
Pure.

Its own account outranks what rates of seconds look like: `cap_binding.binds` asks it first. A load
that reaches a limit for parts of a second is in no second's rate. docs/research/DISK-WORD.md has
how often that is so of emulated disks. Of EBS volumes only what is documented is known.
"""

from collections.abc import Mapping

from orchestrator import facts
from orchestrator.analysis.telemetry.causes import signs
from orchestrator.analysis.telemetry.causes.cap_causes import CAP_PCT
from orchestrator.analysis.telemetry.causes.phrases import percent, whose_word
from orchestrator.analysis.telemetry.use import cap_binding
from orchestrator.analysis.telemetry.use.node_values import (
    CAPS,
    CapName,
    Evidence,
    highest,
)


def remark(values: Evidence, cause: facts.BottleneckCause) -> str:
    """What the disk counted, and whether that agrees with the rates of seconds; or empty."""
    if values.caps.held_back_pct is None:
        return _of_reported(values) + _of_log(values)
    return _of_emulated(values, values.caps.held_back_pct, cause)


def _of_emulated(
    values: Evidence, held_back_pct: float, cause: facts.BottleneckCause
) -> str:
    # Its cause says so itself.
    if cause == "machine_bound":
        return ""
    counted = percent(min(held_back_pct, 100.0))
    used_pct = signs.nearest_cap(values)
    if held_back_pct >= cap_binding.HELD_BACK_PCT:
        when = ""
        if values.caps.time_held_back_pct is not None:
            when = f", in {percent(values.caps.time_held_back_pct)} of the seconds"
        held_back = f"its limits held I/Os back for {counted} of their time{when}"
        text = f" The disk counted that {held_back}."
        if used_pct < CAP_PCT:
            used = percent(used_pct)
            text += f" Its median second used {used} of a cap: I/Os came in bursts."
        return text
    if used_pct >= CAP_PCT:
        return (
            f" Its disk used {percent(used_pct)} of a cap in the median second. But the "
            f"disk counted that its limits held I/Os back for {counted} of their time. So "
            "no cap is named."
        )
    return ""


_TITLES: Mapping[CapName, str] = {"iops": "IOPS", "bandwidth": "bandwidth"}


def _of_reported(values: Evidence) -> str:
    """What an EBS volume counted, or else its provider reports, of the time above its limits: not
    how long I/Os took."""
    shares_pct: list[float | None] = []
    for cap in CAPS:
        reach = values.reach(cap)
        shares_pct += [reach.disk_pct, reach.machine_pct]
    most_pct = highest(shares_pct)
    if most_pct is None:
        return ""
    if most_pct >= cap_binding.HELD_BACK_PCT:
        return _exceeded(values)
    # Of a limit that is not known nothing is said.
    if signs.nearest_cap(values) < CAP_PCT or None in shares_pct:
        return ""
    return _not_exceeded(values, most_pct)


def _of_log(values: Evidence) -> str:
    """What a provider reports of the WAL's own disk, of each limit that held I/Os back."""
    limits: list[str] = []
    for cap in CAPS:
        share_pct = values.report.of_wal_pct(cap)
        if share_pct is not None and share_pct >= cap_binding.HELD_BACK_PCT:
            share = percent(min(share_pct, 100.0))
            limits.append(f"{_TITLES[cap]} for {share}")
    if not limits:
        return ""
    return (
        f" By its provider's report demand on the WAL's own disk was above its "
        f"{' and '.join(limits)} of the time."
    )


def _exceeded(values: Evidence) -> str:
    word = whose_word(values.reach("iops"))
    exceeded = " and ".join(_exceeded_limits(values))
    text = f" By {word} demand was above {exceeded} of the time."
    used_pct = signs.nearest_cap(values)
    # 0: no cap is declared, so there is nothing to compare.
    if 0 < used_pct < CAP_PCT:
        text += (
            f" Its median second used {percent(used_pct)} of a cap: I/Os came in bursts, or the "
            "limit is below the one declared."
        )
    return text


def _not_exceeded(values: Evidence, most_pct: float) -> str:
    """Where the median second was at a cap all the same."""
    reach = values.reach("iops")
    text = (
        f" Its disk used {percent(signs.nearest_cap(values))} of a cap in the median second. By "
        f"{whose_word(reach)} demand was above a limit for {percent(most_pct)} of the time"
    )
    if reach.source == "volume":
        return f"{text}: no cap is named."
    return f"{text}: the declared limit may be below the real one."


def _exceeded_limits(values: Evidence) -> list[str]:
    """`the volume's IOPS for 40 %`, of each limit that held I/Os back."""
    limits: list[str] = []
    for cap in CAPS:
        reach = values.reach(cap)
        disk = "disk"
        if reach.source == "volume":
            disk = "volume"
        shares_pct = {disk: reach.disk_pct, "machine": reach.machine_pct}
        for owner, share_pct in shares_pct.items():
            if share_pct is not None and share_pct >= cap_binding.HELD_BACK_PCT:
                share = percent(min(share_pct, 100.0))
                limits.append(f"the {owner}'s {_TITLES[cap]} for {share}")
    return limits
