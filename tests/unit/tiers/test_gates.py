"""Kept gates, limits of control groups read back, burst scaled with time, limits changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError

from orchestrator.design import factors, varied_workloads
from orchestrator.errors import GateError, UsageError
from orchestrator.facts import GateWord
from orchestrator.model import Run
from orchestrator.parts import GatesOfMachines, TierAbilities
from orchestrator.platforms import own_images
from orchestrator.platforms.docker import limits
from orchestrator.powers import ContainerSpec, Machine, MachineFacts, World
from orchestrator.run.data import datasets
from orchestrator.run.disks.gate_refusals import require_passed
from orchestrator.run.disks.gate_taking import GateTaker
from orchestrator.run.disks.gates import Gates
from orchestrator.run.disks.kept_gates import MAX_AGE_S
from orchestrator.run.runs_ahead.schedule import Schedule
from orchestrator.system import campaign_writing, unfinished_runs
from orchestrator.tier import Gate, GateCheck, Tier
from orchestrator.tiers import tier_mechanisms
from orchestrator.tiers.common.emulated import disk_files
from orchestrator.tiers.emulated import EmulatedTier
from tests import ROOT
from tests.fake_parts import FakeTier
from tests.fakes import FakeClock, FakePlatform, FarMachine, Log, fake_world
from tests.plans import a_plan, a_profile, a_workload, planned
from tests.removing import unmounted
from tests.tiers import changed

TIER = a_profile().tier


class Kept(FakeTier):
    """A tier whose gate may be kept."""

    image = "disk:1"

    @property
    def abilities(self) -> TierAbilities:
        return replace(super().abilities, kept_gate=self.kept_gate)

    def kept_gate(self, machine: Machine, world: World) -> Mapping[str, Any]:
        return {**EmulatedTier().kept_gate(machine, world), "image": self.image}


@pytest.fixture(name="world")
def gate_world(tmp_path: Path) -> World:
    (tmp_path / "workloads/fio").mkdir(parents=True)
    (tmp_path / "workloads/fio/iops.fio").write_text("[iops]\n")
    return fake_world(Log(), tmp_path, FakeClock())


def take(
    world: World, tier: Tier = TIER, verdict: str = "ok", image: str = "disk:1"
) -> Gate:
    """The gate as a new campaign gets it."""
    mechanism = Kept(Log(), True, verdict)
    mechanism.image = image
    return GateTaker({"emulated": mechanism}, world).take(
        tier, 1, may_be_kept=True, thorough=False, drain=False
    )


@pytest.mark.parametrize("thorough", [False, True])
def test_a_disk_check_is_as_thorough_as_asked(world: World, thorough: bool) -> None:
    asked: list[bool] = []

    class Noting(Kept):
        def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
            asked.append(thorough)
            return super().gate(tier, world, thorough)

    taker = GateTaker({"emulated": Noting(Log(), True, "ok")}, world)
    taker.take(TIER, 1, thorough=thorough, drain=False, may_be_kept=False)
    assert asked == [thorough]


def keep_nowhere(_gates: Sequence[Gate]) -> None:
    """A campaign without a folder."""


def test_a_gate_is_used_again(world: World) -> None:
    assert not take(world).reused
    world.clock.sleep(3600)
    again = take(world, changed(TIER, name="same limits", notes="other words"))
    assert (again.reused, again.taken_s, again.tier) == (True, 1000.0, "same limits")


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        ("iops", 101),
        ("bytes_per_s", 10_000_001),
        ("read_latency_s", 0.001),
        ("io_unit_bytes", 4096),
    ],
)
def test_another_limit_needs_another_gate(
    world: World, limit: str, value: float
) -> None:
    take(world)
    assert not take(world, changed(TIER, **{limit: value})).reused


def test_another_image_other_jobs_or_a_week_need_another_gate(world: World) -> None:
    take(world)
    assert not take(world, image="disk:2").reused
    world.clock.sleep(MAX_AGE_S)
    assert take(world).reused
    world.clock.sleep(1)
    assert not take(world).reused
    (world.root / "workloads/fio/iops.fio").write_text("[iops]\nbs=8k\n")
    assert not take(world).reused


class OnMachines(Kept):
    """Its disks are made on the machine of each node, of which one may be slow."""

    def __init__(self, log: Log, slow: str = "") -> None:
        super().__init__(log, True)
        self.places: list[str] = []
        self._slow = slow

    @property
    def abilities(self) -> TierAbilities:
        of_machines = GatesOfMachines(self.gate_on, disk_files.machines_of_nodes)
        return replace(super().abilities, gates_of_machines=of_machines)

    def gate_on(
        self, placement: str, tier: Tier, world: World, thorough: bool = False
    ) -> Gate:
        self.places.append(placement)
        self.verdict = "slow" if placement == self._slow else "ok"
        gate = self.gate(tier, world, thorough)
        return replace(
            gate, device={"host_cpu_pct": float(len(self.places)), "kernel": "6.1"}
        )


class Vm(FarMachine):
    """A machine whose files of disks are on /dev/sdb with this serial number."""

    def __init__(
        self, name: str, memory_bytes: int = 2**34, serial: str = "S1"
    ) -> None:
        super().__init__(MachineFacts(name, "6.1", "Debian", 4, "", memory_bytes))
        self.files = {
            "/proc/self/mountinfo": "36 24 8:16 / / rw - xfs /dev/sdb rw\n",
            "/sys/class/block/sdb": "",
            "/sys/class/block/sdb/device/serial": f"{serial}\n",
        }

    def read(self, path: str) -> str:  # type: ignore[override]
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def exists(self, path: str) -> bool:  # type: ignore[override]
        return path in self.files

    def real_path(self, path: str) -> str:  # type: ignore[override]
        return path


class Machines(FakePlatform):
    """Nodes are on vm1 and vm2 in turn; clients on others."""

    def __init__(self, machines: Sequence[str | Machine]) -> None:
        super().__init__(images=[own_images.tag(ROOT, "disk")])
        self._machines = tuple(
            Vm(one) if isinstance(one, str) else one for one in machines
        )

    def machines(self) -> tuple[Machine, ...]:
        return self._machines

    def folder(self, cache: Path) -> Path:
        return Path("/var/lib/tierbench")

    def facts(self) -> dict[str, str]:
        return {"ID": "e1"}

    def machine_of(self, container: str) -> Machine:
        number = int(self.specs[container].placement.removeprefix("node-"))
        return self._machines[(number - 1) % min(2, len(self._machines))]


def gate_elsewhere(
    world: World, machines: Sequence[str | Machine], nodes: int, slow: str = ""
) -> tuple[Gate, list[str]]:
    """The gate as a new campaign on these machines gets it, and where it was taken now."""
    there = replace(world, root=ROOT, platform=Machines(machines))
    mechanism = OnMachines(Log(), slow)
    taker = GateTaker({"emulated": mechanism}, there)
    return taker.take(
        TIER, nodes, may_be_kept=True, thorough=False, drain=False
    ), mechanism.places


def test_each_machine_has_a_gate_of_its_own_and_keeps_it(world: World) -> None:
    gate, taken = gate_elsewhere(world, ("vm1", "vm2", "vm3"), 3)
    assert taken == ["node-1", "node-2"]
    disks = [(check.disk, check.nodes) for check in gate.checks]
    assert disks == [
        ("node-1 (vm1)", ("node-1", "node-3")),
        ("node-2 (vm2)", ("node-2",)),
    ]
    assert gate.device["host_cpu_pct"] == 2.0 and gate.device["kernel"] == "6.1"
    assert set(gate.device["machines"]) == {"vm1", "vm2"}
    again, taken = gate_elsewhere(world, ("vm1", "vm2"), 2)
    assert again.reused and not taken
    other, taken = gate_elsewhere(world, ("vm1", "vm9"), 2)
    assert taken == ["node-2"] and not other.reused


def test_a_tier_is_gated_for_the_nodes_that_have_its_disks(world: World) -> None:
    """Not for those of another tier whose name its own begins with."""
    large = a_profile("premium", nodes=3)
    small = a_profile("premium-v2", nodes=1)
    plan = planned(
        [large, small],
        [a_workload()],
    )
    schedule = Schedule(plan, world.cache, (), world.progress.warn, set())
    there = replace(world, root=ROOT, platform=Machines(("vm1", "vm2")))
    mechanism = OnMachines(Log())
    gates = Gates(
        GateTaker({"emulated": mechanism}, there), there, schedule, keep_nowhere
    )
    gates.of(small.tier)
    assert mechanism.places == ["node-1"]
    gates.of(large.tier)
    # The first machine's check is kept, because both tiers have the same limits.
    assert mechanism.places == ["node-1", "node-2"]


def test_one_gate_holds_for_the_most_nodes_of_all_that_use_its_disks(
    world: World,
) -> None:
    """Profiles of one tier share its gate, and so do the numbers of nodes of a factor."""
    tier = a_profile("premium").tier
    one = a_profile("one", nodes=1)
    two = a_profile("two", nodes=2)
    plan = planned(
        [replace(one, tier=tier), replace(two, tier=tier)],
        [
            varied_workloads.at(a_workload(), value)
            for value in factors.parse("nodes=1,2")
        ],
    )
    schedule = Schedule(plan, world.cache, (), world.progress.warn, set())
    there = replace(world, root=ROOT, platform=Machines(("vm1", "vm2")))
    mechanism = OnMachines(Log())
    gates = Gates(
        GateTaker({"emulated": mechanism}, there), there, schedule, keep_nowhere
    )
    gates.of(tier)
    assert mechanism.places == ["node-1", "node-2"]


def test_one_slow_machine_fails_the_gate_of_all(world: World) -> None:
    gate, taken = gate_elsewhere(world, ("vm1", "vm2"), 2, slow="node-2")
    assert taken == ["node-1", *["node-2"] * 3]
    with pytest.raises(GateError, match=r"node-2 \(vm2\) is slow"):
        require_passed(gate)


def test_a_gate_of_another_machine_alike_is_not_used(world: World) -> None:
    for name, taken in (("vm1", ["node-1"]), ("vm2", ["node-1"]), ("vm1", [])):
        assert gate_elsewhere(world, (name,), 3)[1] == taken


class Here(Machines):
    """The one machine is the one that has the cache."""

    def folder(self, cache: Path) -> Path:
        return cache


@pytest.mark.parametrize("platform", [Here, Machines])
@pytest.mark.parametrize(
    "other", [Vm("vm2"), Vm("vm1", memory_bytes=2**33), Vm("vm1", serial="S2")]
)
def test_another_host_memory_or_disk_needs_another_gate(
    world: World, platform: type[Machines], other: Vm
) -> None:
    """A cache may be shared, or copied to another disk."""
    for machine, reused in ((Vm("vm1"), False), (Vm("vm1"), True), (other, False)):
        assert take(replace(world, platform=platform([machine]))).reused is reused


def test_a_gate_is_not_kept_where_the_disk_of_its_files_is_not_seen(
    world: World,
) -> None:
    unseen = FarMachine(MachineFacts("vm1", "6.1", "Debian", 4, "", 2**34))
    for _ in range(2):
        assert not take(replace(world, platform=Here([unseen]))).reused


def test_a_gate_that_failed_is_taken_three_times_and_not_kept(world: World) -> None:
    log = Log()
    taker = GateTaker({"emulated": Kept(log, True, "slow")}, world)
    failed = taker.take(TIER, 1, may_be_kept=True, thorough=False, drain=False)
    assert not failed.passed and log.words == ["gate of premium"] * 3
    assert not take(world).reused


def test_a_kept_gate_that_cannot_be_read_is_taken_anew(world: World) -> None:
    take(world)
    (file,) = world.cache.glob("*/*.json")
    file.write_text("{")
    assert not take(world).reused


def test_a_real_disk_is_always_measured(world: World) -> None:
    for _ in range(2):
        taker = GateTaker({"emulated": FakeTier(Log(), False)}, world)
        assert not taker.take(
            TIER, 1, may_be_kept=True, thorough=False, drain=False
        ).reused
    assert not any(world.cache.glob("*/*.json"))


def test_gates_of_an_earlier_release_do_not_keep_new_ones_from_being_removed(
    world: World,
) -> None:
    """Its folder has no mark, and none is put on what may be a person's."""
    earlier = world.cache / "gates"
    earlier.mkdir(parents=True)
    (earlier / "old.json").write_text("{}")
    take(world)
    assert take(world).reused
    removed, left = sorted(
        datasets.forget(tier_mechanisms(), unmounted(world), only_list=False),
        key=lambda one: bool(one.foreign),
    )
    assert not removed.foreign and not take(world).reused
    assert (
        str(left).endswith(f"rm -r --one-file-system -- {earlier}") and earlier.is_dir()
    )


