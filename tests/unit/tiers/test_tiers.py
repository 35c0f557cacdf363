"""Disk tiers without a disk: what is asked of a device, what is found of a real one, and how fio's
figures become verdicts. Real devices: tests/integration/test_tiers.py.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import GateError, RunError, UnavailableError, UsageError
from orchestrator.facts import GateWord
from orchestrator.model import Node, Volume
from orchestrator.parts import TierAbilities, TierMechanism
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import (
    RUNNING,
    Completed,
    ContainerEntry,
    ContainerState,
    World,
)
from orchestrator.run.disks import busy_machines
from orchestrator.tier import (
    DISKS,
    Burst,
    ClassWanted,
    DiskKind,
    Emulated,
    Gate,
    GateCheck,
    Limits,
    NodeDisks,
    Tier,
)
from orchestrator.tiers import mounted, tier_mechanisms
from orchestrator.tiers.common.emulated import (
    disk_server,
    host_load,
    limit_changes,
    running_disks,
)
from orchestrator.tiers.common.emulated.server_limits import limits_of
from orchestrator.tiers.common.gate import expected, measured_checks, truth_gate
from orchestrator.tiers.emulated import EmulatedTier
from tests.fakes import FakePlatform, completed, fake_world
from tests.tiers import a_tier, changed

PREMIUM = a_tier("premium", "Premium", "emulated", 1100, 125_000_000, 0.003, 0.002)


class Answers(FakePlatform):
    """Answers each command line from a table: with its output, or how it failed."""

    def __init__(
        self,
        answers: Mapping[str, str | Completed] | None = None,
        root: Path = Path("/"),
    ) -> None:
        super().__init__(
            answer=lambda _container, argv: (answers or {})[" ".join(argv)]
        )
        self.root = root

    def machines(self) -> tuple[LocalMachine, ...]:
        return (LocalMachine(self.root),)

    def find_containers(self, role: str = "") -> tuple[ContainerEntry, ...]:
        scope = "tierbench-1f2e3d"
        ended = ContainerEntry(f"{scope}-4-disk-node-3", "", ContainerState("exited"))
        nodes = [f"{scope}-4-disk-node-{number}" for number in (10, 2, 1)]
        running = [
            ContainerEntry(one, "", RUNNING)
            for one in (f"{scope}-g1-disk-gate", *nodes)
        ]
        return (ended, *running) if role == "disk" else ()


def change(engine: FakePlatform, **limits: float) -> Mapping[str, float]:
    return limit_changes.change("disk", limits, fake_world(platform=engine))


# ------------------------------------------------------------------ emulated


def test_limits_of_a_tier_as_the_device_is_asked_for_them() -> None:
    assert limits_of(PREMIUM) == {
        "iops": 1100,
        "bytes_per_s": 125_000_000,
        "io_unit": 262_144,
        "read_latency_us": 3000,
        "write_latency_us": 2000,
    }


@pytest.mark.parametrize(
    ("start_pct", "length"), [(100.0, 30.0), (50.0, 30.0), (0.0, None)]
)
def test_a_bucket_that_starts_empty_stays_empty(
    start_pct: float, length: float | None
) -> None:
    tier = changed(PREMIUM, burst=Burst(3500, None, 30.0, start_pct))
    limits = limits_of(tier)
    assert limits.get("iops_burst_length") == length
    assert limits.get("burst_start") == (start_pct or None)
    assert "bytes_burst" not in limits


_OF_DISKS = (
    "is_real",
    "has_gate",
    "has_limits",
    "holds_limits",
    "can_keep_data",
    "is_rented_for_each_run",
    "is_of_others",
    "is_placed_by_profile",
)
_CHECKED = {"has_gate", "has_limits", "can_keep_data"}


@pytest.mark.parametrize(
    ("kind", "true"),
    [
        ("emulated", {*_CHECKED, "holds_limits"}),
        ("mounted", {*_CHECKED, "is_real", "is_placed_by_profile"}),
        ("storage-class", {*_CHECKED, "is_real", "is_rented_for_each_run"}),
        # Others keep its data, and have it checked.
        ("existing", {"has_limits", "is_real", "is_of_others"}),
        ("none", set()),
        ("dry", {"can_keep_data"}),
    ],
)
def test_what_is_true_of_each_kind_of_disk(kind: DiskKind, true: set[str]) -> None:
    disk = DISKS[kind]
    assert {name for name in _OF_DISKS if getattr(disk, name)} == true


def test_a_disk_of_which_no_more_is_declared_counts_256_kib_as_one_io() -> None:
    assert Limits(iops=1000).io_unit_bytes == 256 * 1024


def test_a_burst_lasts_as_long_as_the_providers_unless_its_profile_shortens_it() -> (
    None
):
    assert Emulated().burst_time_scale == 1.0


def test_a_class_of_volumes_is_wanted_for_one_node_until_it_is_known_for_how_many() -> (
    None
):
    assert ClassWanted("premium").nodes == 1


def test_a_kernel_without_fuse(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/loop-control").touch()
    wanted = (("/dev/loop-control", "loop"), ("/dev/fuse", "fuse"))
    with pytest.raises(UnavailableError, match="needs /dev/fuse") as refused:
        disk_server.need_kernel(wanted, [LocalMachine(tmp_path)])
    assert "modprobe fuse" in refused.value.advice


class Alone(LocalMachine):
    """Answers one question at a time, as an agent that is being started."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._asking = threading.Lock()
        self.asked: list[str] = []

    def exists(self, path: str) -> bool:
        self.asked.append(path)
        if not self._asking.acquire(blocking=False):
            raise OSError("another question is not answered yet")
        time.sleep(0.05)
        self._asking.release()
        return True


