"""A disk as measured: the file that `disk record` writes and a profile's `recorded` names.

A small JSON file that can be carried anywhere and written by hand: limits, latencies at queue
depth 1 as quantiles, burst, and where all that comes from (docs/TIERS.md, "A recorded disk").
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer

from orchestrator.design import latency_quantiles
from orchestrator.errors import KeyPlace, Mistake
from orchestrator.keys.refusals import refused
from orchestrator.keys.schema import Rate
from orchestrator.keys.strict_records import Strict, validate
from orchestrator.tier import (
    Burst,
    Latencies,
    LatencyModel,
    Limits,
    Quantiles,
    SlowEpochs,
    Tier,
)

# Rates of one cap differ by no more: the disk check allows 5 %.
_ALIKE = 0.05

Text = Annotated[str, Field(min_length=1)]


def _table(value: object) -> Quantiles:
    """`{"0": 0.0003, "0.5": 0.0005, "1": 0.01}` as a table, or a table."""
    if isinstance(value, tuple):
        value = dict(value)
    if not isinstance(value, Mapping):
        raise ValueError(
            "expected probabilities (0 to 1) with the latency of each in seconds"
        )
    points: list[tuple[float, float]] = []
    try:
        for probability, latency_s in value.items():
            points.append((float(probability), float(latency_s)))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError("a probability or a latency is not a number") from error
    table = tuple(points)
    for mistake in latency_quantiles.mistakes(table):
        raise ValueError(mistake)
    return table


def _by_probability(table: Quantiles) -> dict[str, float]:
    # fio tells nanoseconds, and nothing finer.
    return {f"{p:.12g}": round(latency_s, 9) for p, latency_s in table}


Table = Annotated[Quantiles, BeforeValidator(_table), PlainSerializer(_by_probability)]


class RecordedLimits(Strict):
    """What each kind of load reached alone: 4 KiB random, 256 KiB sequential."""

    iops_read: Rate
    iops_write: Rate
    iops_mixed: Rate
    bytes_per_s_read: Rate
    bytes_per_s_write: Rate


class RecordedEpochs(Strict):
    factor: Annotated[float, Field(gt=1, le=1000)]
    slow_dwell_s: Annotated[float, Field(ge=0.01, le=86_400)]
    good_dwell_s: Annotated[float, Field(ge=0.01, le=86_400)]


class RecordedLatency(Strict):
    read_quantiles_s: Table
    write_quantiles_s: Table
    slow_epochs: RecordedEpochs | None = None


class RecordedBurst(Strict):
    iops: Rate
    base_iops: Rate
    duration_s: Annotated[float, Field(gt=0)]


class RecordedDisk(Strict):
    """What the file of a recorded disk holds."""

    schema_version: Literal[1]
    source: Text
    as_of: Text
    limits: RecordedLimits | None = None
    latency: RecordedLatency
    burst: RecordedBurst | None = None
    # The time and way of measuring, and the device, are only kept and shown.
    measured: Mapping[str, Any] = {}
    device: Mapping[str, Any] = {}


def read(where: str, text: str) -> RecordedDisk:
    """Reads the file `where`. UsageError with every mistake."""
    try:
        content = json.loads(text)
    # Python's reader gives up on lists that are nested too deeply.
    except (ValueError, RecursionError) as error:
        raise refused([Mistake(where, f"this is not JSON: {error}")]) from error
    return validate(RecordedDisk, KeyPlace(where), content)


def own_limits(limits: RecordedLimits) -> dict[str, int | str]:
    """`iops` and `throughput` as a profile gives them.

    The emulated disk has one total for reads and writes: the rates' mean if they differ by
    5 % at most, else the lowest.
    """
    rate = _one_total(limits.bytes_per_s_read, limits.bytes_per_s_write)
    iops = _one_total(limits.iops_read, limits.iops_write, limits.iops_mixed)
    return {"iops": iops, "throughput": f"{rate}B/s"}


def _one_total(*rates: float) -> int:
    lowest = min(rates)
    if max(rates) > lowest * (1 + _ALIKE):
        return round(lowest)
    return round(sum(rates) / len(rates))


def applied(tier: Tier, disk: RecordedDisk) -> Tier:
    """The tier with the latencies of the recorded disk, and its burst, empty, unless it has one."""
    source = tier.origin.source or disk.source
    as_of = tier.origin.as_of or disk.as_of
    limits = replace(tier.limits, burst=_burst(tier.limits, disk))
    origin = replace(tier.origin, source=source, as_of=as_of)
    return replace(tier, limits=limits, latency=_latencies(disk), origin=origin)


def _latencies(disk: RecordedDisk) -> Latencies:
    recorded = disk.latency
    epochs: SlowEpochs | None = None
    if recorded.slow_epochs:
        epochs = SlowEpochs(**recorded.slow_epochs.model_dump())
    model = LatencyModel(
        read=recorded.read_quantiles_s,
        write=recorded.write_quantiles_s,
        source=disk.source,
        as_of=disk.as_of,
        slow_epochs=epochs,
    )
    # The median stands for the table where one figure is needed.
    read_s = latency_quantiles.quantile_s(model.read, 0.5)
    write_s = latency_quantiles.quantile_s(model.write, 0.5)
    return Latencies(read_s, write_s, model=model)


def _burst(limits: Limits, disk: RecordedDisk) -> Burst | None:
    """The burst of the tier, or that of the recorded disk if it is more than the tier's limits."""
    if limits.burst is not None:
        return limits.burst
    burst = disk.burst
    # A peak below the tier's base would slow it down.
    if burst is None or not limits.iops or burst.iops <= limits.iops:
        return None
    # Empty, as of a catalog row: a disk at work has spent its credit.
    return Burst(round(burst.iops), None, burst.duration_s, start_pct=0.0)
