"""The file of a tier leaves out what most tiers do not have, and gives back the same tier."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from pydantic import TypeAdapter

from orchestrator.tier import Limits, Tier, VmCap, as_written, tier_file
from tests.campaigns import build_tier
from tests.tiers import changed

OF_FEW_TIERS = (
    "wal",
    "count",
    "shared",
    "in_memory",
    "read_latency_measured",
    "product",
    "bought_iops",
    "bought_bytes_per_s",
)


def test_a_plain_tier_has_none_of_what_few_have() -> None:
    content = tier_file.flat(asdict(build_tier("premium")))
    assert [key for key in OF_FEW_TIERS if key in content] == []
    assert content["iops"] == 1_100
    mounted = changed(build_tier("premium"), enforcement="mounted")
    assert tier_file.flat(asdict(mounted))["burst_time_scale"] == 1.0
    # An emulated disk has nothing that could be allowed.
    assert content["allow_root_disk"] is False
    assert content["allow_retained_volumes"] is False


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


def test_a_machine_s_limit_is_kept_beside_its_sentence() -> None:
    caps = (VmCap("throughput", "less than the disks"), VmCap(None, "both: less"))
    tier = build_tier("premium")
    limited = replace(tier, origin=replace(tier.origin, vm_caps=caps))
    content = as_written(limited)
    assert content["vm_caps"] == ["less than the disks", "both: less"]
    assert TypeAdapter(Tier).validate_python(content) == limited


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("burst IOPS: the machine lets through less", "burst IOPS"),
        ("data's and WAL's disk together, IOPS: less", None),
    ],
)
def test_in_files_of_earlier_releases_the_sentence_names_the_limit(
    text: str, limit: str | None
) -> None:
    content = {**as_written(build_tier("premium")), "vm_caps": [text]}
    (cap,) = TypeAdapter(Tier).validate_python(content).origin.vm_caps
    assert (cap.limit, cap.text) == (limit, text)