def test_a_machine_is_asked_for_one_device_after_the_other(tmp_path: Path) -> None:
    wanted = (("/dev/loop-control", "loop"), ("/dev/fuse", "fuse"))
    machines = [Alone(tmp_path), Alone(tmp_path)]
    disk_server.need_kernel(wanted, machines)
    for machine in machines:
        assert machine.asked == ["/dev/loop-control", "/dev/fuse"]


def test_change_asks_sets_and_reads_back() -> None:
    now = json.dumps({"iops": 4000, "bytes_per_s": 1e8, "burst_start": 0})
    request = "device set iops=4000 bytes_per_s=100000000 burst_start=50"
    engine = Answers({request: now, "device limits": now})
    enforced = change(engine, iops=4000, bytes_per_s=1e8, burst_start=50)
    assert enforced["bytes_per_s"] == 100_000_000
    assert engine.asked[-1] == ("exec", "disk", "device", "limits")


def test_a_limit_of_0_takes_it_away() -> None:
    now = '{"iops": 0}'
    engine = Answers({"device set iops=0": now, "device limits": now})
    assert change(engine, iops=0) == {"iops": 0}


def test_change_refuses_what_the_device_then_does_not_enforce() -> None:
    engine = Answers(
        {"device set iops=4000": '{"iops": 4000}', "device limits": '{"iops": 1100}'}
    )
    with pytest.raises(GateError, match="enforces iops=1100, expected 4000"):
        change(engine, iops=4000)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"iosp": 4000}, "'iosp' is not a limit"),
        ({"iops": -1}, "iops=-1"),
        ({"iops": float("nan")}, "iops=nan"),
        ({}, "no limit was given"),
    ],
)
def test_change_refuses_before_it_asks(limits: dict[str, float], words: str) -> None:
    engine = Answers()
    with pytest.raises(UsageError) as refused:
        change(engine, **limits)
    assert words in refused.value.what and engine.asked == []


