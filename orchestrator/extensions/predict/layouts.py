"""The search for the cheapest layout that meets an SLO: disks of the data, each with and without a
second disk for the log. Pure.

A layout whose price is known not to be the lowest is not simulated, and no log's disk is tried
where even one that never waits would not be enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from orchestrator.analysis.conclusions import Prediction
from orchestrator.extensions.predict.answer import CHANCES
from orchestrator.tier import LOG_DISK_SIGN, Latencies, Limits, Price, Tier

LIKELY = CHANCES[0]
POSSIBLE = CHANCES[-1]
# A dearer log's disk must raise the chance by so much: less is the noise of a simulation.
WORTH_A_LINE = 0.05
# Latency of a disk that never waits: no disk of the catalog is as fast.
_IDEAL_LATENCY_S = 1e-5

Predict = Callable[[Tier], Prediction]


@dataclass(frozen=True)
class Row:
    """A disk as it can be bought, by the name that `--tier` takes. price: of all its disks."""

    name: str
    tier: Tier
    price: Price

    @property
    def provider(self) -> str:
        return self.name.partition("/")[0]

    @property
    def latency_s(self) -> float | None:
        """How long a write of it takes, in the median."""
        return self.tier.latency.write_s


def priced(name: str, tier: Tier) -> Row | None:
    """The row, if it has a price: without one it is the cheapest of nothing."""
    if tier.price is None:
        return None
    return Row(name, tier, tier.price)


def with_log_disks(
    data_rows: Sequence[Row],
    alone: Sequence[Prediction],
    log_rows: Sequence[Row],
    predict: Predict,
) -> Iterator[Prediction]:
    """Predictions of layouts with a disk for the log that may meet the SLO, and that cost less than
    the cheapest that likely does.

    alone: the predictions of data_rows without such a disk, with their chances. predict: of a tier
    with `wal`.
    """
    chances = {prediction.tier: prediction.chance or 0.0 for prediction in alone}
    useful_logs = _undominated(log_rows)
    ceilings = _cheapest_likely(data_rows, chances)
    for row in sorted(data_rows, key=_monthly):
        if not _has_latencies(row):
            continue
        logs = [log for log in useful_logs if _may_stand_beside(row, log)]
        # A log's disk only adds to the price of what is likely enough alone.
        if not logs or chances.get(row.name, 0.0) >= LIKELY:
            continue
        ceiling = ceilings.get(row.price.currency)
        if not _is_cheaper(row, logs[0], ceiling):
            continue
        if _chance(predict(_with_ideal_log(row, logs[0]))) < POSSIBLE:
            continue
        best_chance = chances.get(row.name, 0.0)
        for log in logs:
            if not _is_cheaper(row, log, ceiling):
                break
            prediction = predict(_with_log(row, log))
            chance = _chance(prediction)
            if chance >= max(POSSIBLE, best_chance + WORTH_A_LINE):
                best_chance = chance
                yield prediction
            if chance >= LIKELY:
                ceilings[row.price.currency] = _monthly(row) + _monthly(log)
                break


def _cheapest_likely(
    rows: Sequence[Row], chances: dict[str, float]
) -> dict[str, float]:
    """Currency → what the cheapest row that likely meets the SLO costs."""
    ceilings: dict[str, float] = {}
    for row in rows:
        if chances.get(row.name, 0.0) >= LIKELY:
            currency = row.price.currency
            cheapest = min(ceilings.get(currency, _monthly(row)), _monthly(row))
            ceilings[currency] = cheapest
    return ceilings


def _is_cheaper(row: Row, log: Row, ceiling: float | None) -> bool:
    return ceiling is None or _monthly(row) + _monthly(log) < ceiling


def _may_stand_beside(row: Row, log: Row) -> bool:
    """Both are sold by one provider, in one currency, so that a machine can have both."""
    return row.provider == log.provider and row.price.currency == log.price.currency


def _has_latencies(row: Row) -> bool:
    """Whether somebody says how long an I/O of it takes: without that it cannot be simulated."""
    latency = row.tier.latency
    if latency.model is not None:
        return True
    return bool(latency.read_s and latency.write_s)


def _undominated(rows: Sequence[Row]) -> list[Row]:
    """From cheap to dear, without those that a cheaper one equals or beats in everything, and those
    of an unknown latency."""
    kept: list[Row] = []
    for row in sorted(rows, key=_monthly):
        if not _has_latencies(row):
            continue
        if not any(_beats(cheaper, row) for cheaper in kept):
            kept.append(row)
    return kept


def _beats(cheaper: Row, dearer: Row) -> bool:
    if not _may_stand_beside(cheaper, dearer):
        return False
    if cheaper.latency_s is None or dearer.latency_s is None:
        return False
    return (
        cheaper.latency_s <= dearer.latency_s
        and _at_least(cheaper.tier.limits.total_iops, dearer.tier.limits.total_iops)
        and _at_least(cheaper.tier.limits.bytes_per_s, dearer.tier.limits.bytes_per_s)
    )


def _at_least(limit: int | None, other: int | None) -> bool:
    """Whether it lets through as much. None: it is not limited."""
    if limit is None:
        return True
    return other is not None and limit >= other


def _with_log(row: Row, log: Row) -> Tier:
    name = f"{row.name}{LOG_DISK_SIGN}{log.name}"
    return replace(row.tier, name=name, wal=log.tier)


def _with_ideal_log(row: Row, log: Row) -> Tier:
    """The layout with a log's disk that never waits: no real one could do more."""
    latency = Latencies(read_s=_IDEAL_LATENCY_S, write_s=_IDEAL_LATENCY_S)
    ideal = replace(log.tier, limits=Limits(), latency=latency)
    return replace(row.tier, name=row.name, wal=ideal)


def _chance(prediction: Prediction) -> float:
    return prediction.chance or 0.0


def _monthly(row: Row) -> float:
    return row.price.monthly
