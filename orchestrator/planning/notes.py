"""What a plan says about itself beforehand: where it differs from what one buys or asks. Pure."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from orchestrator.design import (
    cost_limit,
    costs,
    enforcement,
    node_disks,
    slow_disks,
    used_profiles,
)
from orchestrator.design.detailed_notes import detailed_note
from orchestrator.design.disk_matrix import names_without_database
from orchestrator.design.factors import EXISTING
from orchestrator.errors import UsageError
from orchestrator.model import Note, Profile, Workload
from orchestrator.planning import windows
from orchestrator.texts.prose import counted, listed
from orchestrator.tier import Tier
from orchestrator.units import format_seconds, gathered

MANY_WINDOWS = "many windows"  # `windows` given as `many`, which has rules of its own


# ------------------------------------------------------------------ tiers and scales


def of_tiers(profiles: Sequence[Profile]) -> Iterator[Note]:
    """What about a tier differs from the disk one buys, and about tiers from each other."""
    for profile in profiles:
        tier = profile.tier
        if tier.disk.burst_time_scale != 1:
            text = f"burst times are divided by {tier.disk.burst_time_scale:g}"
            yield Note("burst scaled", text, profile.name)
    unlike = enforcement.unlike_disks(profiles)
    if unlike is not None:
        yield unlike


def of_scale(workloads: Sequence[Workload], scale: str) -> Iterator[Note]:
    """Workloads that have no sizes of their own at `scale`."""
    for workload in workloads:
        if workload.scale != scale:
            text = (
                f"{workload.name} runs at scale {workload.scale}, which is its {scale}"
            )
            yield Note("other scale", text)


def of_slow_disks(workloads: Sequence[Workload]) -> Iterator[Note]:
    """Workloads whose window ends too soon after a slow disk to see the load recover."""
    for workload in workloads:
        slow = slow_disks.slow_time(workload.slow, workload.measure_s)
        if slow is None:
            continue
        left_s = workload.measure_s - slow.end_s
        # A window without any time after it is refused where it is checked.
        if 0 < left_s < slow_disks.LEFT_TO_RECOVER_S:
            least = format_seconds(slow_disks.LEFT_TO_RECOVER_S)
            ends = f"ends {format_seconds(left_s)} after the slow disk"
            yield detailed_note(
                "other",
                f"the window of {workload.name} {ends}",
                f"To see the load recover it takes {least}: give it a longer `measure`",
            )


def of_disks_alone(
    profiles: Sequence[Profile], workloads: Sequence[Workload]
) -> Iterator[Note]:
    """Which disk a workload measures that measures a disk alone, where a tier has several real ones
    that may differ. `profiles`: with all their nodes."""
    alone = names_without_database(workloads)
    if not alone:
        return
    for profile in profiles:
        tier = used_profiles.on_nodes(profile, profile.cluster.nodes).tier
        others = node_disks.count(tier) - 1
        if not tier.disk.is_real or others <= 0:
            continue
        not_measured = f"not the {counted(others, 'other disk')} of this tier"
        yield detailed_note(
            "one disk of several",
            f"{listed(alone)} measures the disk of node-1's data{_first_disk(tier)} "
            f"and {not_measured}",
            "Another disk may be slower",
            profile.name,
        )


def _first_disk(tier: Tier) -> str:
    """Where the first node's disk is, if the tier names it."""
    first = tier.disk.of_nodes.get("node-1")
    if first is None:
        return ""
    if not first.machine:
        return f" ({first.data})"
    return f" ({first.machine}:{first.data})"


# ------------------------------------------------------------------ options


@dataclass(frozen=True)
class _Rule:
    """A rule for an option of the command that may have no effect."""

    # Name of the request's field.
    field: str
    option: str
    # The name of each profile or workload that the option is about → why it has no effect there,
    # or an empty text.
    reasons: Mapping[str, str]
    # An option that has no effect on any of them is refused, not noted.
    is_refused: bool = False


def of_options(
    given: Collection[str],
    profiles: Sequence[Profile],
    workloads: Sequence[Workload] = (),
    unpriced: Sequence[Profile] = (),
) -> Iterator[Note]:
    """Options that were `given` (their fields) and have no effect on some of what is planned, each
    with the reason. `unpriced`: the profiles without the list of prices. UsageError where one that
    asks for more of the disks has an effect on none: then it was meant for others."""
    for rule in _rules(profiles, workloads, unpriced):
        if rule.field not in given:
            continue
        texts = list(_without_effect(rule))
        has_effect = "" in rule.reasons.values()
        if texts and rule.is_refused and not has_effect:
            raise _has_no_effect(rule.option, texts)
        for text in texts:
            yield Note("no effect", text)


