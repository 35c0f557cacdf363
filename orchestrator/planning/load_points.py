"""One workload at several loads: the values of `--sweep`, and the rate of `--latency-at`. Pure.

Each load is a workload of its own, `tpcc-at-16-threads` or `tpcc-at-120-per-s`, on the same data
set, so it is loaded once. A number of threads is a closed loop; a rate is an open one, by the
built-in scripts' Poisson arrivals, whose latency counts from when a transaction was due.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, get_args

from orchestrator.errors import Mistake, UsageError
from orchestrator.facts import LoadPoint
from orchestrator.keys.messages import failure
from orchestrator.keys.strict_yaml import raise_all
from orchestrator.model import Workload
from orchestrator.units import counted, format_number

LATENCY_AT, SWEEP = "--latency-at", "--sweep"
OPEN_LOOP = "sysbench"  # the generator whose latency counts from the moment of arrival
RATE_OPTION = "arrival_rate"
MOST_THREADS = 10_000

Axis = Literal["threads", "rate"]
Protocol = Literal["sweep", "same rate"]

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(?:/s)?$")


def parse_latency_at(text: str) -> tuple[float, bool]:
    """`70%` or `120` (transactions/s): the number, and whether it is a share, in percent, of the
    slowest tier's capacity. UsageError for anything else."""
    words = text.replace(" ", "")
    match = _NUMBER.match(words.removesuffix("%"))
    value = float(match[1]) if match else 0.0
    share = words.endswith("%")
    if match and match[0] == match[1] == words and 0 < value < 1:
        raise failure(UsageError, "share or rate", text=text, pct=value * 100, words=words)
    if not value or (share and (value >= 100 or words.endswith("/s%"))):
        raise failure(UsageError, "neither share nor rate", text=text)
    return value, share


def parse_sweep(text: str) -> tuple[Axis, tuple[float, ...]]:
    """`threads=1,4,16` or `rate=50,100`: the axis and its values, in rising order. UsageError."""
    name, _, listed = text.replace(" ", "").partition("=")
    matches = [_NUMBER.match(word) for word in listed.split(",")]
    values = [float(match[1]) for match in matches if match]
    wrong = ""
    if name not in get_args(Axis):
        wrong = "names neither threads nor rate"
    elif len(values) < len(matches) or not all(values):
        wrong = "has a value that is no number above zero"
    elif len(set(values)) < max(2, len(values)):
        wrong = "needs two or more values, each once"
    elif name == "threads" and any(value % 1 or value > MOST_THREADS for value in values):
        wrong = f"has a number of threads that is not whole, or above {MOST_THREADS:,}"
    if wrong:
        raise failure(UsageError, "bad sweep", text=text, wrong=wrong)
    return "threads" if name == "threads" else "rate", tuple(sorted(values))


def applied(
    workloads: Sequence[Workload], sweep: str | None, latency_at: str | None
) -> tuple[tuple[Workload, ...], float | None]:
    """The workloads to plan, and the share (in %) of a capacity that these must find first, if
    one was asked for. UsageError where a workload's load cannot be set so."""
    if sweep and latency_at:
        raise failure(UsageError, "two questions")
    if sweep:
        axis, values = parse_sweep(sweep)
        _require(workloads, axis, SWEEP)
        return tuple(at(w, "sweep", axis, value) for w in workloads for value in values), None
    if latency_at:
        value, is_share = parse_latency_at(latency_at)
        _require(workloads, "rate", LATENCY_AT)
        if is_share:
            return tuple(workloads), value
        return tuple(at(load, "same rate", "rate", value) for load in workloads), None
    return tuple(workloads), None


def at(workload: Workload, protocol: Protocol, axis: Axis, value: float) -> Workload:
    """The workload at one load."""
    if axis == "threads":
        changed = replace(workload, threads=int(value))
        words = load_in_words(axis, value)
        name = words.replace(" ", "-")
    else:
        changed = replace(workload, options={**workload.options, RATE_OPTION: value})
        name, words = f"{value:.12g}-per-s", f"{format_number(value)} transactions/s asked for"
    return replace(
        changed,
        name=f"{workload.name}-at-{name}",
        title=f"{workload.title}, {words}",
        point=LoadPoint(workload.name, protocol, axis, value),
    )


def of_sweep(workload: Workload) -> LoadPoint | None:
    """Its load, if it is one of a sweep."""
    point = workload.point
    return point if point is not None and point.protocol == "sweep" else None


def subject(workload: Workload) -> str:
    """What a decision on it is called: all loads of a sweep have one together."""
    point = of_sweep(workload)
    return point.of if point else workload.name


def load_in_words(axis: str, value: float) -> str:
    """`16 threads`, `120/s`."""
    if axis == "rate":
        return f"{format_number(value)}/s"
    return counted(round(value), "thread")


def _require(workloads: Sequence[Workload], axis: Axis, option: str) -> None:
    raise_all([Mistake(f"{option}: {w.name}", why) for w in workloads for why in _misfit(w, axis)])


def _misfit(workload: Workload, axis: Axis) -> Iterator[str]:
    if workload.database == "none":
        yield "measures the disk alone, at loads of its own"
    elif workload.thinks:
        yield "its terminals think, so their number sets the pace: set `think: none`"
    elif workload.options.get(RATE_OPTION):
        yield f"has an `{RATE_OPTION}` of its own: leave it out of the file"
    elif axis == "rate" and workload.generator != OPEN_LOOP:
        only = f"only {OPEN_LOOP} with its built-in scripts has an open loop"
        yield f"is run by {workload.generator}; {only} whose latency holds the wait in the queue"
