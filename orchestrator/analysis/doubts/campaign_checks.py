"""Doubts about a whole campaign, each with what to do about it. Pure."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from orchestrator.analysis import comparability, differences, results
from orchestrator.analysis.conclusions import Delta
from orchestrator.analysis.doubts.effects import is_only_told, limits_the_answer
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.results import Results
from orchestrator.design import (
    enforcement,
    latency_quantiles,
    purchase_prices,
    rehearsal,
)
from orchestrator.model import Doubt, Profile
from orchestrator.tier import DiskKind, Price
from orchestrator.tier_catalog import prices
from orchestrator.units import format_change, gathered, listed

# Two repetitions answer only where tiers are far apart (docs/METHOD.md).
GOOD_REPETITIONS = 5
OLD_PRICE_DAYS = 365


def rehearsed(campaign: Results) -> Doubts:
    """First of all: then there are no figures to doubt one by one."""
    for cell in results.cells(campaign):
        if rehearsal.is_rehearsed(cell.profile, cell.workload):
            yield limits_the_answer("rehearsal", rehearsal.WARNING, rehearsal.ADVICE)
            return


# ------------------------------------------------------------------ cells


def cells(campaign: Results) -> Doubts:
    """Doubts about cells that were measured once, or not at all."""
    planned = list(results.cells(campaign))
    single = [cell.title for cell in planned if len(cell.finished) == 1]
    if single:
        yield _measured_once(campaign, single)
    for cell in planned:
        if cell.missing:
            was_excluded = bool(cell.excluded)
            yield _missing_cell(cell.title, cell.without_figures, was_excluded)


def _measured_once(campaign: Results, titles: Sequence[str]) -> Doubt:
    if campaign.plan.repetitions == 1:
        return _one_repetition()
    return _one_repetition_of_some(titles)


# ------------------------------------------------------------------ disks


def not_the_real_disk(campaign: Results) -> Doubts:
    profiles = campaign.plan.tiers
    by_kind = gathered((profile.tier.disk.kind, profile) for profile in profiles)
    for disk, profiles_of_kind in by_kind.items():
        doubt = _NOT_THE_REAL_DISK.get(disk)
        if doubt:
            names = ", ".join([profile.name for profile in profiles_of_kind])
            yield doubt(names, _tails(profiles_of_kind))
    unlike = enforcement.unlike_disks(profiles)
    if unlike:
        yield _unlike_disks(unlike)


def _tails(profiles: Sequence[Profile]) -> str:
    """What is known of their latencies' distribution, `; latency of gp3, io2: constant`."""
    by_tail = gathered(
        (latency_quantiles.described(profile.tier), profile.name)
        for profile in profiles
    )
    texts = ""
    for tail, names in by_tail.items():
        if tail:
            texts += f"; latency of {', '.join(names)}: {tail}"
    return texts


def vm_caps(campaign: Results) -> Doubts:
    for profile in campaign.plan.tiers:
        for cap in profile.tier.origin.vm_caps:
            yield _vm_caps_the_disk(profile.name, cap)


# ------------------------------------------------------------------ prices


@dataclass(frozen=True)
class _Priced:
    """What is bought, and its price if it has one."""

    what: str
    price: Price | None


def old_price(campaign: Results) -> Doubts:
    """A price of more than a year before the campaign began, or of no date."""
    began_s = results.began_s(campaign)
    if began_s is None:
        return
    today = datetime.fromtimestamp(began_s, UTC).date()
    # The price of machines matters only where it takes part in the comparison.
    with_vms, _, _ = purchase_prices.compare_prices(campaign.plan.tiers)
    for profile in campaign.plan.tiers:
        for bought in _bought(profile, with_vms):
            if bought.price and _is_old(bought.price, today):
                yield _old_price(bought.what, bought.price.as_of, today)


def unverified_price(campaign: Results) -> Doubts:
    """Prices that were read in a copy, of all tiers together."""
    with_vms, _, _ = purchase_prices.compare_prices(campaign.plan.tiers)
    names: list[str] = []
    for profile in campaign.plan.tiers:
        for bought in _bought(profile, with_vms):
            if bought.price and bought.price.verified is False:
                names.append(bought.what)
    if names:
        yield _unverified_price(names)


