"""A campaign on rented volumes that is ended by kill -9: what it rented goes by itself.

One moment of those of tests/faults/cluster_kills.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.cluster import Cluster
from tests.faults.cluster_kills import Kills

pytestmark = [pytest.mark.kubernetes, pytest.mark.docker, pytest.mark.slow]
RENT_S = 60
WINDOW = "warm-up, then measuring"


@pytest.fixture
def kills(loaded: Cluster) -> Iterator[Kills]:
    kills = Kills(loaded, RENT_S)
    with kills.classes():
        yield kills
    assert kills.cleaned() == []


def test_what_a_killed_campaign_rents_goes_by_itself(kills: Kills) -> None:
    """In its second window: its signs of life have moved the end, so it lives longer than what it
    rents would without them; the data that it keeps for later runs go too."""
    kill = kills.made("", lambda campaign: campaign.says(WINDOW, times=2))
    assert kill.has_struck and kill.is_well, kill
    assert kill.moment_s > RENT_S
    held = {thing.split()[0] for thing in kill.there}
    assert held >= {"job", "pod", "claim", "volume", "service", "snapshot"}, kill
