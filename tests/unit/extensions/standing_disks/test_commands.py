"""The commands of `tierbench disk` and what others say of disks that are up, without any disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.cli.measure import campaign
from orchestrator.errors import EXIT_UNAVAILABLE, EXIT_USAGE, RunError, UsageError
from orchestrator.extensions.standing_disks import commands, gated, requests, standing
from orchestrator.parts import Disks
from orchestrator.planning import named_tiers
from orchestrator.powers import World
from orchestrator.system import host, machine_caches
from orchestrator.tier import Burst, Gate, Tier
from tests import ROOT
from tests.apps import tierbench
from tests.fakes import QuietProgress, this_machine_has
from tests.plans import a_plan
from tests.standing import Place
from tests.tiers import a_tier

BURSTING = a_tier(
    "x",
    "A tier",
    "emulated",
    1100,
    125_000_000,
    0.002,
    0.002,
    burst=Burst(3500, None, 30.0, 100),
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    this_machine_has(monkeypatch, free_bytes=2**40)
    made = Place(tmp_path)
    (made.proc.parent / "dev").mkdir()
    for device in ("fuse", "loop-control"):
        (made.proc.parent / "dev" / device).touch()
    return made


# ------------------------------------------------------------------ which tier


@pytest.mark.parametrize(
    ("name", "changes", "iops", "size_gib", "start_pct"),
    [
        ("azure/P15", [], 1100, 256, 0.0),
        ("azure/P15", ["burst=full"], 1100, 256, 100.0),
        (
            "azure/premium-v2",
            ["size=100GiB", "iops=5000", "throughput=200MB/s"],
            5000,
            100,
            None,
        ),
        ("premium", [], 1100, None, 0.0),
        ("premium", ["burst=50"], 1100, None, 50.0),
        ("profiles/premium.yaml", ["burst=off"], 1100, None, None),
    ],
)
def test_a_row_or_a_profile_with_other_keys(
    name: str,
    changes: list[str],
    iops: int,
    size_gib: int | None,
    start_pct: float | None,
) -> None:
    named = str(ROOT / name) if name.endswith(".yaml") else name
    tier, size_bytes = named_tiers.tier(ROOT, named, changes, "laptop")
    assert (tier.limits.iops, size_bytes) == (iops, size_gib and size_gib * 2**30)
    assert (tier.limits.burst and tier.limits.burst.start_pct) == start_pct


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["burst"], "'burst' is not key=value"),
        (["iops=4000"], "iops"),
        (["iosp=4000"], "iosp"),
        (["burst=full", "burst=off"], "stands twice"),
    ],
)
def test_keys_are_refused_as_in_a_profile(changes: list[str], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        named_tiers.tier(ROOT, "azure/P15", changes, "laptop")
    assert words in f"{refused.value.what} {refused.value.mistakes}"


# ------------------------------------------------------------------ the commands


def test_a_disk_is_not_taken_down_beside_a_campaign(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tierbench(place.app(), "disk", "up", "azure/P15", "--at", str(place.at)) == 0
    with host.only_one(place.app().lock):
        code = tierbench(place.app(), "disk", "down", "p15", "--yes")
    assert code == EXIT_UNAVAILABLE
    assert "another campaign is running here" in capsys.readouterr().err
    assert tierbench(place.app(), "disk", "down", "p15", "--yes") == 0


def test_up_list_set_down(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert tierbench(place.app(), "disk", "up", "azure/P15", "--at", str(place.at)) == 0
    assert "`tierbench disk down p15`" in capsys.readouterr().out
    place.engine.limits |= {"read_latency_us": 2000, "write_latency_us": 2000}
    assert tierbench(place.app(), "disk", "set", "p15", "iops=4000") == 0
    assert tierbench(place.app(), "disk", "list") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "iops = 4000" in said and "4,000 IOPS" in said
    for words, becomes in (
        ((), "would be removed: p15 ("),
        (("--keep-data",), "would stay in "),
    ):
        assert tierbench(place.app(), "disk", "down", "--all", "--dry-run", *words) == 0
        said = capsys.readouterr().out
        assert f"p15 at {place.at} would be taken down; its data {becomes}" in said
        assert place.state() == (True, True, True)
    assert tierbench(place.app(), "disk", "down", str(place.at)) == EXIT_USAGE
    assert place.state() == (True, True, True), "nobody can be asked"
    assert "--keep-data" in capsys.readouterr().err
    assert tierbench(place.app(), "disk", "down", str(place.at), "--keep-data") == 0
    assert "its data stay in" in capsys.readouterr().out
    assert place.state() == (False, False, True)


def test_every_disk_that_stays_up_is_said(place: Place) -> None:
    """One error ends the command; a second disk that is in use was never told."""
    app = place.app()
    stayed = [RunError(f"{name} could not be unmounted") for name in ("p15", "p10")]
    with pytest.raises(RunError, match="p15 could not be unmounted"):
        commands.raise_first(stayed, app)
    progress = app.progress
    assert isinstance(progress, QuietProgress)
    assert progress.said == ["p10 could not be unmounted"]
    commands.raise_first([], app)


def test_a_disk_that_is_put_up_makes_the_cache_this_machines(place: Place) -> None:
    """Another that shares the folder then has its own part, and no disk of the same file."""
    assert machine_caches.owner_of(place.app().cache) is None
    assert tierbench(place.app(), "disk", "up", "azure/P15", "--at", str(place.at)) == 0
    assert machine_caches.owner_of(place.app().cache) == machine_caches.here()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["up", "azure/P15", "--at", "/x", "--size", "300GiB"], "P15 has 256 GiB"),
        (
            ["up", "azure/P15", "enforcement=existing", "--at", "/x"],
            "can only make emulated disks",
        ),
        (["up", "azure/P15", "--at", "/x", "--size", "much"], "--size"),
        (["down"], "name a disk, or say --all"),
        (["down", "p15", "--all"], "name a disk, or say --all"),
        (["down", "p15"], "no disk named 'p15'; there is none"),
        (["set", "p15", "iops"], "has no value"),
    ],
)
def test_wrong_words(
    place: Place, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert tierbench(place.app(), "disk", *words) == EXIT_USAGE
    assert message in " ".join(capsys.readouterr().err.split())
    assert place.is_clean()


@pytest.mark.parametrize(
    "words", [["up", "azure/P15", "--at", "/x"], ["down", "p15"]], ids=["up", "down"]
)
def test_only_root_may(
    place: Place, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert tierbench(place.app(user=1000), "disk", *words) == 69
    assert "only root can" in capsys.readouterr().err


def test_the_gate_measures_the_base_and_burst_comes_after(place: Place) -> None:
    seen: list[float] = []

    def take(tier: Tier, measured: Disks, world: World) -> Gate:
        assert measured.volumes[0].name == f"{place.at}/tierbench-gate"
        seen.append(place.engine.limits.get("iops_burst", 0))
        return Gate(tier.name, 0.0, ())

    disk = requests.prepared("p15", place.at, "A tier", None, 2**30, None, place.world)
    gated.put_up(disk, BURSTING, True, place.world, take)
    assert (seen, place.engine.limits["iops_burst"]) == ([0], 3500)


# ------------------------------------------------------------------ what others say of it


def test_a_campaign_notes_the_other_load(place: Place) -> None:
    place.up()
    plan = replace(a_plan(), profiles=())
    parts = place.app().parts(place.world.platform)
    (note,) = campaign._notes_at_start(plan, parts, place.world.cache, place.world)
    assert "other load: the disk p15 is up at" in note.text
    assert note.text in place.world.progress.said  # type: ignore[attr-defined]


def test_clean_leaves_it_and_says_how_to_end_it(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.up()
    assert tierbench(place.app(), "clean") == EXIT_USAGE, "nobody can be asked"
    assert tierbench(place.app(), "clean", "--yes") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "`tierbench disk down p15` takes it down" in said
    assert place.state() == (True, True, True)
    assert (
        replace(standing.named("p15", place.world), mount=None).state == "not mounted"
    )
