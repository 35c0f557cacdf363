"""The cause within the system, from what sessions were seen to wait for. Pure.

It is what throughput follows most (`throughput_shares`). Where sessions were not seen, thresholds
decide (`inside_causes`), and then a cap that was reached at times. The table of cases:
docs/research/RULES.md."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.analysis.telemetry.causes import (
    inside_causes,
    signs,
    throughput_shares,
)
from orchestrator.analysis.telemetry.causes.cap_causes import (
    APART_PCT,
    AT_TIMES_PCT,
    cap_causes,
)
from orchestrator.analysis.telemetry.causes.cause import Cause, first_of
from orchestrator.analysis.telemetry.causes.outside_causes import HOST_PCT, client_bound
from orchestrator.analysis.telemetry.use.node_values import Evidence, assumed, largest
from orchestrator.facts import BottleneckCause
from orchestrator.tier import Tier

# Share of what throughput follows: below it more sessions at a time would do more.
MOST_PCT = 50.0


@dataclass(frozen=True)
class _FollowedCase:
    """What throughput follows most, and what it follows next, each with its share in %."""

    values: Evidence
    tier: Tier
    node: str
    most: BottleneckCause
    most_pct: float
    second: BottleneckCause
    second_pct: float


class _Ruling(NamedTuple):
    """`cause`: what is said where it applies; None if nothing within the system is a cause."""

    applies: Callable[[_FollowedCase], bool]
    cause: Callable[[_FollowedCase], Cause | None]


def cause_within(values: Evidence, tier: Tier, node: str) -> Cause | None:
    """The cause, by what most of the sessions' time is spent on, if sessions were seen.

    Otherwise by thresholds, and by a cap that was reached at times.
    """
    # One thread at a time leaves other cores free: what sessions wait for does not show that.
    follows: throughput_shares.Shares = {}
    if not inside_causes.is_single_core(values):
        follows = throughput_shares.follows(values)
    if not follows:
        return _by_thresholds(values, tier, node)
    case = _case(values, tier, node, follows)
    for ruling in _RULINGS:
        if ruling.applies(case):
            return ruling.cause(case)
    return _named(case)


def _by_thresholds(values: Evidence, tier: Tier, node: str) -> Cause | None:
    cause = first_of(inside_causes.RULES, values, node)
    if cause is not None:
        return cause
    at_times = cap_causes(values, tier, node, AT_TIMES_PCT)
    if at_times:
        return at_times[0]
    return None


def _case(
    values: Evidence, tier: Tier, node: str, follows: throughput_shares.Shares
) -> _FollowedCase:
    ranked = sorted(follows, key=follows.__getitem__, reverse=True)
    most = ranked[0]
    second = ranked[1]
    return _FollowedCase(
        values=values,
        tier=tier,
        node=node,
        most=most,
        most_pct=follows[most],
        second=second,
        second_pct=follows[second],
    )


# ------------------------------------------------------------------ the cases


def _nothing_is_full(case: _FollowedCase) -> bool:
    """Whether no CPU and no cap is full, also not in a quarter of the seconds."""
    values = case.values
    client_pct = 100 * signs.client_use(values)
    fullest_pct = largest(client_pct, signs.nearest_cap(values), values.cpu.cpu_pct)
    if fullest_pct >= signs.FREE_PCT:
        return False
    # Nothing else has room all the time beside one that is full at times.
    return not _cpu_has_turns(case) and not _a_cap_has_turns(case)


def _cpu_has_turns(case: _FollowedCase) -> bool:
    return (case.values.cpu.time_at_cpu_pct or 0.0) >= AT_TIMES_PCT


def _a_cap_has_turns(case: _FollowedCase) -> bool:
    return signs.at_a_cap_pct(case.values) >= AT_TIMES_PCT


def _more_sessions_would_help(case: _FollowedCase) -> bool:
    """Whether more sessions would raise throughput.

    They would if nothing is full and nothing but CPU is followed, or nothing for half of
    throughput.
    """
    if not _nothing_is_full(case) or not signs.has_room_for_sessions(case.values):
        return False
    if case.most == "cpu_bound":
        return True
    # A network whose speed is not known may be full.
    return case.most_pct < MOST_PCT and case.most != "network_bound"


def _too_few_sessions(case: _FollowedCase) -> Cause:
    if inside_causes.in_cache(case.values):
        return inside_causes.all_in_cache(case.values, case.node)
    return inside_causes.few_sessions(case.values, case.node)


def _cpu_is_free(case: _FollowedCase) -> bool:
    """It is followed, though it is not full; and yet more sessions would not help."""
    return case.most == "cpu_bound" and _nothing_is_full(case)


def _client_may_fill_a_core(case: _FollowedCase) -> bool:
    """Not the network, but a core of the load generator's, which others keep busy too."""
    if case.most != "network_bound" or case.values.client.client_core_pct is not None:
        return False
    return (case.values.client.client_cores or 0.0) >= signs.LEAST_OF_ONE_CORE


