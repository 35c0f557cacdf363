"""Kept data sets: each node gets its own disk back, whatever the number of nodes."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.errors import LoadError, NodeError, UnavailableError, UnfinishedError
from orchestrator.parts import NodesData, TierAbilities
from orchestrator.powers import World
from orchestrator.run.beforehand import resource_needs
from orchestrator.run.data import datasets
from orchestrator.run.runs_ahead import spent_times
from orchestrator.system import marked, marked_folders
from orchestrator.tier import Tier
from orchestrator.tiers import tier_mechanisms
from tests.fake_parts import FakeTier
from tests.fakes import Log, QuietProgress, fake_world
from tests.plans import a_plan, a_profile, a_workload
from tests.removing import unmounted
from tests.unit.run.conftest import Campaign, Failing, Make


def ensure(campaign: Campaign, nodes: int) -> Sequence[Path]:
    snapshots = datasets.ensure(
        a_profile(nodes=nodes), a_workload(), 1, campaign.parts, campaign.world
    )
    assert snapshots is not None
    return snapshots


def test_twelve_snapshots_come_in_the_order_of_their_nodes(make: Make) -> None:
    campaign = make()
    for _ in range(2):  # loaded, then found again
        snapshots = ensure(campaign, nodes=12)
        assert [file.name for file in snapshots] == [
            f"node-{n}.img" for n in range(1, 13)
        ]
        assert all(file.is_file() for file in snapshots)
    assert campaign.log.words.count("load") == 1


class Large(FakeTier):
    """Disks that take far more space than any machine has, or nothing of it."""

    def __init__(self, log: Log, copies: int) -> None:
        super().__init__(log, True)
        self._copies = copies

    @property
    def abilities(self) -> TierAbilities:
        return replace(super().abilities, places=self.places)

    def places(self, tier: Tier, nodes: int, world: World) -> dict[Path, int]:
        return {world.cache: self._copies * nodes}


def test_disks_without_room_are_refused_before_anything_starts(tmp_path: Path) -> None:
    """Nor is any asked where the mechanism keeps nothing here."""
    log = Log()
    world = fake_world(log, tmp_path)
    resource_needs.check_space(a_plan(), {"emulated": Large(log, 0)}, world)
    with pytest.raises(UnavailableError, match="for the disks of 1 node;"):
        resource_needs.check_space(a_plan(), {"emulated": Large(log, 2**40)}, world)


def test_a_data_set_starts_where_it_was_loaded_and_an_older_one_is_loaded_anew(
    make: Make,
) -> None:
    campaign = make()
    snapshots = ensure(campaign, nodes=2)
    assert datasets.addresses_of(snapshots, campaign.world) == (
        "10.0.0.11",
        "10.0.0.12",
    )
    assert datasets.addresses_of(None, campaign.world) == ()
    file = snapshots[0].parent / "dataset.json"
    content = json.loads(file.read_text())
    del content["addresses"]
    file.write_text(json.dumps({**content, "prefix": "10.207.77"}))
    again = ensure(campaign, nodes=2)
    assert datasets.addresses_of(again, campaign.world) == ("10.0.0.11", "10.0.0.12")
    assert campaign.log.words.count("load") == 2


def test_a_snapshot_that_is_gone_is_loaded_anew(make: Make) -> None:
    """Of a real disk that was made anew, or in whose place another is mounted."""
    campaign = make()
    ensure(campaign, nodes=2)[1].unlink()
    assert all(one.exists() for one in ensure(campaign, nodes=2))
    assert campaign.log.words.count("load") == 2


class Elsewhere(FakeTier):
    """Its copies are on the machines of their nodes, which have them or not (`are_kept`)."""

    are_kept = True

    @property
    def abilities(self) -> TierAbilities:
        abilities = super().abilities
        assert abilities.kept_data is not None
        kept_data = replace(
            abilities.kept_data,
            are_there=lambda *_: True,
            are_on_nodes=lambda *_: self.are_kept,
        )
        return replace(abilities, kept_data=kept_data)


def test_what_a_node_s_machine_no_longer_has_is_loaded_anew(make: Make) -> None:
    """Only the machines themselves can say so; while they have it nothing is loaded."""
    campaign = make()
    tier = Elsewhere(campaign.log, restores=True)
    campaign.parts = replace(campaign.parts, tiers={"emulated": tier})
    loads: list[int] = []
    for are_kept in (True, True, False, True):
        tier.are_kept = are_kept
        ensure(campaign, nodes=2)
        loads.append(campaign.log.words.count("load"))
    assert loads == [1, 1, 2, 2]


def test_the_longest_unused_data_sets_go_but_none_of_the_campaign(make: Make) -> None:
    campaign, plan = make(), a_plan()
    campaign.execute(plan=plan)
    own = next((campaign.world.cache / "datasets").glob("*/dataset.json")).parent
    for age, name in enumerate(("oldest", "older", "newer", "somebody's")):
        folder = own.with_name(name)
        if name == "somebody's":
            folder.mkdir()
        else:
            marked.make(str(folder), marked_folders.owner(campaign.world))
        (folder / "node-1.img").write_bytes(bytes(2**20))
        (folder / "dataset.json").write_text("{}")
        os.utime(folder / "dataset.json", (age + 1, age + 1))
    os.utime(own / "dataset.json", (0, 0))
    datasets.hold_to(2 * 2**20 + 2**19, plan, campaign.parts, campaign.world)
    left = {file.parent.name for file in own.parent.glob("*/dataset.json")}
    assert left == {own.name, "newer", "somebody's"}
    campaign.execute(plan=plan)
    assert (own / "dataset.json").stat().st_mtime > 1, "it was used now"


def taken_bytes(shelf: Path) -> int:
    """By the files of all data sets."""
    blocks = [file.stat().st_blocks for file in shelf.glob("*/*") if file.is_file()]
    return datasets.BLOCK_BYTES * sum(blocks)


@pytest.mark.parametrize(("less_bytes", "stays"), [(0, True), (1, False)])
def test_data_sets_that_just_fit_stay(make: Make, less_bytes: int, stays: bool) -> None:
    campaign, plan = make(), a_plan()
    campaign.execute(plan=plan)
    shelf = campaign.world.cache / "datasets"
    other = shelf / "other"
    marked.make(str(other), marked_folders.owner(campaign.world))
    (other / "dataset.json").write_text("{}")
    most_bytes = taken_bytes(shelf) - less_bytes
    datasets.hold_to(most_bytes, plan, campaign.parts, campaign.world)
    assert other.exists() is stays


@pytest.mark.parametrize(("less_bytes", "warnings"), [(0, 0), (1, 1)])
def test_a_campaigns_own_data_stay_and_are_warned_of_beyond_the_most(
    make: Make, less_bytes: int, warnings: int
) -> None:
    campaign, plan = make(), a_plan()
    campaign.execute(plan=plan)
    progress = QuietProgress()
    world = replace(campaign.world, progress=progress)
    most_bytes = taken_bytes(world.cache / "datasets") - less_bytes
    datasets.hold_to(most_bytes, plan, campaign.parts, world)
    assert len(progress.said) == warnings
    assert list((world.cache / "datasets").glob("*/dataset.json"))


def words_of(campaign: Campaign, *beginnings: str) -> list[str]:
    return [word for word in campaign.log.words if word.startswith(beginnings)]


# ------------------------------------------------------------------ copies that do not start


def test_nodes_that_do_not_start_from_a_copy_are_loaded_instead(make: Make) -> None:
    """In that run and in all later ones of the campaign; the next campaign tries the copy again."""
    died = NodeError("node-1 was not ready within 300 s", evidence="tablet not running")
    campaign = make(Failing("database up", died, (2,)))  # the first loads for all runs
    first, second = campaign.execute(repetitions=2)
    assert [first.outcome, second.outcome] == ["done", "done"]
    assert campaign.log.words.count("load") == 3, "the copy, and both runs"
    assert words_of(campaign, "database", "disks") == [
        *("database up", "database down"),
        *("disks of premium up", "database up", "disks of premium down"),
        *2
        * (
            "disks of premium up",
            "database up",
            "database down",
            "disks of premium down",
        ),
    ]
    for record in (first, second):
        (doubt,) = [doubt for doubt in record.doubts if doubt.kind == "not restored"]
        assert "node-1 was not ready within 300 s" in doubt.text
        assert doubt.run == record.run.number
    log = next((campaign.results / "latest").glob("runs/*/raw/start-from-copy.txt"))
    assert log.read_text() == "tablet not running"
    campaign.world.platform.campaign = "c2"
    (third,) = campaign.execute()
    assert campaign.log.words.count("load") == 3 and not third.doubts


@pytest.mark.parametrize(("restores", "times"), [(False, (1,)), (True, (2, 3))])
def test_nodes_that_do_not_start_at_all_fail_the_run(
    make: Make, restores: bool, times: tuple[int, ...]
) -> None:
    """Without a copy, or with one and then without."""
    died = NodeError("node-1 was not ready within 300 s")
    campaign = make(Failing("database up", died, times), restores=restores)
    (record,) = campaign.execute()
    assert record.outcome == "failed" and "not ready" in str(record.failure)


def test_a_node_that_dies_after_its_start_is_not_loaded_anew(make: Make) -> None:
    campaign = make(Failing("warm", NodeError("node-1 died"), (1,)))
    (record,) = campaign.execute()
    assert record.outcome == "failed" and campaign.log.words.count("load") == 1


# ------------------------------------------------------------------ loads that fail


def folder_of(campaign: Campaign) -> Path | None:
    """The only data set's folder, if there is one."""
    folders = list((campaign.world.cache / "datasets").glob("[!.]*"))
    assert len(folders) <= 1
    return folders[0] if folders else None