def _bought(profile: Profile, with_vms: bool) -> Iterator[_Priced]:
    yield _Priced(profile.name, profile.tier.price)
    if profile.tier.wal:
        yield _Priced(f"{profile.name}'s WAL", profile.tier.wal.price)
    if with_vms:
        yield _Priced(f"{profile.name}'s machines", profile.cluster.vm_price)


def _is_old(price: Price, today: date) -> bool:
    # A price without a date that can be read may be of any year.
    read = prices.read_on(price.as_of)
    return read is None or (today - read).days > OLD_PRICE_DAYS


# ------------------------------------------------------------------ what was not as asked, or alike


def said_beforehand(campaign: Results) -> Doubts:
    for note in campaign.plan.notes:
        if note.kind == "fewer nodes":
            yield _fewer_nodes(str(note))
        elif note.kind == "nodes as asked":
            yield _nodes_as_asked(str(note))
        elif note.kind == "one disk of several":
            yield _one_disk_of_several(str(note))
        elif note.kind == "gone on despite":
            yield _gone_on_despite(str(note))
        elif note.kind == "published figures":
            yield _published_figures(note.text)


def comparable(campaign: Results) -> Doubts:
    """A doubt if runs are not comparable, or if that is not known."""
    runs_of: dict[str, list[results.RunData]] = {}
    for cell in results.cells(campaign):
        if cell.finished:
            runs_of.setdefault(cell.workload.name, []).extend(cell.finished)
    for workload, runs in runs_of.items():
        unlike = comparability.among(runs)
        if unlike:
            yield _unlike_runs(workload, differences.in_words(unlike))
    unknown = differences.not_known([run.record for run in campaign.done])
    if unknown:
        yield _not_compared(unknown)


# ------------------------------------------------------------------ the noise floor


def noise_floor(deltas: Sequence[Delta], floor: Sequence[Delta]) -> Doubts:
    """Doubts about one tier that was measured under two names (`--aa`).

    `floor`: the change of the twin against the baseline.
    """
    for equal in floor:
        if _tells_apart(equal):
            yield _equal_tiers_told_apart(_words(equal), equal.verdict)
    within: list[str] = []
    for equal in floor:
        difference = format_change(equal.change_pct)
        for delta in deltas:
            if _is_within(delta, equal):
                within.append(
                    f"{_words(delta)}, where equal tiers differed by {difference}"
                )
    if within:
        yield _below_the_noise_floor(within)


def _tells_apart(delta: Delta) -> bool:
    return delta.verdict in ("better", "worse")


def _is_within(delta: Delta, equal: Delta) -> bool:
    """Whether a change that counts is no larger than that of one tier under two names."""
    if not _tells_apart(delta):
        return False
    figure = (delta.workload, delta.metric, delta.scope)
    if figure != (equal.workload, equal.metric, equal.scope):
        return False
    return _size(delta) <= _size(equal)


def _size(delta: Delta) -> float:
    """How large a change is."""
    # On logarithms, so that a ratio and its inverse are equally large.
    ratio = 1 + delta.change_pct / 100
    if ratio > 0:
        return abs(math.log(ratio))
    return math.inf


def _words(delta: Delta) -> str:
    scope = ""
    if delta.scope != "all":
        scope = f" of {delta.scope}"
    sides = f"{delta.contender} against {delta.baseline}, {delta.workload}"
    return f"{sides}, {delta.metric}{scope} {format_change(delta.change_pct)}"


# ------------------------------------------------------------------ in words


def _published_figures(text: str) -> Doubt:
    return is_only_told(
        "published figures",
        text,
        advice="compare them with the source; `tierbench compare` measures such a plan here",
    )


def _one_repetition() -> Doubt:
    return is_only_told(
        "one repetition",
        "every cell was measured once: a difference cannot be told from chance",
        advice=f"repeat with --repeats {GOOD_REPETITIONS}",
    )


def _one_repetition_of_some(cells: Sequence[str]) -> Doubt:
    return is_only_told(
        "one repetition",
        f"only one repetition finished of {', '.join(cells)}: it has no interval",
        advice=f"repeat with --repeats {GOOD_REPETITIONS}",
    )