def test_the_devices_own_words_are_passed_on() -> None:
    refusal = completed("", 64, '{"error": "iops_burst needs iops"}\n')
    failure = completed("", 69, "device: no disk is served here")
    engine = Answers({"device set iops_burst=1": refusal, "device stats": failure})
    with pytest.raises(
        UsageError, match=r"refused `set iops_burst=1`: iops_burst needs iops"
    ):
        change(engine, iops_burst=1)
    with pytest.raises(RunError, match="no disk is served here"):
        running_disks.ask("disk", ("stats",), fake_world(platform=engine))


def test_running_disks_of_the_nodes_in_their_order() -> None:
    disks = running_disks.find(fake_world(platform=Answers()))
    assert [disk.container for disk in disks] == [
        f"tierbench-1f2e3d-4-disk-node-{number}" for number in (1, 2, 10)
    ]
    assert [disk.name for disk in disks] == ["node-1", "node-2", "node-10"]


class Disks(Answers):
    """Running disks with limits of their own; one may refuse, or fail, when it is set."""

    def __init__(self, refusing: str = "", failing: str = "") -> None:
        super().__init__()
        self.iops = dict(BEFORE)
        self._refusing, self._failing = refusing, failing

    def exec(self, container: str, argv: Sequence[str], **_: Any) -> Completed:
        if argv[1] == "limits":
            return completed(f'{{"iops": {self.iops[container]}}}')
        if container == self._refusing:
            return completed("", 64, '{"error": "burst is not above its base"}')
        self.iops[container] = float(argv[2].partition("=")[2])
        if container == self._failing and self.iops[container] == 4000:
            raise RunError("the answer was lost")
        return completed("{}")


Kept = list[tuple[str, str, dict[str, float]]]


def change_all(disks: Disks) -> tuple[Kept, str]:
    """What was kept of a change to 4,000 IOPS, and the message of its error."""
    kept: Kept = []

    def keep(disk: str, what: str, limits: Mapping[str, float]) -> None:
        kept.append((disk, what, dict(limits)))

    try:
        limit_changes.change_all(
            "abc", {"iops": 4000.0}, keep, fake_world(platform=disks)
        )
    except (UsageError, RunError) as error:
        return kept, error.what
    return kept, ""


BEFORE = {"a": 500.0, "b": 500.0, "c": 600.0}


def test_limits_change_on_all_disks() -> None:
    disks = Disks()
    kept, _ = change_all(disks)
    assert set(disks.iops.values()) == {4000.0}
    assert kept == [(disk, "set", {"iops": 4000.0}) for disk in "abc"]


def test_limits_change_on_none_where_one_refuses() -> None:
    disks = Disks(refusing="c")
    kept, message = change_all(disks)
    assert "burst is not above its base" in message
    assert disks.iops == BEFORE
    undone = [("c", "refused"), ("a", "undone"), ("b", "undone")]
    assert kept[3:] == [(disk, what, {"iops": BEFORE[disk]}) for disk, what in undone]


def test_limits_are_put_back_where_nobody_knows_what_happened() -> None:
    disks = Disks(failing="b")
    kept, _ = change_all(disks)
    assert disks.iops == BEFORE
    changes = [("a", "set"), ("b", "set"), ("a", "undone"), ("b", "undone")]
    assert [(disk, what) for disk, what, _ in kept] == changes


def test_a_change_is_noted_before_it_is_made() -> None:
    disks = Disks()

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        limit_changes.change_all(
            "abc", {"iops": 4000.0}, killed, fake_world(platform=disks)
        )
    assert disks.iops == BEFORE


# ------------------------------------------------------------------ the gate


def job(name: str, bytes_per_s: float, **more: Any) -> dict[str, Any]:
    return {
        "jobname": name,
        "read": {"bw_bytes": bytes_per_s},
        "write": {"bw_bytes": 0},
        **more,
    }


def rates(iops: float) -> list[dict[str, Any]]:
    return [job("depth-1", iops * 4096)]