def test_a_load_that_can_go_on_starts_from_its_own_disks(make: Make) -> None:
    campaign = make(Failing("load", UnfinishedError("Timed out"), (1,)))
    with pytest.raises(UnfinishedError, match="Timed out") as raised:
        ensure(campaign, nodes=2)
    assert "goes on" in raised.value.advice
    folder = folder_of(campaign)
    assert folder and not (folder / "dataset.json").exists()
    left = json.loads((folder / "loading.json").read_text())
    assert left == {"addresses": ["10.0.0.11", "10.0.0.12"], "failure": "Timed out"}
    (folder / "node-1.img").write_text("what was loaded")
    seen: list[NodesData] = []
    loading = campaign.parts.tiers["emulated"].loading  # type: ignore[attr-defined]

    def watched(tier: Tier, data: NodesData, world: World) -> object:
        seen.append(data)
        assert (folder / "node-1.img").read_text() == "what was loaded"
        return loading(tier, data, world)

    campaign.parts.tiers["emulated"].loading = watched  # type: ignore[attr-defined]
    snapshots = ensure(campaign, nodes=2)
    assert seen[0].resumed is True and snapshots[0].parent == folder
    assert (folder / "dataset.json").is_file() and not (
        folder / "loading.json"
    ).exists()
    assert campaign.log.words.count("load") == 2


