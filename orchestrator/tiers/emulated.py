"""A block device that behaves like the tier: IOPS, bytes/s, burst credit and latency.

One container of our image `disk` per node serves one file as one loop device (`disk_server`): a
copy of the file is a copy of the loaded data set. This needs FUSE and loop devices in the kernel,
and a container that may mount."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from orchestrator.design import latency_quantiles
from orchestrator.design.node_disks import DISK_SERVER, WAL_DISK
from orchestrator.errors import RunError, UsageError
from orchestrator.facts import TriedLimit
from orchestrator.kernel import mounts
from orchestrator.model import Volume
from orchestrator.parts import (
    ChangedLimits,
    Disks,
    GatesOfMachines,
    KeptData,
    Levers,
    NodesData,
    TierAbilities,
)
from orchestrator.platforms import own_images
from orchestrator.powers import Machine, World
from orchestrator.tier import DiskKind, Gate, GateCheck, Tier
from orchestrator.tier.slow_disk import SlowDisk
from orchestrator.tiers.common.any_disk import log_disks
from orchestrator.tiers.common.emulated import (
    disk_files,
    disk_server,
    limit_changes,
    running_disks,
    server_limits,
    window_disks,
)
from orchestrator.tiers.common.gate import shared_limit, truth_gate


class EmulatedTier:
    name = "emulated"
    kind: DiskKind = "emulated"

    @property
    def abilities(self) -> TierAbilities:
        kept_data = KeptData(
            disk_files.snapshots,
            self.loading,
            are_there=disk_files.are_there,
            are_on_nodes=disk_files.are_on_nodes,
            discard=disk_files.discard,
            forget=disk_files.forget,
        )
        limits = ChangedLimits(
            self.lift,
            self.enforce,
            self.require_enforced,
            self.levers,
            slow=self.slow,
            restore=self.restore,
        )
        gates = GatesOfMachines(self.gate_on, disk_files.machines_of_nodes)
        return TierAbilities(
            kept_data=kept_data,
            limits=limits,
            kept_gate=self.kept_gate,
            gates_of_machines=gates,
            places=disk_files.places,
            served_disks=window_disks.of_run,
        )

    def check(self, tier: Tier, world: World) -> None:
        # The tier's disks count in one file that all their servers map, so they share a kernel.
        if tier.shared and len(world.platform.machines_of_nodes()) > 1:
            raise UsageError(
                f"the disks of {tier.name} are on several machines and cannot share "
                "a `shared_limit`",
                advice="run all nodes on one machine, or leave `shared_limit` out",
            )
        own_images.need(world.root, "disk", world.platform)
        needed = (("/dev/fuse", "fuse"), ("/dev/loop-control", "loop"))
        disk_server.need_kernel(needed, world.platform.machines_of_nodes())

    def kept_gate(self, machine: Machine, world: World) -> Mapping[str, Any]:
        """The image of the disk, the fio jobs, and the disk on which its files lie."""
        # Another disk, image or job could give other figures: then the gate is taken anew.
        cache = world.platform.folder(world.cache)
        return {
            "mechanism": self.name,
            "image": own_images.tag(world.root, "disk"),
            "jobs": own_images.content_hash(world.root / "workloads" / "fio"),
            "disk": mounts.disk_below(cache, machine),
        }

    @contextmanager
    def loading(
        self, tier: Tier, data: NodesData, world: World
    ) -> Iterator[tuple[Volume, ...]]:
        """The devices are those of the snapshots themselves."""
        # No limits hold: nothing is measured, and loading at a tier's speed would take hours.
        files = disk_files.of_load(data, logs=False)
        log_files = disk_files.of_load(data, logs=True)
        with disk_server.devices("raw", files, {}, world) as disks:
            if not log_files:
                yield disks.volumes
                return
            with disk_server.devices("raw", log_files, {}, world) as logs:
                yield log_disks.on_nodes(disks.volumes, logs.volumes)

    @contextmanager
    def attached(self, tier: Tier, data: NodesData, world: World) -> Iterator[Disks]:
        with _on_files(
            tier, disk_files.of_run(data, world, logs=False), world
        ) as disks:
            if tier.wal is None:
                yield disks
                return
            log_files = disk_files.of_run(data, world, logs=True)
            log = log_disks.as_served(tier.wal, tier)
            with _on_files(log, log_files, world) as logs:
                yield log_disks.together(disks, logs)

    def lift(self, tier: Tier, disks: Disks, world: World) -> None:
        for served in log_disks.data_and_logs(tier, disks):
            # The server takes 0 for no limit.
            none = dict.fromkeys(server_limits.liftable(served.tier), 0)
            # A stall that a person asked for would hold up the end of the run.
            none[server_limits.STALL] = 0
            limit_changes.set_all(served.containers, none, world)

    def enforce(self, tier: Tier, disks: Disks, world: World) -> None:
        for served in log_disks.data_and_logs(tier, disks):
            limit_changes.set_all(
                served.containers, server_limits.declared(served.tier), world
            )
        self.require_enforced(tier, disks, world)

    def require_enforced(self, tier: Tier, disks: Disks, world: World) -> None:
        for served in log_disks.data_and_logs(tier, disks):
            declared = server_limits.limits_of(served.tier)
            for server, running in limit_changes.enforced_by(served.containers, world):
                running_disks.read_back(server, declared, running)

    def levers(self, tier: Tier, disks: Disks, world: World) -> Levers:
        """Moves limits of all disks of data, of all disks of the WAL, or what both share."""
        levers: dict[TriedLimit, Callable[[float], None]] = {}
        data, *logs = log_disks.data_and_logs(tier, disks)
        for lever in server_limits.levers_of(tier):
            levers[lever.name] = partial(_change_by, [data], lever, world)
        for log in logs:
            for lever in server_limits.levers_of(log.tier):
                name = server_limits.name_of_log(lever)
                levers[name] = partial(_change_by, [log], lever, world)
        for lever in server_limits.shared_levers_of(tier):
            levers[lever.name] = partial(_change_by, [data, *logs], lever, world)
        return levers

    def slow(
        self, tier: Tier, disks: Disks, slow: SlowDisk, world: World
    ) -> Mapping[str, float]:
        of_disk = _tier_of(slow, tier)
        server = _server_of(slow, disks)
        return limit_changes.change(
            server, server_limits.slow_limits(of_disk, slow), world
        )

    def restore(
        self, tier: Tier, disks: Disks, slow: SlowDisk, world: World
    ) -> Mapping[str, float]:
        of_disk = _tier_of(slow, tier)
        limits = server_limits.limits_of(of_disk)
        # A stall ends by itself; one that is still going on is cut short.
        settings: dict[str, float] = {server_limits.STALL: 0}
        for name in (
            *server_limits.BASES,
            *server_limits.PEAKS,
            *server_limits.LENGTHS,
            *server_limits.constant_latencies(of_disk),
        ):
            if limits.get(name):
                settings[name] = limits[name]
        return limit_changes.change(_server_of(slow, disks), settings, world)

    def gate(self, tier: Tier, world: World, thorough: bool) -> Gate:
        # Disks that are made on one machine are alike, so the first node's stands for all.
        return self.gate_on("node-1", tier, world, thorough)

    def gate_on(self, placement: str, tier: Tier, world: World, thorough: bool) -> Gate:
        """Checks a disk of the data, then one of the WAL if the tier has some, then both at once if
        their machine lets less through."""
        gate = self._gate_of_one(placement, tier, world, thorough)
        if tier.wal is None:
            return gate
        log = self._gate_of_one(placement, tier.wal, world, thorough)
        both = log_disks.one_gate(gate, log)
        if tier.machine is None:
            return both
        together = self._machine_checks(placement, tier, tier.wal, world)
        return replace(both, checks=(*both.checks, *together))

    def _machine_checks(
        self, placement: str, tier: Tier, wal: Tier, world: World
    ) -> tuple[GateCheck, ...]:
        """Reads from a disk of the data and one of the WAL at once."""
        data = _calm(tier)
        log = _calm(log_disks.as_served(wal, tier))
        (file,) = disk_files.of_gate(placement, world)
        data_file = replace(file, path=file.path.with_stem("gate-1"))
        log_file = replace(file, path=file.path.with_stem("gate-2"))
        with (
            _on_files(data, [data_file], world) as disks,
            _on_files(log, [log_file], world) as logs,
        ):
            checked = [
                shared_limit.Checked(data, disks.volumes[0]),
                shared_limit.Checked(log, logs.volumes[0]),
            ]
            return tuple(shared_limit.of_machine(tier, checked, world))

    def _gate_of_one(
        self, placement: str, tier: Tier, world: World, thorough: bool
    ) -> Gate:
        """Checks a disk of the tier, and two at once if disks share a limit."""
        calm = _calm(tier)
        # One disk alone says nothing of what two share: that limit is measured apart.
        (file,) = disk_files.of_gate(placement, world)
        alone = replace(calm, shared=None, machine=None)
        with _on_files(alone, [file], world) as disks:
            gate = truth_gate.take(tier, disks, world, thorough=thorough, drained=False)
        if tier.shared is None:
            return gate
        pair: list[disk_files.DiskFile] = []
        for number in (1, 2):
            pair.append(replace(file, path=file.path.with_stem(f"gate-{number}")))
        with _on_files(calm, pair, world) as disks:
            together = shared_limit.of_all_disks(tier, disks, world)
            return replace(gate, checks=(*gate.checks, *together))


def _change_by(
    served: Sequence[log_disks.ServedTier],
    lever: server_limits.LimitsMoved,
    world: World,
    times: float,
) -> None:
    """Sets the lever's limits of these disks to so many times what is declared."""
    for disks in served:
        limits = server_limits.limits_of(disks.tier)
        settings: dict[str, int | float] = {}
        for name in lever.limits:
            settings[name] = round(times * limits[name])
        limit_changes.set_all(disks.containers, settings, world)