def verdicts(checks: Any) -> list[tuple[float | None, str]]:
    return [(check.declared, check.verdict) for check in checks]


def test_each_limit_gets_its_verdict() -> None:
    jobs = [job("iops-read", 1100 * 4096), job("iops-write", 900 * 4096)]
    jobs.append(job("iops-mixed", 2200 * 4096))
    faster = "faster than declared (cache or burst)"
    assert verdicts(measured_checks.rates(PREMIUM, jobs, 32)) == [
        (1100, "ok"),
        (1100, "slow"),
        (1100, faster),
    ]


def test_a_disk_that_answers_sooner_than_declared_is_faster() -> None:
    times = {"lat_ns": {"percentile": {"50.000000": 1_000_000}}}
    checks = measured_checks.latencies(PREMIUM, [{"read": times, "write": times}])
    assert [check.verdict for check in checks] == [
        "faster than declared (cache or burst)"
    ] * 2


def test_bandwidth_is_held_against_what_the_iops_let_through() -> None:
    small = changed(PREMIUM, iops=100, bytes_per_s=60_000_000)
    (check,) = measured_checks.rates(small, [job("bytes-read", 26_214_400)], 16)
    assert (check.declared, check.verdict) == (26_214_400, "ok")  # 100 × 256 KiB
    units = changed(small, io_unit_bytes=131_072)
    assert expected.cap_per_s(units, 262_144) == 50


def test_the_ladder_finds_the_depth_where_the_cap_is_reached() -> None:
    steps = [(1, rates(330)), (2, rates(660)), (4, rates(1099)), (8, rates(1100))]
    *rows, knee = measured_checks.ladder(PREMIUM, steps)
    assert [row.measured for row in rows] == [330, 660, 1099, 1100]
    assert {row.verdict for row in (*rows, knee)} == {"not declared"}
    assert knee.measured == 4
    assert knee.limit == "queue depth at which reads reach the cap (cap × latency: 3.3)"


@pytest.mark.parametrize(("iops", "depth"), [(1045, 4), (1044, 8)])
def test_a_cap_is_reached_from_95_pct_of_it_on(iops: float, depth: int) -> None:
    """1,100 are declared."""
    *_, knee = measured_checks.ladder(PREMIUM, [(4, rates(iops)), (8, rates(1100))])
    assert knee.measured == depth


@pytest.mark.parametrize(
    ("depth", "measured", "verdict"),
    [
        # At 20 ms each 19 in flight are 950 a second, and 18 are 900.
        (19, 990.0, "ok"),
        (18, 900.0, "not reachable"),
    ],
)
def test_a_cap_is_judged_where_the_depth_reaches_95_pct_of_it(
    depth: int, measured: float, verdict: str
) -> None:
    far = changed(PREMIUM, iops=1000, read_latency_s=0.02)
    rate = measured_checks.MeasuredRate("iops_read", "IOPS", read_share=1.0)
    check = measured_checks.rate_check(far, rate, measured, 4096, depth)
    assert check.verdict == verdict


@pytest.mark.parametrize(
    ("iops", "verdict"),
    [(3675.0, "bursting"), (3676.0, "faster than declared (cache or burst)")],
)
def test_a_real_disk_bursts_up_to_5_pct_above_its_peak(
    iops: float, verdict: str
) -> None:
    """Its peak is 3,500 a second."""
    real = changed(PREMIUM, like="mounted", burst=Burst(3500, None, 30.0))
    rate = measured_checks.MeasuredRate("iops_read", "IOPS", read_share=1.0)
    check = measured_checks.rate_check(real, rate, iops, 4096, 128)
    assert check.verdict == verdict


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (949, "slow"),
        (950, "ok"),
        (1050, "ok"),
        (1051, "faster than declared (cache or burst)"),
    ],
)
def test_a_rate_of_1000_may_be_off_by_5_pct(measured: float, verdict: str) -> None:
    check = expected.judged("iops_read", "x", "1/s", 1000, measured, 5.0)
    assert check.verdict == verdict