def test_a_load_that_fails_twice_alike_starts_anew(make: Make) -> None:
    campaign = make(Failing("load", UnfinishedError("Timed out"), (1, 2)))
    for advice, kept in (("goes on", True), ("from the start", False)):
        with pytest.raises(UnfinishedError, match="Timed out") as raised:
            ensure(campaign, nodes=1)
        assert advice in raised.value.advice
        assert (folder_of(campaign) is not None) == kept
    ensure(campaign, nodes=1)


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), NodeError("died"), LoadError("broken")]
)
def test_what_cannot_go_on_leaves_nothing(make: Make, error: BaseException) -> None:
    """Neither at first, nor after a load that could."""
    campaign = make(Failing("load", error, (1, 3)))
    with pytest.raises(type(error)):
        ensure(campaign, nodes=1)
    assert folder_of(campaign) is None
    campaign = make(Failing("load", error, (1,)))
    folder = campaign.world.cache / "datasets"
    campaign.log._error, campaign.log._times = UnfinishedError("x"), (1,)  # type: ignore[attr-defined]
    with pytest.raises(UnfinishedError):
        ensure(campaign, nodes=1)
    campaign.log._error, campaign.log._times = error, (2,)  # type: ignore[attr-defined]
    with pytest.raises(type(error)):
        ensure(campaign, nodes=1)
    assert list(folder.glob("*")) == []


def test_an_unfinished_load_waits_for_its_addresses(make: Make) -> None:
    campaign = make(Failing("load", UnfinishedError("Timed out"), (1,)))
    with pytest.raises(UnfinishedError):
        ensure(campaign, nodes=1)
    folder = folder_of(campaign)
    assert folder
    file = folder / "loading.json"
    file.write_text(json.dumps({"addresses": ["10.9.9.11"], "failure": "Timed out"}))
    with pytest.raises(UnavailableError, match=r"10\.9\.9\.11"):
        ensure(campaign, nodes=1)
    assert file.is_file(), "hours of loading are not lost for an address"


def test_clean_removes_an_unfinished_load(make: Make) -> None:
    campaign = make(Failing("load", UnfinishedError("Timed out"), (1,)))
    with pytest.raises(UnfinishedError):
        ensure(campaign, nodes=1)
    assert list(
        datasets.forget(tier_mechanisms(), unmounted(campaign.world), only_list=False)
    )
    assert folder_of(campaign) is None


