"""Trials of limits (`--confirm`) as a simulation: throughput follows limits as told, while the
system drifts, writes pages back, or is unsteady."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orchestrator import facts
from orchestrator.analysis.conclusions import Bottleneck
from orchestrator.analysis.telemetry.causes import proof_by_trial, trial_elasticities
from orchestrator.run.window import confirming

Logs = NDArray[Any]
Dice = np.random.Generator
# What is added to logarithms of throughput in changes that begin at these times and last so long,
# the time of all trials being 1.
Movement = Callable[[Logs, float, Dice], Logs]

LEVELS: Mapping[facts.TriedLimit, Sequence[float]] = {
    "IOPS": confirming.CHANGES,
    "bandwidth": confirming.CHANGES,
    "disk latency": confirming.CHANGES,
    "node CPU": confirming.CHANGES,
    "client CPU": confirming.LESS,
    "sessions": confirming.LESS,
}
WINDOWS = 24  # of the time of all trials: the noise is given of one of them
TRIALS_S = 120.0  # behind a window of a minute: eight pairs of each limit


@dataclass(frozen=True)
class System:
    """`noise`: standard deviation of a window's throughput, of 1; `unsteady`: of a change of the
    limits of these names, besides."""

    noise: float
    movement: Movement | None = None
    heavy_tails: bool = False
    unsteady: Mapping[str, float] | None = None


def drift(starts: Logs, lasts: float, dice: Dice) -> Logs:
    """26 % less at the end."""
    return -0.3 * (starts + lasts / 2)


def step(starts: Logs, lasts: float, dice: Dice) -> Logs:
    """22 % less from some moment on."""
    at = dice.uniform(1 / 12, 11 / 12)
    return -0.25 * np.clip((starts + lasts - at) / lasts, 0, 1)


def settling(starts: Logs, lasts: float, dice: Dice) -> Logs:
    """26 % less at the begin."""
    return -0.3 * np.exp(-starts * WINDOWS / 5)


def dips(times: float, share: float = 0.3, depth: float = 0.33) -> Movement:
    """So many `times` during the trials less by `depth`, for that share of the time, as where pages
    are written back."""

    def movement(starts: Logs, lasts: float, dice: Dice) -> Logs:
        phase = dice.random()
        before = _dipped(starts * times + phase, share)
        after = _dipped((starts + lasts) * times + phase, share)
        logs: Logs = np.log1p(-depth * (after - before) / (lasts * times))
        return logs

    return movement


def _dipped(rounds: Logs, share: float) -> Logs:
    """Of the time up to these moments, counted in rounds, what was in dips."""
    whole = np.floor(rounds)
    dipped: Logs = whole * share + np.minimum(rounds - whole, share)
    return dipped


def pairs(
    system: System, elasticity: Mapping[str, float], dice: Dice, trials_s: float
) -> list[trial_elasticities.ChangePair]:
    """Of one run, in the order that the package draws."""
    order = confirming.drawn_order(LEVELS, trials_s, int(dice.integers(2**31)))
    lasts = 1 / len(order)
    starts = np.arange(len(order)) * lasts
    noise = system.noise / math.sqrt(lasts * WINDOWS)
    if system.heavy_tails:
        logs = noise / math.sqrt(3) * dice.standard_t(3, len(order))
    else:
        logs = dice.normal(0, noise, len(order))
    if system.movement is not None:
        logs = logs + system.movement(starts, lasts, dice)
    for number, change in enumerate(order):
        growth = math.log(change.times)
        logs[number] += elasticity.get(change.limit, 0.0) * growth
        if system.unsteady:
            logs[number] += dice.normal(0, system.unsteady.get(change.limit, 0.0))
    made: list[trial_elasticities.ChangePair] = []
    for first in range(0, len(order), 2):
        later = order[first + 1]
        size = math.log(later.times / order[first].times)
        # Of a latency less is better: here all limits are such that more is.
        made.append(
            trial_elasticities.ChangePair(
                later.limit, size, float(logs[first + 1] - logs[first])
            )
        )
    return made


def judged(
    cause: facts.BottleneckCause,
    system: System,
    elasticity: Mapping[str, float],
    dice: Dice,
    runs: int = 1,
    trials_s: float = TRIALS_S,
) -> Bottleneck:
    """What is concluded from these runs of a cell, whose counters named `cause`."""
    of_runs: list[trial_elasticities.ChangePair] = []
    for _ in range(runs):
        of_runs += pairs(system, elasticity, dice, trials_s)
    tried = trial_elasticities.of_pairs(of_runs, runs)
    assert tried is not None
    named = Bottleneck("premium", "insert", "node-1", cause, "Its counters say so.", {})
    return proof_by_trial.concluded_from(tried, named, "throughput")