def failed_gate(**device: float) -> Gate:
    check = GateCheck("IOPS, 4 KiB random read", "1/s", 1100, 900, 5.0, "slow")
    return Gate("premium", 0.0, (check,), device)


def test_the_disk_that_is_slow_is_named_with_its_node_and_path() -> None:
    made: tuple[tuple[str, int, float, GateWord], ...] = (
        ("IOPS, read", 1, 1100, "ok"),
        ("IOPS, read", 2, 900, "slow"),
        ("IOPS, write", 2, 800, "slow"),
        ("integrity", 3, 1, "failed"),
    )
    checks = tuple(
        GateCheck(
            limit,
            "1/s",
            1100,
            value,
            5.0,
            word,
            disk=f"node-{number} (/mnt/p15-{number})",
        )
        for limit, number, value, word in made
    )
    with pytest.raises(GateError) as raised:
        require_passed(Gate("p15", 0.0, checks))
    assert raised.value.what == (
        "the disk of p15 is not what the tier declares: node-2 (/mnt/p15-2) is slow: "
        "IOPS, read measured 900/s, declared 1,100/s, IOPS, write measured 800/s, declared "
        "1,100/s; node-3 (/mnt/p15-3) failed: integrity measured 1/s, declared 1,100/s"
    )


def test_a_disk_that_is_not_what_it_declares() -> None:
    with pytest.raises(GateError) as raised:
        require_passed(failed_gate(host_cpu_pct=40.0))
    assert raised.value.what == (
        "the disk of premium is not what the tier declares: "
        "IOPS, 4 KiB random read slow: measured 900/s, declared 1,100/s"
    )


