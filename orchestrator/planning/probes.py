"""`--probe`: a short run with one session on each tier, before all other runs. Pure.

Nothing queues for a session that is alone. So a prediction can tell from its run how long a
transaction takes beside disk and CPU. Probes are for predictions, and no verdict is made of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.design import factors, varied_workloads
from orchestrator.errors import Mistake
from orchestrator.keys.refusals import raise_all
from orchestrator.model import Workload
from orchestrator.planning.files_or_rows import FileMembers

# Seconds for which a probe is measured. It warms up for no longer.
PROBE_S = 30.0


def for_workloads(
    workloads: Sequence[Workload], on_files: FileMembers
) -> tuple[Workload, ...]:
    """The probe of each workload; the loads of a sweep share one.

    A load that leaves out a stage (`--without`) has none. UsageError for a workload of which one
    session says nothing.
    """
    whole = [load for load in workloads if not varied_workloads.stage_left_out(load)]
    raise_all(list(_mistakes(whole, on_files)))
    probes: dict[str, Workload] = {}
    for load in whole:
        probe = _probe(load)
        # Loads of a sweep have one plain name, and so come to one probe.
        probes[probe.name] = probe
    return tuple(probes.values())


def _mistakes(
    workloads: Sequence[Workload], on_files: FileMembers
) -> Iterator[Mistake]:
    for load in workloads:
        why = _no_probe(load, on_files)
        if why:
            yield Mistake(f"--probe: {load.name}", why)


def _probe(load: Workload) -> Workload:
    """One session without a pace, for a short time."""
    options = dict(load.options)
    # The session would wait for arrivals if it had a pace, and not for its transactions.
    options.pop(factors.RATE_OPTION, None)
    probe = replace(
        load,
        name=f"{_plain_name(load)}-probe",
        title=f"{load.title}, a probe of one session",
        varied=varied_workloads.asked_value(load, "factor"),
    )
    warmup_s = min(load.warmup_s, PROBE_S)
    timed = replace(probe, warmup_s=warmup_s, warmup_most_s=None, measure_s=PROBE_S)
    # No verdict is made of it, so it has neither SLO nor proof by trial.
    return replace(timed, threads=1, options=options, slo=(), confirm_s=0.0, slow=())


def _plain_name(load: Workload) -> str:
    """The name of the workload's file, without what a sweep or a common rate adds to it."""
    if load.varied and not varied_workloads.asked_value(load, "factor"):
        return load.varied.of
    return load.name


def _no_probe(load: Workload, on_files: FileMembers) -> str:
    """Why one session for a time says nothing of a workload, or an empty text."""
    if load.database or load.generator in on_files.load_generators:
        return (
            "is not a load of a SQL database: tiers are predicted only from such a load"
        )
    if load.thinks:
        return "its terminals think, so their number sets the pace: set `think: none`"
    if load.settle or load.lost_after_s is not None:
        return "goes on until its work is done, whatever the time"
    if "threads" in load.dataset.parameters:
        return "has data by its number of sessions"
    return ""
