"""A workload at the value of a factor, a load of a sweep or a rate, and what it then asks. Pure.

A number of threads is a closed loop. A rate is an open one, by the built-in scripts' Poisson
arrivals, whose latency counts from when a transaction was due."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.design import factors
from orchestrator.errors import Mistake
from orchestrator.facts import Question, Varied
from orchestrator.keys.refusals import raise_all
from orchestrator.model import Workload


def at(workload: Workload, value: Varied) -> Workload:
    """The workload at one value. With cold caches what it reads first is in the window."""
    words = factors.in_words(value)
    plain = words.replace(",", "").replace("/s", " per s")
    # Folders are named by a workload, so only plain signs are left.
    slug = re.sub(r"[^A-Za-z0-9._]+", "-", plain)
    title = words.replace("/s", " transactions/s asked for")
    load = replace(
        workload,
        name=f"{workload.name}-at-{slug}",
        title=f"{workload.title}, {title}",
        varied=replace(value, of=workload.name),
    )
    if value.factor != factors.CACHE:
        return load
    if value.value == factors.COLD:
        # A warm-up would fill the caches that are to be cold.
        return replace(load, warm=False, warmup_s=0.0, warmup_most_s=None)
    return replace(load, warm=True)


def at_load(workload: Workload, value: Varied) -> Workload:
    """The workload with one number of threads, or at one rate."""
    load = at(workload, value)
    if value.factor == factors.THREADS:
        return replace(load, threads=value.count)
    rate_per_s = value.number or 0.0
    return replace(load, options={**load.options, factors.RATE_OPTION: rate_per_s})


def same_rate(rate_per_s: float) -> Varied:
    """The rate that all tiers are asked for alike."""
    return Varied(
        of="",
        factor=factors.RATE_OPTION,
        value=f"{rate_per_s:.12g}",
        number=rate_per_s,
        question="same rate",
    )


def at_loads(
    workloads: Sequence[Workload], loads: Sequence[Varied], latency_at: str | None
) -> tuple[tuple[Workload, ...], float | None]:
    """The workloads at each load of a sweep, or at one rate; and the share of their capacity.

    The share (in %) is None unless `latency_at` asks for a share. The workloads must then find
    their capacity first. UsageError where a load cannot be set.
    """
    share_pct: float | None = None
    if latency_at:
        number, is_share = factors.parse_latency_at(latency_at)
        loads = [same_rate(number)]
        if is_share:
            share_pct = number
    if not loads:
        return tuple(workloads), None
    # All loads of a sweep are of one factor, so the first stands for all.
    raise_all(list(_misfits_of_load(workloads, loads[0])))
    # The rate follows from capacities that are not known yet, so workloads stay as they are.
    if share_pct is not None:
        return tuple(workloads), share_pct
    at_each: list[Workload] = []
    for workload in workloads:
        at_each += [at_load(workload, load) for load in loads]
    return tuple(at_each), None


def _misfits_of_load(workloads: Sequence[Workload], load: Varied) -> Iterator[Mistake]:
    for workload in workloads:
        reason = _misfit_of_load(workload, load.factor)
        if reason:
            yield Mistake(f"{factors.option(load)}: {workload.name}", reason)


def _misfit_of_load(workload: Workload, factor: str) -> str:
    if workload.database == "none":
        return "measures the disk alone, at loads of its own"
    if workload.thinks:
        return "its terminals think, so their number sets the pace: set `think: none`"
    if workload.options.get(factors.RATE_OPTION):
        return f"has an `{factors.RATE_OPTION}` of its own: leave it out of the file"
    if factor == factors.RATE_OPTION and workload.generator != factors.OPEN_LOOP:
        only = f"only {factors.OPEN_LOOP} with its built-in scripts has an open loop"
        return f"is run by {workload.generator}; {only} whose latency holds the wait in the queue"
    return ""


def asked_value(workload: Workload, question: Question) -> Varied | None:
    """The value at which it is measured to answer this question; None if it answers another."""
    varied = workload.varied
    if varied is not None and varied.question == question:
        return varied
    return None


def decision_subject(workload: Workload) -> str:
    """What a decision on it is called: all loads of a sweep have one together."""
    load = asked_value(workload, "load")
    if load:
        return load.of
    return workload.name


def stage_left_out(workload: Workload) -> str:
    """The stage that is taken away; an empty text where all are there.

    Such a workload is measured to name a limit, and says nothing of which tier to buy.
    """
    varied = workload.varied
    if varied is None or varied.factor != factors.WITHOUT:
        return ""
    if varied.value == factors.NOTHING:
        return ""
    return varied.value