def _without_effect(rule: _Rule) -> Iterator[str]:
    """On what the option has no effect: a text for each reason."""
    names_by_reason = gathered((reason, name) for name, reason in rule.reasons.items())
    for reason, names in names_by_reason.items():
        if reason:
            yield f"{rule.option} has no effect on {listed(names)}: {reason}"


def _has_no_effect(option: str, texts: Sequence[str]) -> UsageError:
    variable = option.strip("-").upper().replace("-", "_")  # the variable of make
    return UsageError("; ".join(texts), advice=f"leave out {option} ({variable}=)")


def _rules(
    profiles: Sequence[Profile],
    workloads: Sequence[Workload],
    unpriced: Sequence[Profile],
) -> Iterator[_Rule]:
    """The rules, in the order in which they are shown."""
    alone = _reasons(workloads, _alone)
    existing = _reasons(profiles, _why_existing)
    yield _Rule("database", "--db", alone)
    # Two rules: it is refused where all clusters are others', and noted of disks alone.
    yield _Rule("nodes", "--nodes", existing, is_refused=True)
    yield _Rule("nodes", "--nodes", alone)
    yield _Rule("node_size", "--node-size", existing, is_refused=True)
    yield _Rule("node_size", "--node-size", alone)
    yield _Rule("data", "--data", alone)
    yield _Rule("weights", "--weights", _not_weighed(workloads))
    yield _Rule("clients", "--clients", alone)
    yield _Rule("windows", "--windows", _reasons(workloads, _window_stays))
    not_many = _reasons(workloads, _no_many_windows)
    yield _Rule(MANY_WINDOWS, "--windows many", not_many)
    # Refused, because who asks for more of the disks and gets nothing meant other disks.
    not_checked = _reasons(profiles, _not_checked)
    yield _Rule("gate_every", "--gate-every", not_checked, is_refused=True)
    not_drained = _reasons(profiles, _not_drained)
    yield _Rule("drain", "--drain", not_drained, is_refused=True)
    unchanged = _reasons(profiles, _nothing_to_change)
    yield _Rule("confirm", "--confirm", unchanged, is_refused=True)
    yield _Rule("price_list", "--prices", _same_prices(profiles, unpriced))
    yield _Rule("max_cost", cost_limit.MAX_COST, _reasons(profiles, _not_rented))


Planned = TypeVar("Planned", Profile, Workload)


def _reasons(
    things: Sequence[Planned], why: Callable[[Planned], str]
) -> dict[str, str]:
    return {thing.name: why(thing) for thing in things}


# Why an option has no effect on a profile or workload; an empty text where it has one.


def _alone(load: Workload) -> str:
    if load.database:
        return "it measures one disk alone, without a database"
    return ""


def _not_weighed(workloads: Sequence[Workload]) -> dict[str, str]:
    reason = ""
    if len(workloads) == 1:
        reason = "it is the only workload"
    return {load.name: reason for load in workloads}


def _window_stays(load: Workload) -> str:
    # Checkpoints are of what was written; without any a longer window shows no more.
    if not load.database and not load.writes:
        return "it writes nothing"
    return _alone(load)


def _no_many_windows(load: Workload) -> str:
    return _alone(load) or windows.stays(load)


def _why_existing(profile: Profile) -> str:
    if profile.cluster.database == EXISTING:
        return "others run this cluster"
    return ""


def _not_checked(profile: Profile) -> str:
    if profile.cluster.database != EXISTING and not profile.tier.disk.is_real:
        return "its disks are not real ones"
    return _why_existing(profile)


def _not_drained(profile: Profile) -> str:
    if profile.tier.disk.is_rented_for_each_run:
        return "each run rents volumes of its own, whose credit is not known"
    not_checked = _not_checked(profile)
    if not not_checked and not profile.tier.limits.burst:
        return "it declares no `burst`"
    return not_checked


def _nothing_to_change(profile: Profile) -> str:
    is_others = profile.cluster.database == EXISTING
    if not is_others and profile.tier.disk.is_rented_for_each_run:
        return "the limits of its volumes are the provider's"
    return _why_existing(profile)


def _not_rented(profile: Profile) -> str:
    if costs.is_rented(profile):
        return ""
    return "nothing of it is rented"


def _same_prices(
    profiles: Sequence[Profile], unpriced: Sequence[Profile]
) -> dict[str, str]:
    """For each profile, why the list of prices has no effect on it; an empty text if it has one.

    `unpriced`: the profiles as they are without the list.
    """
    prices = {profile.name: profile.tier.price for profile in unpriced}
    reasons = {profile.name: "" for profile in profiles}
    for profile in profiles:
        if profile.tier.price == prices.get(profile.name):
            reasons[profile.name] = "the list has no other price of its disk"
    return reasons