def _missing_cell(cell: str, without: str, was_excluded: bool) -> Doubt:
    """`without`: what it lacks, "no finished run"."""
    cause = "its run's failure"
    if was_excluded:
        cause = "why its runs were excluded"
    return is_only_told(
        "missing cell",
        f"{cell} has {without} and is left out of every comparison",
        advice=f"see {cause}, then run the campaign again",
    )


def _emulated_tier(tiers: str, tails: str) -> Doubt:
    """`tails`: what is known of their latencies' distribution, `; latency of gp3: …`."""
    return is_only_told(
        "emulated tier",
        f"the disks of {tiers} are emulated on this machine: limits are the tier's, absolute "
        f"figures are this machine's{tails}",
        advice="use the differences between tiers; for absolute figures run on the "
        "provider's disks (`enforcement: mounted`)",
    )


def _none_tier(tiers: str, tails: str) -> Doubt:
    return limits_the_answer(
        "none tier",
        f"the disks of {tiers} are not limited: their figures say nothing about a tier"
        f"{tails}",
        advice="use `enforcement: emulated`, or `mounted` on the tier's own disk",
    )


def _unlike_disks(text: str) -> Doubt:
    return limits_the_answer(
        "unlike disks", text, advice="give all profiles the same `enforcement`"
    )


def _vm_caps_the_disk(profile: str, cap: str) -> Doubt:
    return is_only_told(
        "VM caps the disk",
        f"{profile}: {cap}",
        advice="take a larger VM or a smaller disk: the VM cannot use what is bought above "
        "its cap",
    )


def _old_price(what: str, as_of: str, today: date) -> Doubt:
    return is_only_told(
        "old price",
        f"the price of {what} is as of {as_of}; the campaign began on {today}",
        advice="`tierbench prices update` asks the provider; or give `price` in the profile",
    )


def _unverified_price(names: Sequence[str]) -> Doubt:
    return is_only_told(
        "price not verified",
        f"the price of {listed(names)} was read in somebody's copy of the provider's list",
        advice="`tierbench prices update` asks the provider; or give `price` in the profile",
    )


def _fewer_nodes(note: str) -> Doubt:
    return limits_the_answer(
        "fewer nodes",
        note,
        advice="run on a machine with two cores per node, or set --nodes to start them here",
    )


def _nodes_as_asked(note: str) -> Doubt:
    return limits_the_answer(
        "fewer nodes",
        note,
        advice="leave --nodes out on a machine with two cores per node",
    )


def _one_disk_of_several(note: str) -> Doubt:
    return is_only_told(
        "one disk of several",
        note,
        advice="give each disk a profile of its own (`path`) and compare them",
    )


def _gone_on_despite(note: str) -> Doubt:
    return limits_the_answer(
        "gone on despite",
        note,
        advice="run the campaign again: this may make runs before and after it differ",
    )


def _unlike_runs(workload: str, unlike: Sequence[str]) -> Doubt:
    return is_only_told(
        "unlike runs",
        f"runs of {workload} differ in more than the tier, so they are not compared: "
        f"{'; '.join(unlike)}",
        advice="make the profiles equal in everything but `tier`, and run them in one "
        "campaign",
    )


def _not_compared(unknown: Sequence[str]) -> Doubt:
    return limits_the_answer(
        "not compared",
        "clusters that others run may differ in more than their disks. Not known of all of "
        f"them: {'; '.join(unknown)}",
        advice="declare the same `node_exporters`, `masters` and `tservers` for each of them",
    )


def _equal_tiers_told_apart(change: str, verdict: str) -> Doubt:
    return is_only_told(
        "equal tiers told apart",
        "this campaign found a difference between two names of one tier: "
        f"{change}, {verdict}",
        advice="something else than the tier changed between runs. Look for drift in the "
        "charts, and for other work of the machine. Then measure with more repetitions",
    )


def _below_the_noise_floor(changes: Sequence[str]) -> Doubt:
    return is_only_told(
        "below the noise floor",
        f"no larger than the difference between equal tiers: {'; '.join(changes)}",
        advice="do not act on these changes; more repetitions narrow both intervals",
    )


# Of each kind of disk that is not the tier's own: the doubt, by its profiles and their tails.
_NOT_THE_REAL_DISK: Mapping[DiskKind, Callable[[str, str], Doubt]] = {
    "emulated": _emulated_tier,
    "none": _none_tier,
}
