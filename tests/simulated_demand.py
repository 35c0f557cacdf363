"""Demands of disks in seconds, by a seed: eight processes with a daily swing, for observations.

Every one has bursts of another length: Poisson, bursts of 0.5, 2, 10 and 60 s at ten times the
rate, checkpoints, sources that are on for heavy-tailed times, and a mix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from orchestrator.extensions.observe.judging.demand import (
    INTERVALS,
    QUANTITIES,
    Array,
    Demand,
)

DAY_S, HOUR_S = 86_400, 3600
START_S = 1_795_651_200.0  # a Wednesday's midnight, UTC
IO_BYTES = 8192.0


def _on(random: np.random.Generator, seconds: int, on_s: float, share: float) -> Array:
    """The part of each second in which a burst goes on; bursts last `on_s` on average."""
    count = int(2 * seconds * share / on_s) + 50
    on = random.exponential(on_s, count)
    off = random.exponential(on_s * (1 - share) / share, count)
    return _parts(on, off, seconds)


def _parts(on: Array, off: Array, seconds: int) -> Array:
    edges = np.cumsum(np.ravel(np.column_stack((off, on))))
    spent = np.ravel(np.column_stack((np.cumsum(on) - on, np.cumsum(on))))
    total = np.interp(
        np.arange(seconds + 1), np.concatenate(([0.0], edges)), [0.0, *spent]
    )
    return np.asarray(np.diff(total), dtype=float)


def _bursts(on_s: float) -> Callable[[np.random.Generator, int], Array]:
    def level(random: np.random.Generator, seconds: int) -> Array:
        return np.asarray(1.0 + 9.0 * _on(random, seconds, on_s, 0.05), dtype=float)

    return level


def _checkpoints(_: np.random.Generator, seconds: int) -> Array:
    return np.asarray(1 + 5.0 * (np.arange(seconds) % 300 < 30), dtype=float)


def _heavy(random: np.random.Generator, seconds: int) -> Array:
    level = np.full(seconds, 0.3)
    for _source in range(10):
        on, off = (2 * (1 + random.pareto(1.5, seconds // 4)) for _ in range(2))
        level += 0.5 * _parts(on, 4 * off, seconds)
    return level


def _mixed(random: np.random.Generator, seconds: int) -> Array:
    checkpoints = 3.0 * (np.arange(seconds) % 300 < 20)
    return np.asarray(
        1 + 6 * _on(random, seconds, 2.0, 0.05) + checkpoints, dtype=float
    )


PROCESSES: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "poisson": lambda _, seconds: np.ones(seconds),
    **{f"bursts of {on_s:g} s": _bursts(on_s) for on_s in (0.5, 2.0, 10.0, 60.0)},
    "checkpoints": _checkpoints,
    "heavy-tailed": _heavy,
    "mixed": _mixed,
}


def seconds_of(
    process: str, seed: int, seconds: int = DAY_S, mean: float = 400.0
) -> Demand:
    """Its I/Os second by second, of `mean` a second on average."""
    random = np.random.default_rng((seed, list(PROCESSES).index(process)))
    level = PROCESSES[process](random, seconds)
    level = level * (1 + 0.5 * np.sin(2 * np.pi * np.arange(seconds) / DAY_S))
    count = random.poisson(level * mean / level.mean()).astype(float)
    return in_seconds(count)


def in_seconds(count: Array, io_bytes: float = IO_BYTES, node: str = "db-1") -> Demand:
    """So many writes in each second."""
    begin_s: Array = START_S + np.arange(len(count), dtype=float)
    nothing = np.zeros(len(count))
    amounts = np.array([nothing, count, nothing, io_bytes * count])
    return Demand(node, "sdc", begin_s, begin_s + 1, amounts)


def as_reads(demand: Demand) -> Demand:
    """The same I/Os, of which none is a commit's."""
    return replace(demand, amounts=demand.amounts[[1, 0, 3, 2]])


def summed(fine: Demand, step_s: int) -> Demand:
    """The same over longer intervals."""
    count = len(fine.begin_s) // step_s * step_s
    amounts = fine.amounts[:, :count].reshape(4, -1, step_s).sum(axis=2)
    begin_s = fine.begin_s[:count:step_s]
    return Demand(fine.node, fine.device, begin_s, begin_s + step_s, amounts)


def rates(fine: Demand) -> Array:
    """As a piece: a row of amounts for each second."""
    return np.asarray((fine.amounts / fine.step_s).T)


def pieces(fine: Demand, count: int, each_s: int) -> tuple[Array, ...]:
    """So many stretches of it, spread evenly, each a bit off its place as a person's would be."""
    apart = len(fine.begin_s) // count
    offset = np.random.default_rng(count).integers(max(1, apart - each_s), size=count)
    starts = apart * np.arange(count) + offset
    return tuple(rates(fine.part(slice(int(s), int(s) + each_s))) for s in starts)


def table(*demands: Demand) -> pd.DataFrame:
    """The intervals from which they would be read."""
    return pd.concat(
        pd.DataFrame(dict(zip(QUANTITIES, each.amounts, strict=True))).assign(
            node=each.node, device=each.device, begin_s=each.begin_s, end_s=each.end_s
        )
        for each in demands
    )[list(INTERVALS)]