def _answers_wait_for_cpu(case: _FollowedCase) -> bool:
    """Not the network: who is to answer may wait for CPU, where the machine is full with what gives
    way, though not always at once, and what node and load generator use there is much of it."""
    if case.most != "network_bound":
        return False
    busy_pct = case.values.host.host_cpu_pct or 0.0
    with_low_pct = busy_pct + (case.values.host.low_priority_pct or 0.0)
    others_pct = assumed(case.values.host.other_cpu_pct, if_unknown=busy_pct)
    return with_low_pct >= HOST_PCT and busy_pct - others_pct >= AT_TIMES_PCT


def _nothing_to_name(case: _FollowedCase) -> None:
    return None


def _two_are_too_close(case: _FollowedCase) -> bool:
    return case.most_pct - case.second_pct <= APART_PCT


def _two_take_turns(case: _FollowedCase) -> bool:
    """A CPU and a cap, each full for a quarter of the seconds, and both followed."""
    if not {case.most, case.second} <= {"cpu_bound", *_CAPS}:
        return False
    full_in_turn = _cpu_has_turns(case) and _a_cap_has_turns(case)
    return full_in_turn and case.second_pct >= signs.TURN_PCT


def _two_limits(case: _FollowedCase) -> Cause:
    both_are_disk = ""
    if {case.most, case.second} <= {*_CAPS, "latency_bound"}:
        both_are_disk = (
            " Both are limits of the disk: a tier that raises both would help."
        )
    limits = f"{_TITLES[case.most]} and {_TITLES[case.second]}"
    by_how_much = f"{case.most_pct:.0f} % and {case.second_pct:.0f} %"
    text = (
        f"Two limits of {case.node} are too close, or took turns, to be told apart: {limits}. "
        f"Throughput follows them by about {by_how_much}.{both_are_disk}"
    )
    return Cause("unattributed", text)


# The order matters: the first that applies decides. Cases in which what is followed most is no
# cause come before those of two that are alike.
_RULINGS = (
    _Ruling(_more_sessions_would_help, _too_few_sessions),
    _Ruling(_cpu_is_free, _nothing_to_name),
    _Ruling(_client_may_fill_a_core, _nothing_to_name),
    _Ruling(_answers_wait_for_cpu, _nothing_to_name),
    _Ruling(_two_take_turns, _two_limits),
    _Ruling(_two_are_too_close, _two_limits),
)


# ------------------------------------------------------------------ the one that is named

_CAPS = ("iops_cap", "bandwidth_cap")
_TITLES: Mapping[BottleneckCause, str] = {
    "iops_cap": "the disk's IOPS",
    "bandwidth_cap": "the disk's bandwidth",
    "latency_bound": "the disk's latency",
    "wal_disk_bound": "the WAL's disk",
    "cpu_bound": "the node's CPU",
    "client_bound": "the load generator",
    "network_bound": "the network",
    "contention": "locks",
}
_SENTENCES: Mapping[BottleneckCause, Callable[[Evidence, str], Cause]] = {
    "latency_bound": inside_causes.latency_bound,
    "wal_disk_bound": inside_causes.wal_disk_bound,
    "cpu_bound": inside_causes.cpu_bound,
    "client_bound": client_bound,
    "network_bound": inside_causes.network_bound,
    "contention": inside_causes.contention,
}


def _named(case: _FollowedCase) -> Cause | None:
    """What throughput follows most, with its share and that of the next."""
    if case.most in _CAPS:
        cause = _binding_cap(case)
    else:
        cause = _SENTENCES[case.most](case.values, case.node)
    if cause is None:
        return None
    follows = f"Throughput follows it by about {case.most_pct:.0f} %"
    beside = f"{follows}, {_TITLES[case.second]} by {case.second_pct:.0f} %."
    ahead_pct = case.most_pct - case.second_pct
    return Cause(cause.name, f"{cause.text} {beside}", ahead_pct)


def _binding_cap(case: _FollowedCase) -> Cause | None:
    """The cap that holds the disk back, in however few seconds it is reached. None if no cap binds.
    The machine's cap or the shared cap may stand for the cap of the disk."""
    names = (case.most, "vm_cap", "shared_cap")
    # One that most of the seconds reached, or that is reported, says more than one of some.
    causes = cap_causes(case.values, case.tier, case.node, first=case.most)
    # Sessions were seen to wait for it, so it need not be reached in most of the seconds.
    causes += cap_causes(
        case.values, case.tier, case.node, at_times_pct=0.0, first=case.most
    )
    for cause in causes:
        if cause.name in names:
            return cause
    return None
