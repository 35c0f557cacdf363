"""Volumes that a machine can use together: one term of each is enough, whose labels all hold."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from orchestrator.errors import UnavailableError
from orchestrator.extensions.kubernetes import volume_places
from orchestrator.powers import MachineTerm, RentedVolume

ZONE_1_TYPE_X = {"zone": ("1",), "type": ("x",)}
ZONE_2 = {"zone": ("2",)}
TYPE_Y = {"type": ("y",)}


def require(data: Sequence[MachineTerm], log: Sequence[MachineTerm]) -> None:
    volumes = []
    for terms in (data, log):
        volumes.append(
            RentedVolume("pv", "fast", "driver", 1, machine_terms=tuple(terms))
        )
    volume_places.require_one_machine("node-1", volumes)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # A machine of zone 2 and of type y takes both.
        ([ZONE_1_TYPE_X, ZONE_2], [TYPE_Y]),
        ([ZONE_1_TYPE_X, ZONE_2], [ZONE_2]),
        ([ZONE_1_TYPE_X], [ZONE_2, {"type": ("x", "y")}]),
        ([ZONE_1_TYPE_X], []),
        # Of a term without labels nothing is known.
        ([ZONE_1_TYPE_X], [{}]),
    ],
)
def test_volumes_are_taken_where_a_term_of_each_may_hold(
    one: Sequence[MachineTerm], other: Sequence[MachineTerm]
) -> None:
    require(one, other)
    require(other, one)


def test_volumes_are_refused_where_no_terms_hold_together() -> None:
    with pytest.raises(UnavailableError) as refusal:
        require([ZONE_1_TYPE_X, {"zone": ("2", "3"), "type": ("z",)}], [TYPE_Y])
    assert (
        "on a volume of zone=1 and type=x, or zone=2 or zone=3 and type=z, and its log "
        "on one of type=y: no machine takes both"
    ) in refusal.value.what
    # Each of the labels is allowed by one of the terms, and both by none.
    with pytest.raises(UnavailableError):
        require([ZONE_1_TYPE_X, ZONE_2], [{"zone": ("1",), "type": ("y",)}])