@contextmanager
def _on_files(
    tier: Tier, files: Sequence[disk_files.DiskFile], world: World
) -> Iterator[Disks]:
    model = tier.latency.model
    served_files: list[disk_files.DiskFile] = []
    for file in files:
        shares_with = _shares_with(tier, file)
        served_files.append(
            replace(file, in_memory=tier.disk.in_memory, shares_with=shares_with)
        )
    served = disk_server.devices(
        "serve", served_files, server_limits.limits_of(tier), world, model
    )
    with served as disks:
        facts = {**disks.facts, "latency": latency_quantiles.described(tier)}
        if model:
            facts["draws_seed"] = world.seed  # each disk's own seed follows from it
        yield replace(disks, facts=facts)


def _shares_with(tier: Tier, file: disk_files.DiskFile) -> str:
    """The name by which disks find those that they share limits with; "" if with none."""
    # Each node stands for a machine of its own, wherever it runs here.
    if tier.machine is not None:
        return file.placement
    if tier.shared is not None:
        return "all"
    return ""


def _calm(tier: Tier) -> Tier:
    """The tier without what lasts longer than a check, which would measure only a part of it."""
    return _without_slow_epochs(tier.without_burst())


def _without_slow_epochs(tier: Tier) -> Tier:
    model = tier.latency.model
    if model:
        model = replace(model, slow_epochs=None)
    return replace(tier, latency=replace(tier.latency, model=model))


def _tier_of(slow: SlowDisk, tier: Tier) -> Tier:
    """The tier of the disk that is slow. RunError if there is no such disk."""
    if not slow.of_log:
        return tier
    if tier.wal is None:
        raise RunError(f"no emulated disk of {slow.disk} is served")
    return tier.wal


def _server_of(slow: SlowDisk, disks: Disks) -> str:
    """The container that serves the disk that is slow. RunError if there is none."""
    name = f"{DISK_SERVER}{slow.node}"
    if slow.of_log:
        name = f"{name}{WAL_DISK}"
    for server in disks.servers:
        if server.container and server.name == name:
            return server.container
    raise RunError(f"no emulated disk of {slow.disk} is served")
