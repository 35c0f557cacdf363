"""How well `--warmup steady` finds the end of a warm-up, by simulation: `make bench NAME=warm_up`.

Throughput rises from a half to its final value, and is within 2.5 % of it after the time given;
seconds have noise, alone or tied to the seconds before. Seeded.
"""

from __future__ import annotations

import numpy as np

from orchestrator.load_generators.sysbench.warm_up import SteadyRule

FIXED_S, MOST_S, WINDOW_S, TRIALS = 15, 150, 60, 60
RISES_S = (1, 30, 60, 120)
NOISES = (
    (0.02, 0.0),
    (0.05, 0.0),
    (0.10, 0.0),
    (0.05, 0.8),
)  # size, tie to the second before


def series(
    level: np.ndarray, noise: float, tie: float, dice: np.random.Generator
) -> np.ndarray:
    drawn = dice.normal(0.0, 1.0, level.size)
    for second in range(1, level.size):
        drawn[second] = tie * drawn[second - 1] + drawn[second] * np.sqrt(1 - tie**2)
    return level * (1 + noise * drawn)


def warmed_s(rates: np.ndarray) -> int:
    rule = SteadyRule()
    return next(
        (s for s, rate in enumerate(rates[:MOST_S], 1) if rule.add(float(rate))), MOST_S
    )


def below_pct(level: np.ndarray, warmup_s: int) -> float:
    """How far the window's mean lies below the final value."""
    return 100 * (1 - float(level[warmup_s : warmup_s + WINDOW_S].mean()))


def main() -> None:
    dice = np.random.default_rng(1)
    print(
        "| rise, s | noise | warm-up, s (90th percentile) | window below, % | fixed, % |"
    )
    print("|---:|---|---:|---:|---:|")
    for rise_s in RISES_S:
        level = 1 - 0.5 * np.exp(-3 * np.arange(MOST_S + WINDOW_S) / rise_s)
        for noise, tie in NOISES:
            took = [warmed_s(series(level, noise, tie, dice)) for _ in range(TRIALS)]
            left = np.mean([below_pct(level, warmup_s) for warmup_s in took])
            words = f"{100 * noise:.0f} %{', tied' * bool(tie)}"
            times = f"{np.median(took):.0f} ({np.percentile(took, 90):.0f})"
            print(
                f"| {rise_s} | {words} | {times} | {left:.1f} | {below_pct(level, FIXED_S):.1f} |"
            )


if __name__ == "__main__":
    main()