def test_without_a_cap_the_highest_rate_counts_as_one() -> None:
    """Reached is within its tolerance: 1,080 of 1,100 are, 1,000 are not."""
    free = changed(PREMIUM, iops=None, bytes_per_s=None)
    steps = [(1, rates(330)), (4, rates(1000)), (8, rates(1080)), (16, rates(1100))]
    *_, knee = measured_checks.ladder(free, steps)
    assert knee.measured == 8
    assert knee.verdict == "not declared"


def test_a_ladder_that_never_reaches_the_cap_fails() -> None:
    *_, last = measured_checks.ladder(PREMIUM, [(1, rates(300)), (2, rates(500))])
    assert (last.declared, last.measured, last.verdict) == (2 / 0.003, 500, "slow")
    deep = [(1, rates(330)), (8, rates(1000))]
    *_, last = measured_checks.ladder(PREMIUM, deep)
    assert (last.declared, last.measured, last.verdict) == (1100, 1000, "slow")


def test_a_thorough_check_tries_blocks_that_a_disk_takes_whole() -> None:
    """A block that ends within a sector is read before it is written."""
    assert [size % 4096 for size in truth_gate.THOROUGH.block_bytes] == [0, 0, 0]


@pytest.mark.parametrize(
    ("iops", "bytes_per_s", "loops"),
    [(1100, 125_000_000, "14"), (None, None, "35"), (500, 60_000_000, "7")],
)
def test_integrity_takes_about_a_minute(
    iops: int | None, bytes_per_s: int | None, loops: str
) -> None:
    tier = changed(PREMIUM, iops=iops, bytes_per_s=bytes_per_s)
    assert (
        truth_gate._verify_settings(tier, truth_gate.THOROUGH)["VERIFY_LOOPS"] == loops
    )
    assert truth_gate._verify_settings(tier, truth_gate.QUICK)["VERIFY_LOOPS"] == "1"


# ------------------------------------------------------------------ a busy machine


def readings(
    busy: float, total: float, late_s: float, over: float, ops: float
) -> host_load.Reading:
    disk = {"read": {"late_s": late_s, "over": over, "ops": ops}}
    disk["write"] = {"late_s": 0.0, "over": 0.0, "ops": 0.0}
    return host_load.Reading(busy, total, disk)


def test_load_is_the_growth_of_counters() -> None:
    load = host_load.since(
        readings(100, 1000, 1.0, 10, 100), readings(195, 1100, 1.3, 35, 200)
    )
    assert load == {"host_cpu_pct": 95.0, "late_s": 0.003, "over_pct": 25.0}
    assert busy_machines.reasons(Gate("premium", 0.0, (), load)) == (
        "its CPUs were 95 % busy",
        "the threads that answer for the disk woke 3000 µs late on average",
        "for 25 % of requests the host itself was slower than the tier",
    )


@pytest.mark.parametrize(
    ("name", "most", "beyond"),
    [
        ("host_cpu_pct", 90.0, 90.1),
        ("late_s", 150e-6, 151e-6),
        ("over_pct", 20.0, 20.1),
    ],
)
def test_a_machine_is_busy_beyond_what_is_usual(
    name: str, most: float, beyond: float
) -> None:
    def reasons(value: float) -> tuple[str, ...]:
        return busy_machines.reasons(Gate("premium", 0.0, (), {name: value}))

    assert reasons(most) == ()
    assert len(reasons(beyond)) == 1


def test_a_calm_machine_has_no_excuse() -> None:
    load = host_load.since(readings(0, 0, 0, 0, 0), readings(50, 100, 0.001, 1, 1000))
    assert busy_machines.reasons(Gate("premium", 0.0, (), load)) == ()
    assert host_load.since(host_load.Reading(0, 0), host_load.Reading(0, 0)) == {}


