"""Draws of simulations: they are those of one generator, whatever was worked out before."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from orchestrator.extensions.predict.draws import DRAWS, Draws

READS = ((0.0, 0.001), (0.5, 0.002), (1.0, 0.01))
WRITES = ((0.0, 0.003), (1.0, 0.004))


@pytest.mark.parametrize("seed", [1, 2, 1])
def test_a_seed_draws_one_series_after_the_other(seed: int) -> None:
    draws = Draws(seed)
    series = [draws.latencies(table) for table in (READS, WRITES, READS)]
    series += [draws.pauses(0.25), draws.pauses(1.0)]

    rng = np.random.default_rng(seed)
    expected = []
    for table in (READS, WRITES, READS):
        shares, times_s = zip(*table, strict=True)
        expected.append(np.interp(rng.random(DRAWS), shares, times_s))
    expected += [rng.exponential(0.25, DRAWS), rng.exponential(1.0, DRAWS)]

    for drawn, values in zip(series, expected, strict=True):
        assert list(islice(drawn, DRAWS)) == values.tolist()
        assert next(drawn) == values[0], "they come again"
