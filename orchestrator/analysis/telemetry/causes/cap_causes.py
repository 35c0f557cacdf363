"""Causes at a cap: of the disk, of its machine, or of a limit that several disks share. Pure.

When each of them holds: docs/research/RULES.md."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from orchestrator.analysis.telemetry.causes import signs
from orchestrator.analysis.telemetry.causes.cause import Cause
from orchestrator.analysis.telemetry.causes.outside_causes import CLIENT_PCT, HOST_PCT
from orchestrator.analysis.telemetry.causes.phrases import (
    instead_of_idle,
    machine_use,
    memory_too,
    number,
    percent,
    whose_word,
)
from orchestrator.analysis.telemetry.use import cap_binding, machine_cpu
from orchestrator.analysis.telemetry.use.node_values import (
    CAPS,
    CapName,
    Evidence,
    assumed,
    largest,
)
from orchestrator.facts import BottleneckCause
from orchestrator.tier import Tier, VmLimit
from orchestrator.units import format_bytes_per_s

CAP_PCT = 95.0  # median second, of the cap in force
OTHER_CAP_PCT = 90.0  # the other of the two caps, for one of them to be the limit
# Share of the seconds at a cap, for it to be named where nothing else is.
AT_TIMES_PCT = 25.0
APART_PCT = 5.0  # two limits within this of each other cannot be told apart


# ------------------------------------------------------------------ one cap


@dataclass(frozen=True)
class _Kind:
    """What is said of a cap, of IOPS or of bandwidth.

    less: what would not help.
    of_machine, of_machine_burst: which limit of a machine it may be instead.
    """

    name: CapName
    other: CapName
    cause: Literal["iops_cap", "bandwidth_cap"]
    title: str
    less: str
    of_machine: VmLimit
    of_machine_burst: VmLimit


_IOPS = _Kind(
    name="iops",
    other="bandwidth",
    cause="iops_cap",
    title="IOPS",
    less="",
    of_machine="IOPS",
    of_machine_burst="burst IOPS",
)
_BANDWIDTH = _Kind(
    name="bandwidth",
    other="iops",
    cause="bandwidth_cap",
    title="bandwidth",
    less="; more IOPS alone would not",
    of_machine="throughput",
    of_machine_burst="burst throughput",
)
_KINDS = (_IOPS, _BANDWIDTH)


def cap_causes(
    values: Evidence,
    tier: Tier,
    node: str,
    at_times_pct: float | None = None,
    first: BottleneckCause = "iops_cap",
) -> list[Cause]:
    """The caps that hold I/Os back, the disk's or its machine's; none beside which the other is
    nearly reached. `at_times_pct`: of the seconds, from which on one is enough; else the median
    second decides. `first`: the one of both that is asked first."""
    kinds = sorted(_KINDS, key=lambda kind: kind.cause != first)
    causes: list[Cause] = []
    for kind in kinds:
        cause = _cap_cause(kind, values, tier, node, at_times_pct)
        if cause is not None:
            causes.append(cause)
    return causes


def _cap_cause(
    kind: _Kind,
    values: Evidence,
    tier: Tier,
    node: str,
    at_times_pct: float | None,
) -> Cause | None:
    if _are_data_and_wal_at_cap(kind, values, tier, at_times_pct):
        return _data_and_wal_at_cap(kind, values, tier, node)
    # The time in which the median second lies, as for a cap that was declared.
    least_pct = assumed(at_times_pct, if_unknown=cap_binding.HALF_THE_TIME_PCT)
    is_at_cap = _is_at_cap(kind, values, at_times_pct)
    is_machine = cap_binding.is_held_back_by_machine(kind.name, values, least_pct)
    if is_machine and not is_at_cap:
        return _machine_below_caps(kind, values, node)
    cause: Cause | None = None
    if _is_at_shared_cap(kind, values):
        cause = _shared_cap(kind, values)
    elif is_at_cap:
        cause = _cap(kind, values, tier, node)
    elif cap_binding.is_held_back_by_disk(kind.name, values, least_pct):
        return _disk_below_caps(kind, values, node)
    if not _would_help_alone(kind, values):
        return None
    return cause


def _would_help_alone(kind: _Kind, values: Evidence) -> bool:
    """Whether to raise this cap alone would let more I/Os through."""
    if not cap_binding.binds(kind.name, values):
        return False
    other_pct = values.caps.of_cap_pct(kind.other) or 0.0
    # Another cap that is nearly full leaves next to nothing.
    return not CAP_PCT > other_pct >= OTHER_CAP_PCT


def _is_at_cap(kind: _Kind, values: Evidence, at_times_pct: float | None) -> bool:
    if at_times_pct is None:
        return (values.caps.of_cap_pct(kind.name) or 0.0) >= CAP_PCT
    return (values.caps.time_at_cap_pct(kind.name) or 0.0) >= at_times_pct


def _are_data_and_wal_at_cap(
    kind: _Kind, values: Evidence, tier: Tier, at_times_pct: float | None
) -> bool:
    """Whether the disks of data and log together are held back by what their machine lets
    through, and the data's disk is not at its own cap as often."""
    if tier.machine is None or not cap_binding.binds(kind.name, values):
        return False
    if at_times_pct is None:
        is_at_cap = (values.caps.of_machine_pct(kind.name) or 0.0) >= CAP_PCT
        return is_at_cap and not _is_at_cap(kind, values, at_times_pct)
    time_pct = values.caps.time_at_machine_pct(kind.name) or 0.0
    time_at_own_cap_pct = values.caps.time_at_cap_pct(kind.name) or 0.0
    return time_pct >= at_times_pct and time_pct > time_at_own_cap_pct


