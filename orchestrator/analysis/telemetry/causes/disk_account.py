"""What an emulated disk itself counted of its limits, as a remark beside a cause. Pure.

Its own account outranks what rates of seconds look like: `disk_cap_use.binds` asks it first. A load
that reaches a limit for parts of a second is in no second's rate. docs/research/DISK-WORD.md has
how often that is so.
"""

from orchestrator import facts
from orchestrator.analysis.telemetry.causes import signs
from orchestrator.analysis.telemetry.causes.cap_causes import CAP_PCT
from orchestrator.analysis.telemetry.causes.phrases import percent
from orchestrator.analysis.telemetry.use import disk_cap_use
from orchestrator.analysis.telemetry.use.node_values import Evidence


def remark(values: Evidence, cause: facts.BottleneckCause) -> str:
    """What the disk counted, and whether that agrees with the rates of seconds; or empty."""
    held_back_pct = values.held_back_pct
    # Its cause says so itself.
    if held_back_pct is None or cause == "machine_bound":
        return ""
    counted = percent(min(held_back_pct, 100.0))
    used_pct = signs.nearest_cap(values)
    if held_back_pct >= disk_cap_use.HELD_BACK_PCT:
        text = f" By the disk's own count its limits held I/Os back for {counted} of their time."
        if used_pct < CAP_PCT:
            used = percent(used_pct)
            text += f" Its median second used {used} of a cap: I/Os came in bursts."
        return text
    if used_pct >= CAP_PCT:
        return (
            f" Its disk used {percent(used_pct)} of a cap in the median second. By the disk's own "
            f"count its limits held I/Os back for {counted} of their time: no cap is named."
        )
    return ""
