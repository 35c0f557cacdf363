"""Typed reasons to distrust a figure, each with what to do about it. Pure.

One small function per kind, found through two registries at the end: kinds about the campaign here,
kinds about a single run in `doubts_of_runs`. Advice is for the campaign at hand: what was already
done is not advised again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from orchestrator import evidence, frames, likeness
from orchestrator.doubts_of_runs import RUN_CHECKS
from orchestrator.frames import Campaign
from orchestrator.model import Doubt, Enforcement

GOOD_REPETITIONS = 5

_ENFORCEMENTS: dict[Enforcement, tuple[str, str]] = {
    "emulated": (
        "the disks of {} are emulated on this machine: limits are the tier's, absolute figures are "
        "this machine's",
        "use the differences between tiers; for absolute figures run on the provider's disks "
        "(`enforcement: mounted`)",
    ),
    "cgroup": (
        "the disks of {} are limited by control groups: neither the tier's latency nor its burst "
        "is there, and buffered writes may escape the limit",
        "use `enforcement: emulated` where FUSE and loop devices are to be had",
    ),
    "none": (
        "the disks of {} are not limited: their figures say nothing about a tier",
        "use `enforcement: emulated`, or `mounted` on the tier's own disk",
    ),
}


def find(campaign: Campaign) -> tuple[Doubt, ...]:
    """Every doubt: about the campaign, then run by run, those that runs recorded included."""
    cpus = frames.machine_cpus(campaign)
    found = [doubt for check in CAMPAIGN_CHECKS for doubt in check(campaign)]
    for run in sorted(campaign.runs, key=lambda one: one.record.run.number):
        found += run.record.doubts
        if run.record.outcome == "done":
            telemetry = {(m.metric, m.scope): m.value for m in frames.telemetry_of(run, cpus)}
            of_machine = evidence.of_machine(run, cpus)
            telemetry |= {(name, "all"): value for name, value in of_machine.items()}
            found += [doubt for check in RUN_CHECKS for doubt in check(run, telemetry)]
    return tuple(dict.fromkeys(found))


def _one_repetition(campaign: Campaign) -> Iterator[Doubt]:
    plan = campaign.plan
    counts = {
        (profile.name, workload.name): len(frames.finished(campaign, profile.name, workload.name))
        for workload in plan.workloads
        for profile in plan.profiles
    }
    single = [f"{profile} × {workload}" for (profile, workload), n in counts.items() if n == 1]
    if not single:
        return
    if plan.repetitions == 1:
        text = "every cell was measured once: a difference cannot be told from chance"
    else:
        text = f"only one repetition finished of {', '.join(single)}: it has no interval"
    yield Doubt("one repetition", text, f"repeat with REPEATS={GOOD_REPETITIONS}")


def _missing_cells(campaign: Campaign) -> Iterator[Doubt]:
    plan = campaign.plan
    for workload in plan.workloads:
        for profile in plan.profiles:
            planned = [
                run
                for run in plan.runs
                if (run.profile, run.workload) == (profile.name, workload.name)
            ]
            if planned and not frames.finished(campaign, profile.name, workload.name):
                yield Doubt(
                    "missing cell",
                    f"{profile.name} × {workload.name} has no finished run and is left out of "
                    "every comparison",
                    "see its run's failure, then run the campaign again",
                )


def _not_the_real_disk(campaign: Campaign) -> Iterator[Doubt]:
    by_kind: dict[Enforcement, list[str]] = {}
    for profile in campaign.plan.profiles:
        by_kind.setdefault(profile.tier.enforcement, []).append(profile.name)
    for enforcement, names in by_kind.items():
        if enforcement in _ENFORCEMENTS:
            text, advice = _ENFORCEMENTS[enforcement]
            yield Doubt(f"{enforcement} tier", text.format(", ".join(names)), advice)
    if len(by_kind) > 1:
        yield Doubt(
            "unlike disks",
            f"tiers are held to their limits in different ways ({', '.join(by_kind)}): part of "
            "each difference may be the way",
            "give all profiles the same `enforcement`",
        )


def _vm_caps(campaign: Campaign) -> Iterator[Doubt]:
    for profile in campaign.plan.profiles:
        for cap in profile.tier.vm_caps:
            yield Doubt(
                "VM caps the disk",
                f"{profile.name}: {cap}",
                "what is bought above it is lost: take a larger VM, or a smaller disk",
            )


def _fewer_nodes(campaign: Campaign) -> Iterator[Doubt]:
    for note in campaign.plan.notes:
        if "instead of" in note and "node" in note:
            advice = "run on a machine with two cores per node, or set NODES to start them here"
            if "as asked" in note:
                advice = "leave NODES out on a machine with two cores per node"
            yield Doubt("fewer nodes", note, advice)


def _unlike_runs(campaign: Campaign) -> Iterator[Doubt]:
    plan = campaign.plan
    for workload in plan.workloads:
        runs = [
            run
            for profile in plan.profiles
            for run in frames.finished(campaign, profile.name, workload.name)
        ]
        unlike = likeness.among(runs)
        if unlike:
            yield Doubt(
                "unlike runs",
                f"runs of {workload.name} differ in more than the tier, so they are not compared: "
                f"{'; '.join(unlike)}",
                "make the profiles equal in everything but `tier`, and run them in one campaign",
            )


CAMPAIGN_CHECKS: tuple[Callable[[Campaign], Iterable[Doubt]], ...] = (
    _one_repetition,
    _missing_cells,
    _not_the_real_disk,
    _vm_caps,
    _fewer_nodes,
    _unlike_runs,
)
