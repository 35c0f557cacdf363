"""Doubts about burst credit: figures that may be the burst's, not what the tier sustains. Pure."""

from collections.abc import Sequence

from orchestrator.analysis.doubts.effects import forbids_a_conclusion, limits_the_answer
from orchestrator.analysis.doubts.validity import Doubts
from orchestrator.analysis.results import RunData
from orchestrator.analysis.telemetry.use import disk_seconds
from orchestrator.analysis.telemetry.use.all_nodes import Totals
from orchestrator.model import Doubt
from orchestrator.texts.prose import listed
from orchestrator.units import format_number


def credit_left(run: RunData, _: Totals) -> Doubts:
    """A doubt if a tier with a declared burst drew on its credit and had some left."""
    if run.record.profile.tier.limits.burst is None:
        return
    disks = run.telemetry.against_caps.values()
    # A disk that stayed at its base rate did nothing by credit, however much it has.
    drawn = [disk for disk in disks if (disk.time_above_base_pct or 0.0) > 0]
    left_pct = max([disk.burst_credit_left_pct or 0.0 for disk in drawn], default=0.0)
    # Credit that was used up shows both levels; with some left only the burst was measured.
    if left_pct > 0:
        above_pct = max([disk.time_above_base_pct or 0.0 for disk in drawn])
        yield _burst_credit_left(above_pct, left_pct)


def credit_unknown(run: RunData, _: Totals) -> Doubts:
    for node, buckets in run.record.read_facts.burst_credit.items():
        for name, bucket in buckets.items():
            if bucket.state == "unknown":
                yield _burst_credit_unknown(
                    node, name, bucket.least_pct, bucket.most_pct
                )


def above_its_limit(run: RunData, _: Totals) -> Doubts:
    """A doubt if the mean of the whole run was above the limit.

    It is used if no counter was sampled.
    """
    tier = run.record.profile.tier
    limit_iops = tier.limits.iops
    if limit_iops is None or not run.telemetry.empty:
        return
    for figure in run.record.measurements:
        # The figure of all nodes is their sum, and the limit is of each disk.
        is_of_a_node = figure.metric == "disk_iops" and figure.scope != "all"
        most_iops = (1 + disk_seconds.BASE_TOLERANCE) * limit_iops
        if is_of_a_node and figure.value > most_iops:
            yield _bursting_by_the_mean(figure.value, limit_iops, tier.name)


def bursting_in_the_gate(run: RunData, _: Totals) -> Doubts:
    gate = run.record.gate
    if gate is None:
        return
    bursting = [check for check in gate.checks if check.verdict == "bursting"]
    if bursting:
        disks = dict.fromkeys([check.disk or "the disk" for check in bursting])
        yield _bursting_in_the_gate(list(disks))


# ------------------------------------------------------------------ in words


def _burst_credit_left(above_base_pct: float, left_pct: float) -> Doubt:
    return forbids_a_conclusion(
        "burst credit left",
        f"the disk was above its base rate in {above_base_pct:.0f} % of the window. "
        f"{left_pct:.0f} % of its credit was left at the end, so figures show the burst, not "
        "the sustained rate",
        advice="start with `burst: {start: empty}`, or measure for longer",
    )


def _burst_credit_unknown(
    node: str, name: str, least_pct: float, most_pct: float
) -> Doubt:
    """`name`: of the bucket, "IOPS" or "bytes"; `least_pct`, `most_pct`: what it had."""
    return limits_the_answer(
        "burst credit unknown",
        f"{node}: burst credit for {name} was {least_pct:.0f} to {most_pct:.0f} % of a full "
        "bucket when the window began. Its exact level is not known",
        advice="use up the credit first (`--drain`), or measure for longer than it lasts",
    )


def _bursting_in_the_gate(disks: Sequence[str]) -> Doubt:
    return forbids_a_conclusion(
        "bursting disk",
        f"when it was checked, {listed(disks)} ran above the base rate, on burst credit of "
        "unknown size. The figures may show the burst, not the sustained rate",
        advice="use up the credit first (`--drain`), or measure for longer than the burst "
        "lasts",
    )


def _bursting_by_the_mean(iops: float, limit_iops: float, tier: str) -> Doubt:
    return forbids_a_conclusion(
        "bursting disk",
        f"a node's disk did {format_number(iops)} IOPS on average, above the "
        f"{format_number(limit_iops)} of {tier}. Only burst credit or a cache does that, so "
        "its figures may not be what the tier sustains",
        advice="compare with the bucket empty, or over longer than the burst lasts",
    )
