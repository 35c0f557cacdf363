"""The file of a tier leaves out what most tiers do not have, and gives back the same tier."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from orchestrator.tier import Limits, Tier, tier_file
from tests.campaigns import build_tier

OF_FEW_TIERS = ("wal", "count", "shared", "in_memory", "read_latency_measured")


def test_a_plain_tier_has_none_of_what_few_have() -> None:
    content = tier_file.flat(asdict(build_tier("premium")))
    assert [key for key in OF_FEW_TIERS if key in content] == []
    assert content["iops"] == 1_100


@pytest.mark.parametrize(
    ("tier", "key", "value"),
    [
        (replace(build_tier("premium"), count=2), "count", 2),
        (
            replace(build_tier("premium"), shared=Limits(iops=600)),
            "shared",
            asdict(Limits(iops=600)),
        ),
    ],
)
def test_what_a_tier_has_is_in_its_file(tier: Tier, key: str, value: object) -> None:
    assert tier_file.flat(asdict(tier))[key] == value


def test_parts_are_those_of_the_file_and_of_a_tier_that_has_them() -> None:
    whole = asdict(build_tier("premium"))
    parts = tier_file.parts(tier_file.flat(whole))
    assert parts["limits"]["iops"] == 1_100
    assert parts["name"] == "premium"
    assert tier_file.parts(whole) is whole
    assert tier_file.parts("premium") == "premium"