def _data_and_wal_at_cap(kind: _Kind, values: Evidence, tier: Tier, node: str) -> Cause:
    assert tier.machine is not None
    limit = format_bytes_per_s(tier.machine.limits.bytes_per_s or 0)
    if kind.name == "iops":
        limit = f"{number(tier.machine.limits.iops)} IOPS"
    together_pct = values.caps.of_machine_pct(kind.name) or 0.0
    reached = f"reached {percent(together_pct)} of {limit}"
    # The median second of a cap that is reached at times is below it.
    if together_pct < CAP_PCT:
        time = percent(values.caps.time_at_machine_pct(kind.name))
        reached = f"were at {limit} {time} of the time"
    waits = instead_of_idle(values, "each I/O")
    text = (
        f"The disks of {node} for data and WAL together {reached}{waits}. "
        f"Their machine ({tier.machine.vm}) lets no more through. A larger machine would help."
    )
    return Cause("vm_cap", text + memory_too(values), is_no_disk=True)


def _machine_below_caps(kind: _Kind, values: Evidence, node: str) -> Cause:
    """What the disk did then is what its machine lets through."""
    reach = values.reach(kind.name)
    exceeded = percent(reach.machine_pct)
    text = (
        f"The machine of {node} held its disk back: by {whose_word(reach)} its {kind.title} limit "
        f"was exceeded {exceeded} of the time{_rate(kind, values)}. A larger machine would help."
    )
    return Cause("vm_cap", text + memory_too(values))


def _disk_below_caps(kind: _Kind, values: Evidence, node: str) -> Cause:
    """The cause at a reported limit. `disk_account` remarks that no declared cap is reached."""
    rate = _rate(kind, values)
    reached = percent(values.reach(kind.name).disk_pct)
    text = (
        f"The disk of {node} was at its {kind.title} limit {reached} of the time, as its "
        f"provider reports{rate}. A tier with more {kind.title} would help{kind.less}."
    )
    return Cause(kind.cause, text + memory_too(values))


def _is_at_shared_cap(kind: _Kind, values: Evidence) -> bool:
    """All disks together are, and this one is at no cap of its own."""
    alone_pct = values.caps.of_cap_pct(kind.name) or 0.0
    together_pct = values.shared.of_cap_pct(kind.name) or 0.0
    return together_pct >= CAP_PCT > alone_pct


def _shared_cap(kind: _Kind, values: Evidence) -> Cause:
    together = percent(values.shared.of_cap_pct(kind.name))
    waits = instead_of_idle(values, "each I/O")
    text = (
        f"All disks together were at {together} of the {kind.title} that they share{waits}. It "
        "is a limit of an account or a machine. A tier with more would not help; a higher "
        "limit would."
    )
    return Cause("shared_cap", text + memory_too(values))


_BURST_TIME_PCT = 50.0  # share of the seconds above the base rate


