"""Some faults of `make soak`, in turn: what is killed and gone on with in each landing is in
tests/integration/test_resume.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import soak

pytestmark = [pytest.mark.docker, pytest.mark.slow]


# Those that were gone on with when they were tried alone; the others are `make soak`'s.
IN_TURN = (1, 2, 3, 4, 5, 7, 9, 10, 11, 22, 25, 27)


@pytest.mark.parametrize("seed", IN_TURN)
def test_a_campaign_that_is_hit_is_gone_on_with(seed: int, tmp_path: Path) -> None:
    outcome = soak.tried(seed, tmp_path, 1)
    assert outcome.is_well, outcome