def test_a_busy_machine_is_named_as_the_likely_cause() -> None:
    with pytest.raises(GateError) as raised:
        require_passed(failed_gate(host_cpu_pct=97.0, late_s=0.0004))
    assert raised.value.what.endswith(
        "This machine was busy during the check: its CPUs were 97 % busy and the threads "
        "that answer for the disk woke 400 µs late on average"
    )
    assert "stop other programs" in raised.value.advice


# ------------------------------------------------------------------ rights of the disk's container


def created(rights: limits.Rights) -> SimpleNamespace:
    """A created container as docker-py shows it."""
    host: dict[str, Any] = {"binds": []}
    rights.add_to(host)
    return SimpleNamespace(attrs={"HostConfig": {"CapAdd": host["cap_add"]}})


def test_a_wish_that_the_engine_refuses_is_given_up_once_for_all() -> None:
    """What runc says to a capability that the host's bounding set lacks."""
    rights, error = (
        limits.Rights(),
        APIError("unable to apply caps: operation not permitted"),
    )
    spec = ContainerSpec("disk", "image", (), role="disk", host_devices=True)
    at_once = [created(rights), created(rights)]  # two may have been created with it
    assert [rights.refused(spec, each, error) for each in at_once] == [spec, spec]
    bare = created(rights)
    assert "SYS_RESOURCE" not in bare.attrs["HostConfig"]["CapAdd"]
    with pytest.raises(APIError):
        rights.refused(spec, bare, error)


