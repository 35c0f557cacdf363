"""Levels of a campaign that is judged while it grows, held against simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from orchestrator.analysis.statistics import looks
from tests.bench import bench_until
from tests.plans import a_plan, changed_plan


@pytest.mark.parametrize(("first", "most"), [(2, 6), (3, 10)])
def test_chances_of_all_looks_add_up_to_the_chance_of_one(
    first: int, most: int
) -> None:
    """Of sums of normal values: 1 % cross at some look, and (n / N)² of that by look n."""
    shares = looks.shares(first, most)
    dice = np.random.default_rng(4)
    walks = np.cumsum(dice.normal(size=(300_000, most)), axis=1)
    crossed = np.zeros(len(walks), dtype=bool)
    for n, share in shares.items():
        crossed |= special.ndtr(-walks[:, n - 1] / np.sqrt(n)) <= 0.01 * share
        assert crossed.mean() == pytest.approx(
            0.01 * (n / most) ** 2, rel=0.1, abs=0.0002
        )


def test_the_only_look_has_all_of_it() -> None:
    assert looks.shares(5, 5) == {5: 1.0}


def test_a_workload_stands_at_the_look_of_its_own_repetitions() -> None:
    plan = changed_plan(
        a_plan(("a", "b"), ("read", "write"), 2), looks={2: 0.1, 3: 0.2}
    )
    more = replace(plan, runs=(*plan.runs, replace(plan.runs[-1], repetition=3)))
    assert looks.share(more, plan.runs[-1].workload) == 0.2
    assert looks.share(more, plan.runs[0].workload) == 0.1
    assert looks.share(changed_plan(more, looks={}), plan.runs[0].workload) == 1.0
    # A look that was not planned has the least share of all.
    unplanned = changed_plan(more, looks={4: 0.2, 5: 0.1, 6: 0.3})
    assert looks.share(unplanned, plan.runs[0].workload) == 0.1
    assert looks.confidence(0.95, 0.1) == pytest.approx(0.995)
    assert looks.at_look([0.001, 0.5], 0.1) == [0.01, 1.0]


def test_a_campaign_that_ends_when_decided_is_seldom_wrong() -> None:
    """The hardest case of the bench: judged so often at the level of one look, 6 % are wrong."""
    found = bench_until.simulate(bench_until.EACH_AT_EDGE, bench_until.QUIET, 2, 6, 300)
    assert found.named_wrongly_pct <= 5.0
    assert found.repetitions < 6
