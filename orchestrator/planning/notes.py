"""What a plan says about itself beforehand: where it differs from what one buys or asks. Pure."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.keys.messages import message
from orchestrator.model import Note, Profile, Workload
from orchestrator.planning import costs, node_disks, plan, windows
from orchestrator.tier import Cgroup, ClassVolumes
from orchestrator.units import counted, gathered, listed

MANY_WINDOWS = "many windows"  # `windows` given as `many`, which has rules of its own


def of_tiers(profiles: Sequence[Profile]) -> Iterator[Note]:
    """What about a tier differs from the disk one buys, and about tiers from each other."""
    for profile in profiles:
        tier = profile.tier
        if isinstance(tier.disk, Cgroup):
            yield Note(
                "approximate limits", message("approximate limits"), profile.name
            )
        if tier.disk.burst_time_scale != 1:
            text = f"burst times are divided by {tier.disk.burst_time_scale:g}"
            yield Note("burst scaled", text, profile.name)
    if text := unlike_disks(profiles):
        yield Note("unlike disks", text)


def unlike_disks(profiles: Sequence[Profile]) -> str:
    """Why part of each difference may be the way in which tiers are made; empty if that is one."""
    real = [profile.name for profile in profiles if profile.tier.disk.is_real]
    others = [profile.name for profile in profiles if not profile.tier.disk.is_real]
    if real and others:
        return message("some disks are real", real=listed(real), others=listed(others))
    ways = dict.fromkeys(profile.tier.disk.enforcement for profile in profiles)
    return message("different ways", ways=", ".join(ways)) if len(ways) > 1 else ""


def of_scale(workloads: Sequence[Workload], scale: str) -> Iterator[Note]:
    """Workloads that have no sizes of their own at `scale`."""
    for workload in workloads:
        if workload.scale != scale:
            text = (
                f"{workload.name} runs at scale {workload.scale}, which is its {scale}"
            )
            yield Note("other scale", text)


def of_disks_alone(
    profiles: Sequence[Profile], workloads: Sequence[Workload]
) -> Iterator[Note]:
    """Which disk a workload measures that measures a disk alone, where a tier has several real ones
    that may differ. `profiles`: with all their nodes."""
    alone = [workload.name for workload in workloads if workload.database is not None]
    for profile in profiles if alone else ():
        tier = plan.on_nodes(profile, profile.cluster.nodes).tier
        others = node_disks.count(tier) - 1
        if tier.disk.is_real and others > 0:
            first = tier.disk.of_nodes.get("node-1")
            where = (
                f" ({':'.join(filter(None, (first.machine, first.data)))})"
                if first
                else ""
            )
            values = {"alone": listed(alone), "others": counted(others, "other disk")}
            text = message("one disk of several", **values, where=where)
            yield Note("one disk of several", text, profile.name)


def of_options(
    given: Collection[str],
    profiles: Sequence[Profile],
    workloads: Sequence[Workload] = (),
    unpriced: Sequence[Profile] = (),
) -> Iterator[Note]:
    """Each option `given`, by its field's name (or MANY_WINDOWS), that has no effect on some of
    these. UsageError where it has none at all, and whoever gave it would take the figures for
    others than they are. `unpriced`: the profiles without the list of `--prices`."""
    own = {profile.name: profile.tier.price for profile in unpriced}
    same, only = "the list has no other price of its disk", "it is the only workload"
    owned, reads = "nothing of it is rented", "it writes nothing"
    rules: tuple[tuple[str, str, Sequence[Any], Callable[[Any], str], bool], ...] = (
        ("database", "--db", workloads, _alone, False),
        ("nodes", "--nodes", profiles, _of_others, True),
        ("nodes", "--nodes", workloads, _alone, False),
        ("node_size", "--node-size", profiles, _of_others, True),
        ("node_size", "--node-size", workloads, _alone, False),
        ("data", "--data", workloads, _alone, False),
        (
            "weights",
            "--weights",
            workloads,
            lambda _: only * (len(workloads) == 1),
            False,
        ),
        ("clients", "--clients", workloads, _alone, False),
        (
            "windows",
            "--windows",
            workloads,
            lambda w: _alone(w) or reads * (not w.writes),
            False,
        ),
        (
            MANY_WINDOWS,
            "--windows many",
            workloads,
            lambda w: _alone(w) or windows.stays(w),
            False,
        ),
        ("gate_every", "--gate-every", profiles, _not_checked, True),
        ("drain", "--drain", profiles, _not_drained, True),
        ("confirm", "--confirm", profiles, _nothing_to_change, True),
        (
            "price_list",
            "--prices",
            profiles,
            lambda p: same * (p.tier.price == own[p.name]),
            False,
        ),
        (
            "max_cost",
            costs.MAX_COST,
            profiles,
            lambda p: owned * (not costs.is_rented(p)),
            False,
        ),
    )
    for field, option, things, why, refused in rules:
        names = gathered((why(thing), thing.name) for thing in things if field in given)
        used = names.pop("", [])
        texts = [
            f"{option} has no effect on {listed(of)}: {why}"
            for why, of in names.items()
        ]
        if texts and refused and not used:
            variable = option.strip("-").upper().replace("-", "_")  # of make
            raise UsageError(
                "; ".join(texts), advice=f"leave out {option} ({variable}=)"
            )
        yield from (Note("no effect", text) for text in texts)


def _alone(load: Workload) -> str:
    return "it measures one disk alone, without a database" if load.database else ""


def _of_others(profile: Profile) -> str:
    return (
        "others run this cluster" if profile.cluster.database == plan.EXISTING else ""
    )


def _not_checked(profile: Profile) -> str:
    why = "" if profile.tier.disk.is_real else "its disks are not real ones"
    return _of_others(profile) or why


def _not_drained(profile: Profile) -> str:
    if isinstance(profile.tier.disk, ClassVolumes):
        return "each run rents volumes of its own, whose credit is not known"
    return _not_checked(profile) or (
        "" if profile.tier.limits.burst else "it declares no `burst`"
    )


def _nothing_to_change(profile: Profile) -> str:
    rented = isinstance(profile.tier.disk, ClassVolumes)
    return _of_others(profile) or (
        "the limits of its volumes are the provider's" if rented else ""
    )