def _cap(kind: _Kind, values: Evidence, tier: Tier, node: str) -> Cause:
    """The machine's, if that is what the tier's limit comes from."""
    vm_limit = _limit_of_vm(kind, values, tier)
    if vm_limit:
        helps = (
            f"That is the machine's limit ({vm_limit}): a larger machine would help."
        )
        text = _cap_text(kind, values, node, helps)
        return Cause("vm_cap", text)
    helps = f"A tier with more {kind.title} would help{kind.less}."
    return Cause(kind.cause, _cap_text(kind, values, node, helps))


def _limit_of_vm(kind: _Kind, values: Evidence, tier: Tier) -> str:
    """The machine's limit that is below the disk's, as the tier has it in words; or empty."""
    # Who reports whose limit was reached knows it; what is declared only lets it be guessed.
    owner = cap_binding.reported_owner(kind.name, values)
    if owner == "disk":
        return ""
    declared = _declared_limit_of_vm(kind, values, tier)
    if owner == "machine" and not declared:
        return f"{kind.title}, by {whose_word(values.reach(kind.name))}"
    return declared


def _declared_limit_of_vm(kind: _Kind, values: Evidence, tier: Tier) -> str:
    limit = kind.of_machine
    if _is_in_burst(values):
        limit = kind.of_machine_burst
    for cap in tier.origin.vm_caps:
        if cap.limit == limit:
            return cap.text
    return ""


def _is_in_burst(values: Evidence) -> bool:
    """Whether credit is left, and most seconds drew on it."""
    has_credit = (values.caps.burst_credit_left_pct or 0.0) > 0
    # What a moment below the base saves up in an empty bucket is no burst.
    above_pct = values.caps.time_above_base_pct
    return has_credit and (above_pct is None or above_pct >= _BURST_TIME_PCT)


def _cap_text(kind: _Kind, values: Evidence, node: str, helps: str) -> str:
    time_pct = values.caps.time_at_cap_pct(kind.name)
    advice = f"{helps}{memory_too(values)}"
    title = kind.title
    if _is_in_burst(values):
        title = f"burst's {title}"
    rate = _rate(kind, values)
    waits = instead_of_idle(values, "each I/O")
    # Where no seconds are known, what is used of the cap is a mean.
    if time_pct is None:
        used = percent(values.caps.of_cap_pct(kind.name))
        return (
            f"On average {node} used {used} of the {title} cap{rate}{waits}. {advice}"
        )
    if time_pct < AT_TIMES_PCT:
        return f"{_short_bursts(kind, values, node, title)} {advice}"
    time_text = percent(time_pct)
    return (
        f"At the {title} cap {time_text} of the time on {node}{rate}{waits}. {advice}"
    )


def _short_bursts(kind: _Kind, values: Evidence, node: str, title: str) -> str:
    """A cap that short bursts reach: the median second is below it, and I/Os queue all the same."""
    rate = _rate(kind, values)
    median = percent(values.caps.of_cap_pct(kind.name))
    waits = instead_of_idle(values, "each")
    queued = (
        f"I/Os queue on {node} although its median second has {median} of the {title} "
        f"cap{rate}{waits}"
    )
    bursts = "Bursts shorter than a second may reach it"
    return f"{queued}. {bursts}; `--confirm` tells."


def _rate(kind: _Kind, values: Evidence) -> str:
    """What the disk did, in brackets; empty if that is not known."""
    if kind.name == "iops" and values.disk.disk_iops:
        return f" ({number(values.disk.disk_iops)} IOPS)"
    if kind.name == "bandwidth" and values.disk.disk_bytes_per_s:
        return f" ({format_bytes_per_s(values.disk.disk_bytes_per_s)})"
    return ""


# ------------------------------------------------------------------ burst credit


def burst_exhausted(values: Evidence) -> Cause | None:
    # Set only where the rate fell to the base: as long as credit lasts nothing has run out.
    if values.caps.iops_after_fall is None:
        return None
    before = number(values.caps.iops_before_fall)
    after = number(values.caps.iops_after_fall)
    text = (
        f"Burst credit ran out while measuring: {before} IOPS before, {after} after. The mean "
        "describes neither. Measure with the bucket empty to see what the tier sustains."
    )
    return Cause("burst_exhausted", text)


# ------------------------------------------------------------------ a cap and something else


