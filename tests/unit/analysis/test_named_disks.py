"""The disks that a script takes of an answer (`-o name`): those to buy by the name alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from orchestrator.analysis.answers.named_disks import named_disks
from orchestrator.analysis.answers.record import (
    Answer,
    DiskOutlook,
    DisksToBuy,
    MeasuredFigure,
    PartAnswer,
    ProfileFigures,
    Sureness,
    SurenessWord,
    Untested,
    UntestedKind,
)

DID = MeasuredFigure("throughput_per_s", "all", 600.0, "/s", 5)


def part(subject: str, tier: str | None) -> PartAnswer:
    purchase = None
    if tier is not None:
        purchase = DisksToBuy(tier, None)
    return PartAnswer(subject, "workload", purchase, (), "proven")


def compared(tiers: Sequence[str | None], together: str | None = None) -> Answer:
    """A tier for each workload; `together`: for all of them, "none" if none is."""
    parts = tuple(part(f"load-{number}", tier) for number, tier in enumerate(tiers))
    common = None
    if together is not None:
        common = part("all", together)
    if together == "none":
        common = part("all", None)
    return Answer("comparison", parts, common, Sureness("conclusive", ""))


@pytest.mark.parametrize(
    ("tiers", "together", "named"),
    [
        (("premium",), None, ("premium",)),
        ((None,), None, ()),
        # One cluster has one kind of disk: that of its slowest load.
        (("premium", "ultra"), "ultra", ("ultra",)),
        (("premium", "ultra"), "none", ()),
        # Loads of clusters of their own.
        (("premium", "ultra"), None, ("premium", "ultra")),
        (("premium", "premium"), None, ("premium",)),
        # Who bought for one load alone would have no disk for the other.
        (("premium", None), None, ()),
    ],
)
def test_a_comparison_names_what_to_buy(
    tiers: Sequence[str | None], together: str | None, named: tuple[str, ...]
) -> None:
    assert named_disks(compared(tiers, together)) == named


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("conclusive", ("premium",)),
        ("enough; cheaper not excluded", ("premium",)),
        ("enough; price open", ("premium",)),
        ("for cached data only", ()),
        ("for this machine only", ()),
        ("for short windows only", ()),
        ("not decided: latency assumed", ()),
        ("example: nothing was measured", ()),
    ],
)
def test_a_tier_that_is_enough_under_a_condition_is_not_named(
    word: SurenessWord, named: tuple[str, ...]
) -> None:
    answer = replace(compared(["premium"]), sureness=Sureness(word, ""))
    assert named_disks(answer) == named


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("real disks", ("premium",)),
        ("database", ("premium",)),
        ("any measurement", ()),
        ("real cluster", ()),
        ("anything", ()),
    ],
)
def test_a_tier_is_named_only_if_disks_were_measured(
    kind: UntestedKind, named: tuple[str, ...]
) -> None:
    answer = replace(compared(["premium"]), untested=(Untested(kind, ""),))
    assert named_disks(answer) == named


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("SLO met", ("premium",)),
        ("SLO missed", ()),
        ("SLO open", ()),
        ("measured", ()),
        ("for cached data only", ()),
    ],
)
def test_one_profile_is_named_if_it_meets_its_slo(
    word: SurenessWord, named: tuple[str, ...]
) -> None:
    did = ProfileFigures("premium", DID, None, None)
    parts = (replace(part("tpcc", None), measured=did),)
    answer = Answer("one profile", parts, None, Sureness(word, ""))
    assert named_disks(answer) == named


def test_what_was_not_measured_is_named_as_a_row_of_the_catalog() -> None:
    dear = DiskOutlook("azure/P15+wal=azure/P4", None)
    cheap = DiskOutlook("aws/gp3:size=1TiB,iops=6000", None)
    parts = (replace(part("tpcc", None), worth_measuring=(dear, cheap, dear)),)
    answer = Answer("prediction", parts, None, Sureness("predicted", ""))
    assert named_disks(answer) == (dear.tier, cheap.tier)


def test_an_observation_names_the_disk_of_each_provider_that_has_one() -> None:
    carries = part("azure", "azure/P30")
    open_one = replace(
        part("aws", None), worth_measuring=(DiskOutlook("aws/gp3", None),)
    )
    answer = Answer("observation", (carries, open_one), None, Sureness("observed", ""))
    assert named_disks(answer) == ("azure/P30",)


def test_disks_alone_are_not_named_because_no_load_says_which_is_enough() -> None:
    answer = Answer(
        "disks alone", (part("matrix", None),), None, Sureness("measured", "")
    )
    assert named_disks(answer) == ()
