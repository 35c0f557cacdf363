"""Claims of a StorageClass: what is rented and given back, what is believed, what is kept.

Goal: no volume outlives its block but the data that are kept, and no volume is used that is less
than was asked for. Method: the mechanism on a platform that keeps claims, snapshots and classes as
Kubernetes' API does; `tests/kubernetes` runs the same on a real one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.common.teardown import sweeping
from orchestrator.errors import GateError, UnavailableError
from orchestrator.extensions.kubernetes import volume_claims
from orchestrator.extensions.kubernetes.storage_class import StorageClassTier
from orchestrator.parts import Disks, NodesData
from orchestrator.platforms import own_images
from orchestrator.powers import (
    MachineTerm,
    PlatformAbilities,
    RentedVolume,
    SnapshotClass,
    StorageClass,
    VolumeSource,
    World,
)
from orchestrator.run.data import datasets
from orchestrator.tier import ClassWanted, Gate, GateCheck, Snapshots, Tier
from tests import ROOT
from tests.fake_parts import fake_parts
from tests.fakes import FakePlatform, Log, QuietProgress, fake_world
from tests.plans import a_profile, a_workload
from tests.tiers import a_tier, changed

GIB = 2**30
FAST = StorageClass(
    "fast", "disk.test", {"iops": "500"}, waits=True, is_default=False, retains=False
)
MADE = ClassWanted(
    "p15", "disk.csi.azure.com", {"skuName": "Premium_LRS"}, 256 * GIB, nodes=2
)
TIER = a_tier("p15", "P15", "storage-class", 1100, 125_000_000, storage_class=MADE)
NAMED = changed(TIER, storage_class=ClassWanted("fast", size_bytes=10 * GIB, nodes=3))
LOGS = changed(
    a_tier("log", "Log", "storage-class", 500, 50_000_000),
    storage_class=ClassWanted("logs", "ebs.csi.aws.com", {"type": "gp3"}, 4 * GIB, 3),
)
# It ends with the checksum of the tier's name, because the class is called otherwise.
LOGS_CLASS = "tierbench-c1-logs-836ff1"
WITH_LOGS = changed(NAMED, wal=LOGS)
MECHANISM = StorageClassTier()


@dataclass
class Rents:
    """What claims would get: changes of what was asked for, and whether snapshots can be made."""

    change: Mapping[str, Any] = field(default_factory=dict)
    snapshots: bool = True
    retained_snapshots: bool = False
    drivers_without_snapshots: tuple[str, ...] = ()
    # Class → what machines have that take a volume of it.
    machine_terms: Mapping[str, tuple[MachineTerm, ...]] = field(default_factory=dict)


class ClaimsPlatform(FakePlatform):
    """`there`: what exists now: `claim <name>`, `snapshot <name>`, and classes by name. A class
    that waits gives a volume only while a container uses the claim."""

    def __init__(self, rents: Rents) -> None:
        super().__init__(images=[own_images.tag(ROOT, "disk")])
        self.rents = rents
        self.there: dict[str, Any] = {"fast": FAST}
        self.sources: dict[str, VolumeSource | None] = {}

    @property
    def abilities(self) -> PlatformAbilities:
        claims: Any = self
        return PlatformAbilities(
            claims=claims, sweep_between_runs=self.sweep_between_runs
        )

    def storage_classes(self) -> tuple[StorageClass, ...]:
        return tuple(
            one for one in self.there.values() if isinstance(one, StorageClass)
        )

    @contextmanager
    def _for_a_block(
        self, key: str, what: Any, given: Any, stays: bool = False
    ) -> Iterator[Any]:
        self.there[key] = what
        try:
            yield given
        except BaseException:
            del self.there[key]
            raise
        if not stays:
            del self.there[key]

    def storage_class(self, manifest: Mapping[str, Any]) -> Any:
        name, parameters = manifest["metadata"]["name"], manifest["parameters"]
        made = StorageClass(
            name,
            manifest["provisioner"],
            parameters,
            waits=True,
            is_default=False,
            retains=False,
        )
        return self._for_a_block(name, made, made)

    def claim(
        self,
        name: str,
        storage_class: str,
        size_bytes: int,
        source: VolumeSource | None = None,
        stays: bool = False,
    ) -> Any:
        assert storage_class in self.there
        assert source is None or f"{source.kind} {source.name}" in self.there
        self.sources[name] = source
        return self._for_a_block(
            f"claim {name}", (storage_class, size_bytes), name, stays
        )

    def rented(self, claim: str, timeout_s: float) -> RentedVolume:
        users = [spec for spec in self.specs.values() if spec.mounts[0].source == claim]
        assert users and ("start", users[-1].name) in self.asked, (
            "nothing uses it: no volume"
        )
        name, size = self.there[f"claim {claim}"]
        found = self.there[name]
        given = RentedVolume(
            f"pv-of-{claim}", name, found.provisioner, size, fstype="xfs"
        )
        terms = self.rents.machine_terms.get(name, ())
        return replace(given, machine_terms=terms, **self.rents.change)

    def snapshot_class(self, driver: str) -> SnapshotClass | None:
        if not self.rents.snapshots or driver in self.rents.drivers_without_snapshots:
            return None
        return SnapshotClass("shots", retains=self.rents.retained_snapshots)

    def holds(self, source: VolumeSource) -> bool:
        return f"{source.kind} {source.name}" in self.there

    def retained(self) -> tuple[str, ...]:
        return ("pv-1", "pv-2")

    def sweep_between_runs(self) -> tuple[str, ...]:
        return self.sweep()

    def snapshot(
        self, name: str, claim: str, timeout_s: float, stays: bool = False
    ) -> Any:
        assert f"claim {claim}" in self.there
        return self._for_a_block(f"snapshot {name}", claim, name, stays)


@pytest.fixture
def rents() -> Rents:
    return Rents()


@pytest.fixture
def platform(rents: Rents) -> ClaimsPlatform:
    return ClaimsPlatform(rents)


@pytest.fixture(name="world")
def claims_world(platform: ClaimsPlatform, tmp_path: Path) -> World:
    return replace(fake_world(None, tmp_path), platform=platform, root=ROOT)


def attach(tier: Tier, world: World, snapshots: tuple[Path, ...] = ()) -> Disks:
    nodes = tier.disk.storage_class.nodes if tier.disk.storage_class else 0
    with MECHANISM.attached(
        tier, NodesData([5 * GIB] * nodes, snapshots), world
    ) as disks:
        return disks


def test_each_node_has_a_claim_which_is_given_back(
    world: World, platform: ClaimsPlatform
) -> None:
    with MECHANISM.attached(TIER, NodesData([5 * GIB] * 2), world) as disks:
        names = [volume.name for volume in disks.volumes]
        assert [volume.placement for volume in disks.volumes] == ["node-1", "node-2"]
        sizes = [platform.there[f"claim {name}"][1] for name in names]
        assert sizes == [256 * GIB] * 2, (
            "the size that the limits need, not that of the data"
        )
    assert platform.there == {"fast": FAST}


def test_a_class_of_ours_bears_the_campaigns_name(world: World) -> None:
    """It is of the whole cluster: two campaigns must not meet."""
    facts = attach(TIER, world).facts
    assert facts["storage_class"] == "tierbench-c1-p15"
    assert facts["parameters"] == {"skuName": "Premium_LRS"}


def test_a_volume_comes_where_its_node_will_run(
    world: World, platform: ClaimsPlatform
) -> None:
    attach(NAMED, world)
    placed = {spec.mounts[0].source: spec.placement for spec in platform.specs.values()}
    assert sorted(placed.values()) == ["node-1", "node-2", "node-3"]


def test_what_was_given_is_recorded(world: World) -> None:
    disks = attach(NAMED, world).facts["disks"]
    assert list(disks) == ["node-1", "node-2", "node-3"]
    assert (
        disks["node-2"]["size_bytes"] == 10 * GIB
        and disks["node-2"]["file_system"] == "xfs"
    )


@pytest.mark.parametrize(
    ("tier", "change", "words"),
    [
        (NAMED, {"size_bytes": 9 * GIB}, "less than the 10 GiB asked for"),
        (TIER, {"size_bytes": 512 * GIB}, "more than the 256 GiB asked for"),
        (NAMED, {"storage_class": "slow"}, "of the class 'slow'"),
        (NAMED, {"driver": "nfs"}, "nfs made it, not disk.test"),
    ],
)
def test_another_volume_than_asked_for_is_refused(
    world: World,
    rents: Rents,
    platform: ClaimsPlatform,
    tier: Tier,
    change: dict[str, object],
    words: str,
) -> None:
    rents.change = change
    with pytest.raises(GateError, match=words):
        attach(tier, world)
    assert platform.there == {"fast": FAST}, "nothing rented is left"


def test_a_larger_volume_of_a_named_class_is_taken(world: World, rents: Rents) -> None:
    """Only a class made from a row has limits that its size decides."""
    rents.change = {"size_bytes": 12 * GIB}
    assert attach(NAMED, world).facts["disks"]["node-1"]["size_bytes"] == 12 * GIB


def test_what_a_driver_notes_otherwise_is_a_difference(
    world: World, rents: Rents
) -> None:
    rents.change = {"attributes": {"IOPS": "250"}}
    differences = attach(NAMED, world).facts["cloud"]["differences"]
    assert differences[0] == (
        "node-1: the driver reports iops 250 for its volume, but the class has 500"
    )
    rents.change = {"attributes": {"IOPS": "500", "pool": "b"}}
    assert "cloud" not in attach(NAMED, world).facts


# ------------------------------------------------------------------ data that are kept


def kept(tier: Tier, world: World) -> tuple[Path, ...]:
    return MECHANISM.snapshots(tier, [GIB] * 3, "f00", world)


def test_data_are_kept_as_snapshots_and_each_run_has_copies(
    world: World, platform: ClaimsPlatform
) -> None:
    notes = kept(NAMED, world)
    with MECHANISM.loading(NAMED, NodesData([GIB] * 3, notes), world) as volumes:
        loaded = [volume.name for volume in volumes]
        assert all(volume.kept for volume in volumes)
    assert set(platform.there) == {"fast", *(f"snapshot {name}" for name in loaded)}
    disks = attach(NAMED, world, notes)
    assert all(volume.restored and not volume.kept for volume in disks.volumes)
    given = [platform.sources[volume.name] for volume in disks.volumes]
    assert given == [VolumeSource("snapshot", name) for name in loaded], (
        "each node its own data"
    )
    assert disks.facts["restored"] == {"way": "snapshot"}
    readers = [
        asked[1]
        for asked in platform.asked
        if asked[0] == "exec" and "find" in asked[-1]
    ]
    assert sorted(readers) == [f"{volume.name}-first" for volume in disks.volumes], (
        "each in full"
    )


def test_without_snapshots_every_run_loads_or_copies_claims_as_asked(
    world: World, rents: Rents, platform: ClaimsPlatform
) -> None:
    rents.snapshots = False
    assert not kept(NAMED, world)
    copies = changed(NAMED, snapshots=Snapshots("copy"))
    notes = kept(copies, world)
    with MECHANISM.loading(copies, NodesData([GIB] * 3, notes), world) as volumes:
        loaded = [volume.name for volume in volumes]
    assert set(platform.there) == {"fast", *(f"claim {name}" for name in loaded)}
    given = [
        platform.sources[volume.name] for volume in attach(copies, world, notes).volumes
    ]
    assert given == [VolumeSource("claim", name) for name in loaded]


def test_nothing_is_kept_of_a_load_that_failed(
    world: World, platform: ClaimsPlatform
) -> None:
    notes = kept(NAMED, world)
    with (
        pytest.raises(KeyError),
        MECHANISM.loading(NAMED, NodesData([GIB] * 3, notes), world),
    ):
        raise KeyError
    assert platform.there == {"fast": FAST} and not any(note.exists() for note in notes)


def test_a_load_that_goes_on_begins_with_what_was_kept(
    world: World, platform: ClaimsPlatform
) -> None:
    copies = changed(NAMED, snapshots=Snapshots("copy"))
    notes = kept(copies, world)
    with MECHANISM.loading(copies, NodesData([GIB] * 3, notes), world) as volumes:
        before = [volume.name for volume in volumes]
    with MECHANISM.loading(copies, NodesData([GIB] * 3, notes, True), world) as volumes:
        after = [volume.name for volume in volumes]
    assert not set(before) & set(after)
    assert [platform.sources[name] for name in after] == [
        VolumeSource("claim", one) for one in before
    ]
    given = [
        platform.sources[volume.name] for volume in attach(copies, world, notes).volumes
    ]
    assert given == [VolumeSource("claim", name) for name in after]


def test_a_data_set_is_loaded_once_in_a_campaign(
    world: World, platform: ClaimsPlatform
) -> None:
    log, profile = Log(), a_profile(nodes=3)
    profile = replace(profile, tier=NAMED)
    parts = replace(fake_parts(log), tiers={MECHANISM.name: MECHANISM})
    first, again = (
        datasets.ensure(profile, a_workload(), 1, parts, world) for _ in range(2)
    )
    assert log.words.count("load") == 1 and first == again
    assert all(volume.restored for volume in attach(NAMED, world, first or ()).volumes)
    platform.campaign = "c2"
    datasets.ensure(profile, a_workload(), 1, parts, world)
    assert log.words.count("load") == 2, "what the other had rented is gone with it"


@pytest.mark.parametrize("snapshots", [None, Snapshots("copy")])
def test_data_that_are_gone_in_spite_of_their_note_are_loaded_anew(
    world: World, platform: ClaimsPlatform, snapshots: Snapshots | None
) -> None:
    log, profile = Log(), a_profile(nodes=3)
    profile = replace(profile, tier=changed(NAMED, snapshots=snapshots))
    parts = replace(fake_parts(log), tiers={MECHANISM.name: MECHANISM})
    notes = datasets.ensure(profile, a_workload(), 1, parts, world)
    assert notes is not None
    del platform.there[notes[1].read_text().strip()]
    assert datasets.ensure(profile, a_workload(), 1, parts, world) == notes
    assert log.words.count("load") == 2
    assert all(note.read_text().strip() in platform.there for note in notes)


def test_data_are_of_one_class_and_one_campaign(
    world: World, platform: ClaimsPlatform
) -> None:
    copies = changed(NAMED, snapshots=Snapshots("copy"))
    other = changed(copies, storage_class=ClassWanted("slow", nodes=3))
    before = kept(copies, world)
    assert before not in (kept(other, world), kept(NAMED, world))
    platform.campaign = "c2"
    assert kept(copies, world) != before


# ------------------------------------------------------------------ volumes for logs


@pytest.mark.parametrize(
    ("name", "other"), [("x's WAL", "x-wal"), ("disk_a", "disk-a"), ("Disk", "disk")]
)
def test_tiers_of_unlike_names_never_share_a_class(
    name: str, other: str, world: World
) -> None:
    made_names: list[str] = []
    for tier_name in (name, other):
        wanted = replace(MADE, name=other)
        tier = changed(TIER, name=tier_name, storage_class=wanted)
        with volume_claims.class_of(tier, world) as made:
            made_names.append(made.name)
    assert made_names[1] == f"tierbench-c1-{other}"
    assert made_names[0].startswith(f"tierbench-c1-{other}-")


def test_each_node_has_a_second_claim_for_its_log_of_a_class_of_its_own(
    world: World, platform: ClaimsPlatform
) -> None:
    with MECHANISM.attached(WITH_LOGS, NodesData([5 * GIB] * 3), world) as disks:
        for volume in disks.volumes:
            data = platform.there[f"claim {volume.name}"]
            log = platform.there[f"claim {volume.wal}"]
            assert data == ("fast", 10 * GIB)
            assert log == (LOGS_CLASS, 4 * GIB)
        used = {spec.mounts[0].source: spec for spec in platform.specs.values()}
        second = disks.volumes[1]
        # Where the node runs: another zone's disk could not be attached there.
        assert used[second.wal].placement == used[second.name].placement == "node-2"
    assert platform.there == {"fast": FAST}


def test_what_was_given_for_logs_is_recorded_beside_the_data(world: World) -> None:
    facts = attach(WITH_LOGS, world).facts
    assert facts["storage_class"] == "fast"
    assert facts["wal"]["storage_class"] == LOGS_CLASS
    assert list(facts["disks"])[2:4] == ["node-3", "node-1.wal"]
    log = facts["disks"]["node-1.wal"]
    assert log["used_by"] == ["node-1's WAL"] and log["size_bytes"] == 4 * GIB


def test_a_smaller_volume_for_a_log_is_refused(
    world: World, platform: ClaimsPlatform
) -> None:
    platform.rents.change = {"size_bytes": 3 * GIB}
    with pytest.raises(GateError, match=r"log: the volume of .*-wal is not what"):
        attach(changed(WITH_LOGS, storage_class=ClassWanted("fast", nodes=3)), world)
    assert platform.there == {"fast": FAST}


@pytest.mark.parametrize("snapshots", [None, Snapshots("copy")])
def test_logs_are_kept_and_brought_back_with_their_data(
    world: World, platform: ClaimsPlatform, snapshots: Snapshots | None
) -> None:
    logs = changed(LOGS, snapshots=snapshots)
    tier = changed(WITH_LOGS, snapshots=snapshots, wal=logs)
    notes = kept(tier, world)
    assert len(notes) == 6
    with MECHANISM.loading(tier, NodesData([GIB] * 3, notes), world) as volumes:
        loaded = [(volume.name, volume.wal) for volume in volumes]
    for resumed in (False, True):
        given: list[tuple[str, str]] = []
        for volume in attach(tier, world, notes).volumes:
            data = platform.sources[volume.name]
            log = platform.sources[volume.wal]
            assert data is not None and log is not None
            given.append((data.name, log.name))
        assert given == loaded
        if not resumed:
            again = NodesData([GIB] * 3, notes, resumed=True)
            with MECHANISM.loading(tier, again, world) as volumes:
                loaded = [(volume.name, volume.wal) for volume in volumes]


@pytest.mark.parametrize(
    ("log_terms", "is_refused"),
    [
        (({"zone": ("a",)},), False),
        # One that is copied between zones can be used in each of them.
        (({"zone": ("b", "a")},), False),
        (({"zone": ("b",)}, {"zone": ("a",)}), False),
        (({"rack": ("9",)},), False),
        ((), False),
        (({"zone": ("b",)},), True),
        (({"zone": ("b",)}, {"zone": ("c",), "rack": ("9",)}), True),
    ],
)
def test_volumes_that_no_machine_takes_together_are_refused(
    world: World,
    platform: ClaimsPlatform,
    log_terms: tuple[MachineTerm, ...],
    is_refused: bool,
) -> None:
    """A class that binds at once chooses a zone for each claim by itself."""
    of_data = ({"zone": ("a",)},)
    platform.rents.machine_terms = {"fast": of_data, LOGS_CLASS: log_terms}
    if not is_refused:
        assert attach(WITH_LOGS, world).volumes
        return
    with pytest.raises(UnavailableError) as refusal:
        attach(WITH_LOGS, world)
    assert "node-1 has its data on a volume of zone=a" in refusal.value.what
    assert "WaitForFirstConsumer" in (refusal.value.advice or "")
    assert platform.there == {"fast": FAST}


def test_data_are_not_those_of_a_node_with_its_log_elsewhere(world: World) -> None:
    other = changed(LOGS, storage_class=ClassWanted("fast", nodes=3))
    folders = {
        kept(tier, world)[0].parent
        for tier in (NAMED, WITH_LOGS, changed(NAMED, wal=other))
    }
    assert len(folders) == 3


def test_nothing_is_kept_if_one_driver_makes_no_snapshots(
    world: World, platform: ClaimsPlatform
) -> None:
    platform.rents.drivers_without_snapshots = ("ebs.csi.aws.com",)
    assert len(kept(NAMED, world)) == 3
    assert kept(WITH_LOGS, world) == ()


def test_the_class_of_logs_is_looked_at_as_that_of_the_data(
    world: World, platform: ClaimsPlatform
) -> None:
    gone = changed(LOGS, storage_class=ClassWanted("gold"))
    with pytest.raises(UnavailableError, match="log: the cluster has no StorageClass"):
        MECHANISM.check(changed(NAMED, wal=gone), world)
    platform.there["kept"] = replace(FAST, name="kept", retains=True)
    stays = changed(LOGS, storage_class=ClassWanted("kept"))
    with pytest.raises(UnavailableError, match="'kept' keeps its volumes"):
        MECHANISM.check(changed(NAMED, wal=stays), world)


def test_the_gate_measures_the_logs_volumes_by_their_own_tier(world: World) -> None:
    def take(tier: Tier, disks: Disks, world: World, *, thorough: bool) -> Gate:
        iops = tier.limits.iops or 0
        check = GateCheck("IOPS", "1/s", iops, 1.0, 5.0, "slow", "iops_read")
        return Gate(tier.name, 0.0, (check,), dict(disks.facts))

    gate = StorageClassTier(take).gate(WITH_LOGS, world, thorough=False)
    data, log = gate.checks[:2]
    assert (data.disk, data.declared, data.nodes) == (
        "node-1 (fast)",
        1100,
        ("node-1",),
    )
    assert (log.disk, log.declared, log.nodes) == (
        f"node-1's WAL ({LOGS_CLASS})",
        500,
        (),
    )
    assert len(gate.checks) == 6
    assert [check.is_of_log for check in gate.checks[:2]] == [False, True]
    assert gate.device["wal"]["provisioner"] == "ebs.csi.aws.com"


# ------------------------------------------------------------------ checks and gate


def test_it_needs_a_platform_that_rents(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError) as refusal:
        MECHANISM.check(NAMED, fake_world(None, tmp_path))
    assert "PLATFORM=kubernetes" in (refusal.value.advice or "")


def test_a_class_that_is_missing_is_named_with_those_that_exist(world: World) -> None:
    with pytest.raises(UnavailableError, match=r"no StorageClass 'gold'; it has fast"):
        MECHANISM.check(changed(NAMED, storage_class=ClassWanted("gold")), world)
    MECHANISM.check(NAMED, world)
    MECHANISM.check(TIER, world)


def test_a_class_that_keeps_its_volumes_is_refused_unless_the_profile_says_so(
    world: World, platform: ClaimsPlatform
) -> None:
    platform.there["fast"] = replace(FAST, retains=True)
    with pytest.raises(UnavailableError, match="'fast' keeps its volumes") as refusal:
        MECHANISM.check(NAMED, world)
    assert "allow_retained_volumes: true" in (refusal.value.advice or "")
    MECHANISM.check(changed(NAMED, allow_retained_volumes=True), world)
    MECHANISM.check(TIER, world)


def test_so_is_a_snapshot_class_where_data_are_kept_as_snapshots(
    world: World, platform: ClaimsPlatform, rents: Rents
) -> None:
    rents.retained_snapshots = True
    with pytest.raises(UnavailableError, match="'shots' keeps its snapshots"):
        MECHANISM.check(NAMED, world)
    with pytest.raises(UnavailableError, match="'shots' keeps its snapshots"):
        MECHANISM.check(TIER, world)
    MECHANISM.check(changed(NAMED, snapshots=Snapshots("copy")), world)
    assert platform.there == {"fast": FAST}


def test_what_was_allowed_to_stay_is_named_at_the_end(world: World) -> None:
    progress = QuietProgress()
    with sweeping(replace(world, progress=progress)):
        pass
    (said,) = progress.said
    assert said.endswith("at a cost, until removed: pv-1, pv-2")


def test_the_gate_measures_a_volume_for_each_node(
    world: World, platform: ClaimsPlatform
) -> None:
    measured: list[str] = []

    def take(tier: Tier, disks: Disks, world: World, *, thorough: bool) -> Gate:
        (volume,) = disks.volumes
        assert f"claim {volume.name}" in platform.there, "while it is rented"
        measured.append(volume.placement)
        check = GateCheck("IOPS", "1/s", 1100, 1090.0, 5.0, "ok", "iops_read")
        return Gate(
            tier.name,
            0.0,
            (check,),
            {**disks.facts, "host_cpu_pct": 9.0 * len(measured)},
        )

    gate = StorageClassTier(take).gate(NAMED, world, thorough=False)
    assert measured == ["node-1", "node-2", "node-3"]
    assert [check.nodes for check in gate.checks] == [
        ("node-1",),
        ("node-2",),
        ("node-3",),
    ]
    assert gate.device["host_cpu_pct"] == 27.0 and len(gate.device["disks"]) == 3
    assert platform.there == {"fast": FAST}
    shown: Any = world.progress
    assert not any("reading the copy" in step for step in shown.steps), "it is empty"


def test_a_gate_is_taken_on_the_size_that_runs_get(world: World, rents: Rents) -> None:
    rents.change = {"size_bytes": GIB}
    with pytest.raises(GateError, match="less than the 10 GiB"):
        MECHANISM.gate(NAMED, world, thorough=False)
    assert volume_claims.size_bytes(TIER) == 256 * GIB