# ------------------------------------------------------------------ a run that is going on


def test_the_run_that_is_going_on(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run is going on") as error:
        unfinished_runs.unfinished_run(tmp_path, "latest")
    assert "tierbench status" in error.value.advice
    plan = a_plan(workloads=("tpcc",), repetitions=2)
    folder = campaign_writing.create(tmp_path, plan, {}, 0.0)
    first = campaign_writing.run_folder(folder, Run(1, "premium", "tpcc", 1))
    (first / "record.json").write_text("{}")
    second = campaign_writing.run_folder(folder, Run(2, "premium", "tpcc", 2))
    for name in ("latest", "02-premium-tpcc-r2"):
        assert unfinished_runs.unfinished_run(tmp_path, name).name == second.name
    with pytest.raises(UsageError, match="01-premium-tpcc-r1 is not going on"):
        unfinished_runs.unfinished_run(tmp_path, "01-premium-tpcc-r1")


def test_changes_of_limits_are_kept_in_order(tmp_path: Path) -> None:
    folder = campaign_writing.run_folder(tmp_path, Run(1, "premium", "tpcc", 1))
    assert unfinished_runs.limit_changes(folder) == []
    for iops in (4000, 2000):
        unfinished_runs.keep_limit_change(
            folder, {"time_s": 1.0, "set": {"iops": iops}}
        )
    assert [one["set"]["iops"] for one in unfinished_runs.limit_changes(folder)] == [
        4000,
        2000,
    ]