# ------------------------------------------------------------------ what disks are kept in


def snapshots_of(mechanism: TierMechanism, tier: Tier, nodes: int, world: World) -> Any:
    kept = mechanism.abilities.kept_data
    return kept and kept.snapshots(tier, [1] * nodes, "key", world)


def test_every_disk_but_a_plain_volume_can_be_restored(tmp_path: Path) -> None:
    world = fake_world(cache=tmp_path)
    files = snapshots_of(EmulatedTier(), PREMIUM, 12, world)
    assert [file.name for file in files] == [
        f"node-{number}.img" for number in range(1, 13)
    ]
    real = changed(PREMIUM, enforcement="mounted", path=str(tmp_path))
    (directory,) = snapshots_of(mounted.MountedTier(), real, 1, world)
    assert directory.is_relative_to(tmp_path / "tierbench-snapshots")
    assert tier_mechanisms()["none"].abilities == TierAbilities()


def places_of(mechanism: TierMechanism, tier: Tier, world: World) -> Any:
    places = mechanism.abilities.places
    return places and places(tier, 3, world)


def test_where_disks_take_space(tmp_path: Path) -> None:
    world = fake_world(cache=tmp_path)
    disks = {
        "node-1": NodeDisks("/mnt/a", wal="/mnt/wal"),
        "node-2": NodeDisks("/mnt/b"),
        "node-3": NodeDisks("/mnt/b"),
    }
    real = changed(PREMIUM, enforcement="mounted")
    spread, here = changed(real, disks=disks), changed(real, path="/mnt/a")
    assert places_of(EmulatedTier(), PREMIUM, world) == {tmp_path: 6}
    assert places_of(mounted.MountedTier(), here, world) == {Path("/mnt/a"): 3}
    assert places_of(mounted.MountedTier(), spread, world) == {
        Path("/mnt/a"): 1,
        Path("/mnt/b"): 2,
    }
    of_others = tier_mechanisms()["existing"].abilities
    assert of_others.places is None and of_others.kept_gate is None


def test_volume_without_a_server_gives_no_load_of_the_disk(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text("cpu  10 0 20 60 10 0 0 0 0 0\n")
    world = fake_world(platform=Answers(root=tmp_path))
    reading = host_load.read(Volume("x", "/dev/x", False), world)
    assert (reading.busy, reading.total, reading.disk) == (30, 100, {})


def test_the_kernels_counters_are_read_on_both_sides_of_the_servers(
    tmp_path: Path,
) -> None:
    """Of the device that the server's own container gives: its process is seen here."""
    (tmp_path / "proc/42").mkdir(parents=True)
    (tmp_path / "proc/42/cgroup").write_text("0::/engine/abc\n")
    (tmp_path / "proc/diskstats").write_text("7 3 loop3 9 0 8 1 4 0 8 1 2 0 0\n")
    server = Node(
        "disk-1", "disk", container="disk-1", container_id="abc", process_id=42
    )
    volume = Volume("x", "/dev/loop3", False, server=server)
    world = fake_world(
        platform=Answers({"device stats": '{"read": {"ops": 9}}'}, tmp_path)
    )
    reading = host_load.read(volume, world)
    assert reading.disk == {"read": {"ops": 9}}
    assert [side["disk_reads_total"] for side in reading.kernel] == [9, 9]
    (tmp_path / "proc/42/cgroup").write_text("0::/engine/another\n")
    reading = host_load.read(volume, world)
    assert (reading.disk, reading.kernel) == ({"read": {"ops": 9}}, ())


def test_gate_check_words_are_those_of_the_record() -> None:
    check = expected.judged("iops_read", "x", "1/s", 100, 200, 5.0)
    word: GateWord = "faster than declared (cache or burst)"
    assert check == GateCheck("x", "1/s", 100, 200, 5.0, word, "iops_read")
