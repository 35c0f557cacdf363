"""Doubts about a whole campaign, each with what to do about it. Pure."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import dropwhile, pairwise

from orchestrator.analysis import comparability, differences, results
from orchestrator.analysis.conclusions import Delta
from orchestrator.analysis.doubts.effects import is_only_told, limits_the_answer
from orchestrator.analysis.results import Results
from orchestrator.model import Doubt
from orchestrator.planning import costs, latency_quantiles, notes, rehearsal
from orchestrator.tier import DiskKind, Gate
from orchestrator.tier_catalog import prices
from orchestrator.units import format_change, format_quantity, gathered

GOOD_REPETITIONS = 5
OLD_PRICE_DAYS = 365
# what a gate allows, so a later one may differ by as much
_RATE_PCT = 5.0
_LATENCY_PCT = 15.0
_JITTER_S = 100e-6  # what the processor's waking alone may change of a latency
_RATES = ("iops_read", "iops_write", "iops_mixed", "bandwidth_read", "bandwidth_write")
_LATENCIES = ("latency_read", "latency_write")
_ALLOWED_PCT = dict.fromkeys(_RATES, _RATE_PCT) | dict.fromkeys(
    _LATENCIES, _LATENCY_PCT
)


def rehearsed(campaign: Results) -> Iterator[Doubt]:
    """First of all: then there are no figures to doubt one by one."""
    cells = results.cells(campaign)
    if any(rehearsal.is_rehearsed(cell.profile, cell.workload) for cell in cells):
        yield limits_the_answer("rehearsal", rehearsal.WARNING, rehearsal.ADVICE)


def published(campaign: Results) -> Iterator[Doubt]:
    """Instead of doubts that every gate, sample and raw file is missing."""
    for note in campaign.plan.notes:
        if note.kind == "published figures":
            yield _published_figures(note.text)


def cells(campaign: Results) -> Iterator[Doubt]:
    """That they were measured once, or not at all."""
    every = list(results.cells(campaign))
    single = [cell.title for cell in every if len(cell.finished) == 1]
    if single:
        if campaign.published:
            yield _one_published_value()
        elif campaign.plan.repetitions == 1:
            yield _one_repetition()
        else:
            yield _one_repetition_of_some(single)
    for cell in (cell for cell in every if cell.missing):
        if campaign.published:
            yield _missing_published_cell(cell.title, campaign.absent)
        else:
            was_excluded = bool(cell.excluded)
            yield _missing_cell(cell.title, cell.without_figures, was_excluded)


def not_the_real_disk(campaign: Results) -> Iterator[Doubt]:
    profiles = campaign.plan.tiers
    by_kind = gathered((profile.tier.disk.kind, profile) for profile in profiles)
    for disk, of_kind in by_kind.items():
        if disk in _NOT_THE_REAL_DISK:
            tails = gathered(
                (latency_quantiles.described(p.tier), p.name) for p in of_kind
            )
            said = [
                f"; latency of {', '.join(of)}: {tail}"
                for tail, of in tails.items()
                if tail
            ]
            names = ", ".join(profile.name for profile in of_kind)
            yield _NOT_THE_REAL_DISK[disk](names, "".join(said))
    unlike = notes.unlike_disks(profiles)
    if unlike:
        yield _unlike_disks(unlike)


def vm_caps(campaign: Results) -> Iterator[Doubt]:
    for profile in campaign.plan.tiers:
        for cap in profile.tier.origin.vm_caps:
            yield _vm_caps_the_disk(profile.name, cap)


def old_price(campaign: Results) -> Iterator[Doubt]:
    """A price of more than a year before the campaign began, or of no date."""
    began_s = results.began_s(campaign)
    if began_s is None:
        return
    today = datetime.fromtimestamp(began_s, UTC).date()
    with_vms, _, _ = costs.compare_prices(campaign.plan.tiers)
    for profile in campaign.plan.tiers:
        wal = profile.tier.wal
        cluster = profile.cluster
        of_log = (f"{profile.name}'s WAL", wal.price if wal else None)
        of_vm = (f"{profile.name}'s machines", cluster.vm_price if with_vms else None)
        for name, price in ((profile.name, profile.tier.price), of_log, of_vm):
            read = None
            if price:
                read = prices.read_on(price.as_of)
            if price and (read is None or (today - read).days > OLD_PRICE_DAYS):
                yield _old_price(name, price.as_of, today)


def said_beforehand(campaign: Results) -> Iterator[Doubt]:
    for note in campaign.plan.notes:
        if note.kind == "fewer nodes":
            yield _fewer_nodes(str(note))
        elif note.kind == "nodes as asked":
            yield _nodes_as_asked(str(note))
        elif note.kind == "one disk of several":
            yield _one_disk_of_several(str(note))
        elif note.kind == "gone on despite":
            yield _gone_on_despite(str(note))


def comparable(campaign: Results) -> Iterator[Doubt]:
    """That runs are not, or that it is not known."""
    of_loads = (
        (c.workload.name, run) for c in results.cells(campaign) for run in c.finished
    )
    for workload, runs in gathered(of_loads).items():
        unlike = comparability.among(runs)
        if unlike:
            yield _unlike_runs(workload, differences.in_words(unlike))
    unknown = differences.not_known([run.record for run in campaign.done])
    if unknown:
        yield _not_compared(unknown)


def noise_floor(deltas: Sequence[Delta], floor: Sequence[Delta]) -> Iterator[Doubt]:
    """Of one tier under two names (`--aa`). `floor`: the twin against the baseline."""
    for equal in floor:
        if equal.verdict in ("better", "worse"):
            yield _equal_tiers_told_apart(_words(equal), equal.verdict)
    within = [
        f"{_words(delta)}, where equal tiers differed by {format_change(equal.change_pct)}"
        for equal in floor
        for delta in deltas
        if (delta.workload, delta.metric, delta.scope)
        == (equal.workload, equal.metric, equal.scope)
        and delta.verdict in ("better", "worse")
        and _size(delta) <= _size(equal)
    ]
    if within:
        yield _below_the_noise_floor(within)


def _size(delta: Delta) -> float:
    """Of a ratio and its inverse alike."""
    ratio = 1 + delta.change_pct / 100
    if ratio > 0:
        return abs(math.log(ratio))
    return math.inf


def _words(delta: Delta) -> str:
    if delta.scope == "all":
        scope = ""
    else:
        scope = f" of {delta.scope}"
    sides = f"{delta.contender} against {delta.baseline}, {delta.workload}"
    return f"{sides}, {delta.metric}{scope} {format_change(delta.change_pct)}"


# ------------------------------------------------------------------ gates
# A real disk is checked before a tier's first run, after the last, and as often between as asked.


def gate_drift(campaign: Results) -> Iterator[Doubt]:
    """Each disk and quantity once, with the two gates furthest apart, from the first that passed:
    before it nothing was measured. What a disk does on burst credit is its credit, not the disk."""
    for tier, gates in _by_tier(campaign).items():
        seen = gathered(
            ((check.disk, check.limit), (gate.taken_s, check))
            for gate in dropwhile(lambda gate: not gate.passed, gates)
            for check in gate.checks
            if check.quantity in _ALLOWED_PCT and check.verdict != "bursting"
        )
        for (disk, limit), checks in seen.items():
            low, high = (
                pick(checks, key=lambda timed: timed[1].measured) for pick in (min, max)
            )
            (first_s, first), (then_s, then) = sorted(
                (low, high), key=lambda timed: timed[0]
            )
            most_pct = _ALLOWED_PCT[first.quantity or ""]
            if (
                first.measured <= 0
                or high[1].measured <= (1 + most_pct / 100) * low[1].measured
            ):
                continue
            if first.unit == "s" and high[1].measured - low[1].measured <= _JITTER_S:
                continue
            change_pct = 100 * (then.measured / first.measured - 1)
            figures = ", ".join(
                f"{format_quantity(check.measured, check.unit)} at {_time(time_s)}"
                for time_s, check in ((first_s, first), (then_s, then))
            )
            of = disk or tier
            yield _gate_drift(of, limit, figures, change_pct)


def gates_afterwards(campaign: Results) -> Iterator[Doubt]:
    """That one failed, or that none was taken."""
    real = {p.tier.name for p in campaign.plan.profiles if p.tier.disk.is_real}
    for tier, gates in _by_tier(campaign).items():
        done = (run for run in campaign.done if run.record.profile.tier.name == tier)
        timed = [
            (results.measured_window(run.record), run.record.run.number) for run in done
        ]
        windows = [(*window, number) for window, number in timed if window]
        for before, after in pairwise(gates):
            if not before.passed or after.passed:
                continue
            bad = "; ".join(
                f"{c.limit} {c.verdict}" for c in after.checks if not c.passed
            )
            before_time = _time(before.taken_s)
            after_time = _time(after.taken_s)
            for start_s, end_s, number in windows:
                if before.taken_s <= start_s and end_s <= after.taken_s:
                    yield _gate_failed_afterwards(
                        number, tier, before_time, after_time, bad
                    )
        last_s = max((end_s for _, end_s, _ in windows), default=0.0)
        if tier in real and gates[-1].checks and gates[-1].taken_s < last_s:
            yield _no_gate_afterwards(tier)


def _by_tier(campaign: Results) -> dict[str, list[Gate]]:
    in_time = sorted(campaign.gates, key=lambda gate: gate.taken_s)
    return gathered((gate.tier, gate) for gate in in_time)


def _time(unix_s: float) -> str:
    return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%d %H:%M:%S} UTC"


# ------------------------------------------------------------------ in words


def _published_figures(text: str) -> Doubt:
    return is_only_told(
        "published figures",
        text,
        advice="hold them against the source; `tierbench compare` measures such a plan here",
    )


def _one_repetition() -> Doubt:
    return is_only_told(
        "one repetition",
        "every cell was measured once: a difference cannot be told from chance",
        advice=f"repeat with --repeats {GOOD_REPETITIONS}",
    )


def _one_published_value() -> Doubt:
    return is_only_told(
        "one repetition",
        "each published cell has one value: a difference cannot be told from chance",
        advice="ask its authors for every repetition, or repeat it",
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


def _missing_published_cell(cell: str, absent: str) -> Doubt:
    return is_only_told(
        "missing cell",
        f"{cell} was {absent} and is left out of every comparison",
        advice="what it would have shown is not known",
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


def _cgroup_tier(tiers: str, tails: str) -> Doubt:
    return limits_the_answer(
        "cgroup tier",
        f"the disks of {tiers} are limited by control groups: neither the tier's latency nor "
        f"its burst is there, and buffered writes may escape the limit{tails}",
        advice="use `enforcement: emulated` where FUSE and loop devices are to be had",
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
        advice="what is bought above it is lost: take a larger VM, or a smaller disk",
    )


def _old_price(what: str, as_of: str, today: date) -> Doubt:
    return is_only_told(
        "old price",
        f"the price of {what} is as of {as_of}, the campaign of {today}",
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
        advice="what differs may lie between the runs before and after: run the campaign "
        "anew",
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
        "clusters that others run may differ in more than their disks, because not all of "
        f"them told it: {'; '.join(unknown)}",
        advice="declare the same `node_exporters`, `masters` and `tservers` for each of them",
    )


def _equal_tiers_told_apart(change: str, verdict: str) -> Doubt:
    return is_only_told(
        "equal tiers told apart",
        f"this campaign told two equal tiers apart: {change}, {verdict}, although both names "
        "are of one tier",
        advice="something else than the tier changed between runs: look for drift in the "
        "charts and for what else the machine did, and measure again with more repetitions",
    )


def _below_the_noise_floor(changes: Sequence[str]) -> Doubt:
    return is_only_told(
        "below the noise floor",
        f"no larger than what equal tiers differed by: {'; '.join(changes)}",
        advice="do not act on it: more repetitions narrow both",
    )


def _gate_drift(disk: str, limit: str, figures: str, change_pct: float) -> Doubt:
    return is_only_told(
        "gate drift",
        f"the disk of {disk} changed while it was used: {limit}: {figures} "
        f"({format_change(change_pct)})",
        advice="runs between the two gates are not alike: see gates.json, use `--gate-every` "
        "to find out when, and ask the provider",
    )


def _gate_failed_afterwards(
    run: int, tier: str, before: str, after: str, bad: str
) -> Doubt:
    """`before`, `after`: when the two gates were taken, in words."""
    return limits_the_answer(
        "gate failed afterwards",
        f"the disk of {tier} passed its gate at {before} and not at {after}: {bad}",
        "it is not known which disk this run met: repeat it",
        run,
    )


def _no_gate_afterwards(tier: str) -> Doubt:
    return is_only_told(
        "no gate afterwards",
        f"the disk of {tier} was not checked after its last run: whether it was still what "
        "it had been is not known",
        advice=f"`tierbench calibrate --profile {tier}` says what it is now",
    )


_NOT_THE_REAL_DISK: Mapping[DiskKind, Callable[[str, str], Doubt]] = {
    "emulated": _emulated_tier,
    "cgroup": _cgroup_tier,
    "none": _none_tier,
}

CAMPAIGN_CHECKS: tuple[Callable[[Results], Iterable[Doubt]], ...] = (
    rehearsed, published, cells, not_the_real_disk, vm_caps, old_price, said_beforehand, comparable,
    gate_drift, gates_afterwards,
)  # fmt: skip