@pytest.mark.parametrize("name", ["dataset.json", "loading.json", "places.json"])
def test_a_small_file_that_was_cut_stops_nothing(make: Make, name: str) -> None:
    for cut in range(0, 200, 20):
        campaign = make()
        file = ensure(campaign, nodes=1)[0].parent / name
        if name == "loading.json":
            (file.parent / "dataset.json").unlink()
            file.write_text(
                json.dumps({"addresses": ["10.0.0.11"], "failure": "Timed out"})
            )
        file.write_bytes(file.read_bytes()[: min(cut, file.stat().st_size - 2)])
        ensure(campaign, nodes=1)
        assert list(
            datasets.forget(
                tier_mechanisms(), unmounted(campaign.world), only_list=False
            )
        )


@pytest.mark.parametrize("part", [0, 0.3, 0.7, 0.97])
def test_no_file_of_the_cache_that_was_cut_stops_a_campaign(
    make: Make, part: float
) -> None:
    campaign = make()
    campaign.execute()
    spent_times.keep("a part", 5.0, campaign.world)
    cut = sorted(campaign.world.cache.rglob("*.json"))
    assert {"dataset.json", "durations.json"} <= {file.name for file in cut}
    for file in cut:
        file.write_bytes(file.read_bytes()[: int(file.stat().st_size * part)])
    assert {one.outcome for one in campaign.execute()} == {"done"}
    spent_times.keep("a part", 5.0, campaign.world)
    for file in cut:
        json.loads(file.read_text())  # each is whole again


@pytest.mark.parametrize("mark", ["", '{"host": "a'])
def test_a_data_set_whose_mark_was_cut_is_set_aside_and_loaded_anew(
    make: Make, mark: str
) -> None:
    campaign = make()
    folder = ensure(campaign, nodes=1)[0].parent
    (folder / marked.MARK).write_text(mark)
    (folder / "dataset.json").write_text("{")
    assert ensure(campaign, nodes=1)[0].parent == folder
    assert campaign.log.words.count("load") == 2
    (aside,) = folder.parent.glob(f"{folder.name}-aside-*")
    assert (aside / "dataset.json").read_text() == "{"
    assert isinstance(campaign.world.progress, QuietProgress)
    (said,) = [text for text in campaign.world.progress.said if "was renamed" in text]
    assert (
        said.startswith(str(folder)) and f"rm -r --one-file-system -- {aside}" in said
    )


def test_clean_leaves_what_is_not_ours_in_a_folder_that_is_the_cache(
    make: Make,
) -> None:
    campaign = make()
    cache = campaign.world.cache
    theirs = [
        cache / one
        for one in ("datasets/a.bin", "datasets/mine/b", "disks/c", "gates/d")
    ]
    for file in theirs:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("theirs")
    earlier = cache / "datasets" / "0123456789abcdef"
    earlier.mkdir()
    (earlier / "dataset.json").write_text("{}")
    unsaid = (
        cache / "datasets" / "fedcba9876543210"
    )  # the mark of an earlier release is empty
    unsaid.mkdir()
    (unsaid / marked.MARK).touch()
    folder = ensure(campaign, nodes=1)[0].parent
    (folder / "node-1.img").write_text("rows")
    listed = list(
        datasets.forget(tier_mechanisms(), unmounted(campaign.world), only_list=True)
    )
    assert (
        folder.is_dir()
        and list(
            datasets.forget(
                tier_mechanisms(), unmounted(campaign.world), only_list=False
            )
        )
        == listed
    )
    told = {one.place: one for one in listed}
    assert set(told) == {str(one) for one in (folder, earlier, unsaid)}
    assert told[str(folder)].size_bytes >= 4096 and not folder.exists()
    for one in (earlier, unsaid):
        assert (
            str(told[str(one)]).endswith(f"rm -r --one-file-system -- {one}")
            and one.is_dir()
        )
    assert [file.read_text() for file in theirs] == ["theirs"] * 4


def test_data_sets_may_be_a_link_to_a_larger_disk(make: Make, tmp_path: Path) -> None:
    campaign, larger = make(), tmp_path / "larger"
    larger.mkdir()
    (larger / "theirs").touch()
    campaign.world.cache.mkdir(parents=True, exist_ok=True)
    (campaign.world.cache / "datasets").symlink_to(larger)
    ensure(campaign, nodes=1)
    (found,) = datasets.forget(
        tier_mechanisms(), unmounted(campaign.world), only_list=False
    )
    assert not found.foreign and not found.kept
    assert [one.name for one in larger.iterdir()] == ["theirs"]