def both_caps(caps: Sequence[Cause], values: Evidence, node: str) -> Cause:
    """`caps`: of IOPS and of bandwidth."""
    first = caps[0]
    other = caps[1]
    if first.name == other.name:
        return _with_other_cap(first)
    raise_both = "They are limits of unlike owners. Only raising both would help."
    if first.name in _OF_A_DISK and other.name in _OF_A_DISK:
        raise_both = "The disk is the limit. Only a tier that raises both would help."
    iops = _reached_share(first, "iops", values)
    bandwidth = _reached_share(other, "bandwidth", values)
    text = (
        f"IOPS and bandwidth are both at their caps on {node} ({iops} and {bandwidth}). "
        f"{raise_both}"
    )
    return Cause("unattributed", text)


_OF_A_DISK = ("iops_cap", "bandwidth_cap")


def _with_other_cap(cap: Cause) -> Cause:
    """IOPS and bandwidth have one owner, the machine or all who share: that is the cause."""
    other = "IOPS and bandwidth are both at this limit: only more of both would help."
    return replace(cap, text=f"{cap.text} {other}")


def _reached_share(cause: Cause, cap: CapName, values: Evidence) -> str:
    """How much of a cap is used: of that which is full. Below all, what is reported of the time at
    a limit."""
    own_pct = values.caps.of_cap_pct(cap)
    used = percent(own_pct)
    is_at_own = (own_pct or 0.0) >= CAP_PCT
    if cause.name == "shared_cap" and not is_at_own:
        return f"{percent(values.shared.of_cap_pct(cap))} of what all disks share"
    of_machine_pct = values.caps.of_machine_pct(cap) or 0.0
    if cause.name == "vm_cap" and not is_at_own and of_machine_pct >= CAP_PCT:
        return f"{percent(of_machine_pct)} of what its machine lets through"
    if not cap_binding.is_held_back_as_reported(cap, values):
        return used
    return (
        f"{used}, and as reported at a limit {_reported_time(cap, values)} of the time"
    )


def _reported_time(cap: CapName, values: Evidence) -> str:
    reach = values.reach(cap)
    return percent(min(largest(reach.disk_pct, reach.machine_pct), 100.0))


def busy_cpu_beside(values: Evidence) -> Cause | None:
    """A disk at its cap beside a CPU as busy: which of them was the limit cannot be told."""
    cap_pct = min(signs.nearest_cap(values), 100.0)
    busiest_pct = largest(
        values.host.host_cpu_pct,
        values.client.client_machine_cpu_pct,
        values.client.client_cpu_pct,
        values.cpu.cpu_pct,
    )
    # Below its declared cap a disk is at a limit that is not known: nothing to measure from.
    is_less_busy = cap_pct >= CAP_PCT and cap_pct - busiest_pct > APART_PCT
    if is_less_busy or not _some_cpu_is_full(values):
        return None
    node_share = ""
    if values.cpu.cpu_pct:
        node_share = f"the node's CPU {percent(values.cpu.cpu_pct)} busy, "
    disk_share = _disk_share(cap_pct, values)
    machine = machine_use(values)
    text = (
        "Disk and CPU were both at their limit and cannot be told apart: "
        f"{disk_share}, {node_share}{machine}. A faster disk "
        "alone may not help."
    )
    return Cause("unattributed", text)


def _disk_share(cap_pct: float, values: Evidence) -> str:
    """How near to its limit the disk was: to its declared cap, or to one that is reported."""
    if cap_pct < CAP_PCT:
        for cap in CAPS:
            if cap_binding.is_held_back_as_reported(cap, values):
                return _reported_share(cap, cap_pct, values)
    return f"the disk at {percent(cap_pct)} of its cap"


def _reported_share(cap: CapName, cap_pct: float, values: Evidence) -> str:
    declared = ""
    if cap_pct:
        declared = f" (at {percent(cap_pct)} of its declared cap)"
    time = _reported_time(cap, values)
    word = whose_word(values.reach(cap))
    return f"by {word} the disk was held back {time} of the time{declared}"


def _some_cpu_is_full(values: Evidence) -> bool:
    # A whole machine, what load clients may use, and a node's limit have unlike thresholds.
    machines_pct = largest(
        values.host.host_cpu_pct, values.client.client_machine_cpu_pct
    )
    if machines_pct >= HOST_PCT:
        return True
    if (values.client.client_cpu_pct or 0.0) >= CLIENT_PCT:
        return True
    return (values.cpu.cpu_pct or 0.0) >= machine_cpu.CPU_PCT
