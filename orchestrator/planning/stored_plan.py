"""A plan in its file, where the fields of its parts are on one level with its own; and whether one
that was read from a file could have been made. Pure.

Its numbers are possible by themselves; here they are held against each other and against what
judging divides by and sorts by."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import fields
from typing import Any

from orchestrator.model import (
    ClusterSpec,
    Plan,
    Profile,
    Run,
    Workload,
)
from orchestrator.plan_parts import DiskChecks, Judging, Repeats
from orchestrator.texts.foreign_text import short
from orchestrator.tier import Limits, Price, as_written

_PARTS = {"repeats": Repeats, "judging": Judging, "disk_checks": DiskChecks}


def flat(plan: Plan) -> dict[str, Any]:
    """The content of its file."""
    content: dict[str, Any] = as_written(plan)
    for part in _PARTS:
        content |= content.pop(part)
    return content


def take_in_parts(content: dict[str, Any]) -> None:
    """Makes the content of a plan's file that of a plan."""
    for part, record in _PARTS.items():
        names = content.keys() & {field.name for field in fields(record)}
        content[part] = {name: content.pop(name) for name in names}


def require_possible(plan: Plan) -> None:
    """ValueError with what is wrong first."""
    for mistake in mistakes(plan):
        raise ValueError(mistake)


def is_name(name: str) -> bool:
    """Whether a folder may be named by it, alone or with more around it, and leaves no other."""
    # A control character in a folder's name could retitle a terminal that lists it.
    return name not in ("", ".", "..") and "/" not in name and name.isprintable()


def mistakes(plan: Plan) -> Iterator[str]:
    """What no plan has, a phrase each."""
    profiles = [profile.name for profile in plan.profiles]
    workloads = [workload.name for workload in plan.measured]
    for name in (*profiles, *workloads):
        if not is_name(name):
            yield f"{short(name)} cannot be a name: a folder is named by it"
    yield from _twice("profile", profiles)
    yield from _twice("workload", workloads)
    # Folders and records of runs are told apart by number.
    yield from _twice("run", [run.number for run in plan.runs])
    for run in plan.runs:
        yield from _run_mistakes(run, profiles, workloads)
    for meant in (plan.baseline, plan.twin):
        if meant is not None and meant not in profiles:
            yield f"no profile is named {short(meant)}"
    if not plan.profiles or not plan.workloads or not plan.runs:
        yield "it plans nothing"
    yield from _out_of_range(plan)
    for profile in plan.profiles:
        for text in _profile_mistakes(profile):
            yield f"{profile.name}: {text}"
    for workload in plan.measured:
        for text in _workload_mistakes(workload):
            yield f"{workload.name}: {text}"


def _run_mistakes(
    run: Run, profiles: Collection[str], workloads: Collection[str]
) -> Iterator[str]:
    if run.number < 1 or run.repetition < 1:
        yield f"run {run.number} has the repetition {run.repetition}"
    if run.profile not in profiles or run.workload not in workloads:
        cell = f"{run.profile} × {run.workload}"
        yield f"run {run.number} is of {short(cell)}, which is not planned"


def _twice(noun: str, names: Collection[Any]) -> Iterator[str]:
    if len(set(names)) < len(names):
        yield f"it has a {noun} twice"


def _out_of_range(plan: Plan) -> Iterator[str]:
    for margin_pct in (plan.judging.margin_pct, plan.judging.p99_margin_pct):
        if not 0 <= margin_pct < 100:
            yield f"{margin_pct:.6g} % is not a margin"
    if plan.repeats.repetitions < 1:
        yield f"repetitions is {plan.repeats.repetitions}"
    if plan.disk_checks.gate_every is not None and plan.disk_checks.gate_every < 1:
        yield f"gate_every is {plan.disk_checks.gate_every}"
    for share in plan.repeats.looks.values():
        if not 0 <= share <= 1:
            yield f"a look has the share {share:.6g}"
    least = [plan.estimate_s, plan.repeats.retry_failed, *plan.judging.weights.values()]
    least += [plan.most_s or 0.0, plan.latency_at_pct or 0.0]
    yield from _negative(least)


def _negative(values: Iterable[float]) -> Iterator[str]:
    for value in values:
        # Written so that NaN, which is neither, is refused too.
        if not value >= 0:
            yield f"{value:.6g} is less than nothing"


def _profile_mistakes(profile: Profile) -> Iterator[str]:
    yield from _cluster_mistakes(profile.cluster)
    tier = profile.tier
    for disks in (tier, tier.wal):
        if disks is None:
            continue
        yield from _price_mistakes(disks.price)
        yield from _limit_mistakes(disks.limits)
        if disks.count < 1:
            yield f"{disks.count} disks are striped"


def _cluster_mistakes(cluster: ClusterSpec) -> Iterator[str]:
    if cluster.nodes < 1 or cluster.clients < 1:
        yield f"{cluster.nodes} nodes and {cluster.clients} clients"
    if cluster.profile_nodes is not None and cluster.profile_nodes < 1:
        yield f"a profile of {cluster.profile_nodes} nodes"
    yield from _price_mistakes(cluster.vm_price)


def _price_mistakes(price: Price | None) -> Iterator[str]:
    if price is not None and not price.monthly >= 0:
        yield f"{price.monthly:.6g} a month is not a price"


def _limit_mistakes(limits: Limits) -> Iterator[str]:
    for limit in (limits.iops, limits.bytes_per_s, limits.write_iops):
        # Use is told as a share of the limit, and so divided by it.
        if limit is not None and limit < 1:
            yield f"{limit} is not a limit of a disk"


def _workload_mistakes(workload: Workload) -> Iterator[str]:
    if workload.threads < 1:
        yield f"{workload.threads} threads"
    # NaN is neither, and so it is refused too.
    if not workload.measure_s >= 0 or not workload.warmup_s >= 0:
        yield "a time is less than nothing"
