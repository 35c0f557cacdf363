"""A block device that behaves like the tier: IOPS, bytes/s, burst credit and latency.

One container of our image `disk` per node serves one file as one loop device (`disk_server`): a
copy of the file is a copy of the loaded data set. This needs FUSE and loop devices in the kernel,
and a container that may mount."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from orchestrator.design import latency_quantiles
from orchestrator.errors import RunError, TierbenchError, UsageError
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
from orchestrator.system import at_once
from orchestrator.tier import DiskKind, Gate, Tier
from orchestrator.tier.slow_disk import SlowDisk
from orchestrator.tiers.common.emulated import (
    disk_files,
    disk_server,
    log_disks,
    window_disks,
)
from orchestrator.tiers.common.gate import shared_limit, truth_gate

_MICRO = 1e6
# Limits that can be changed while the device runs, by the server's own names (docs/TIERS.md).
_BASES = ("iops", "bytes_per_s")
_PEAKS = ("iops_burst", "bytes_burst")
_SHARED = ("shared_iops", "shared_bytes_per_s")
_LATENCIES = ("read_latency_us", "write_latency_us")
_CREDIT = "burst_start"
_STALL = "stall_s"
CHANGEABLE = (
    *_BASES,
    *_LATENCIES,
    *_PEAKS,
    *(f"{peak}_length" for peak in _PEAKS),
    _CREDIT,
    _STALL,
)
_LEVERS = {
    "IOPS": _BASES[:1] + _PEAKS[:1],
    "bandwidth": _BASES[1:] + _PEAKS[1:],
    "disk latency": _LATENCIES,
    "shared IOPS": _SHARED[:1],
    "shared bandwidth": _SHARED[1:],
}
# Container, what was done, limits.
Keep = Callable[[str, str, Mapping[str, float]], None]


class EmulatedTier:
    name = "emulated"
    kind: DiskKind = "emulated"

    @property
    def abilities(self) -> TierAbilities:
        return TierAbilities(
            kept_data=KeptData(
                disk_files.snapshots,
                self.loading,
                are_there=disk_files.are_there,
                are_on_nodes=disk_files.are_on_nodes,
                discard=disk_files.discard,
                forget=disk_files.forget,
            ),
            limits=ChangedLimits(
                self.lift,
                self.enforce,
                self.require_enforced,
                self.levers,
                slow=self.slow,
                restore=self.restore,
            ),
            kept_gate=self.kept_gate,
            gates_of_machines=GatesOfMachines(
                self.gate_on, disk_files.machines_of_nodes
            ),
            places=disk_files.places,
            served_disks=window_disks.of_run,
        )

    def check(self, tier: Tier, world: World) -> None:
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
        files = disk_files.of_load(data)
        log_files = disk_files.of_load(data, logs=True)
        with disk_server.devices("raw", files, {}, world) as disks:
            if not log_files:
                yield disks.volumes
                return
            with disk_server.devices("raw", log_files, {}, world) as logs:
                yield log_disks.on_nodes(disks.volumes, logs.volumes)

    @contextmanager
    def attached(self, tier: Tier, data: NodesData, world: World) -> Iterator[Disks]:
        with _on_files(tier, disk_files.of_run(data, world), world) as disks:
            if tier.wal is None:
                yield disks
                return
            log_files = disk_files.of_run(data, world, logs=True)
            with _on_files(tier.wal, log_files, world) as logs:
                yield log_disks.together(disks, logs)

    def lift(self, tier: Tier, disks: Disks, world: World) -> None:
        for served in log_disks.data_and_logs(tier, disks):
            none = dict.fromkeys(_liftable(served.tier), 0)
            _set(served.containers, none, world)

    def enforce(self, tier: Tier, disks: Disks, world: World) -> None:
        for served in log_disks.data_and_logs(tier, disks):
            _set(served.containers, _declared(served.tier), world)
        self.require_enforced(tier, disks, world)

    def require_enforced(self, tier: Tier, disks: Disks, world: World) -> None:
        for served in log_disks.data_and_logs(tier, disks):
            declared = limits_of(served.tier)
            for server, running in _enforced(served.containers, world):
                disk_server.read_back(server, declared, running)

    def levers(self, tier: Tier, disks: Disks, world: World) -> Levers:
        """Moves limits of the disks of data; those of the WAL stay as they are."""
        limits = limits_of(tier)
        containers = log_disks.data_of_nodes(tier, disks).containers

        def change_by(names: Sequence[str], times: float) -> None:
            settings: dict[str, int | float] = {}
            for name in names:
                settings[name] = round(times * limits[name])
            _set(containers, settings, world)

        levers: dict[str, Callable[[float], None]] = {}
        for lever, all_names in _LEVERS.items():
            if lever == "disk latency" and tier.latency.model:
                continue  # drawn: it cannot be changed on a running disk
            names = [name for name in all_names if limits.get(name)]
            if names:
                levers[lever] = partial(change_by, names)
        return levers

    def slow(
        self, tier: Tier, disks: Disks, slow: SlowDisk, world: World
    ) -> Mapping[str, float]:
        server = _server_of(slow.node, disks)
        return change(server, _slow_limits(tier, slow), world)

    def restore(
        self, tier: Tier, disks: Disks, node: str, world: World
    ) -> Mapping[str, float]:
        limits = limits_of(tier)
        settings: dict[str, float] = {_STALL: 0}
        for name in (*_BASES, *_PEAKS, *_constant_latencies(tier)):
            if limits.get(name):
                settings[name] = limits[name]
        return change(_server_of(node, disks), settings, world)

    def gate(self, tier: Tier, world: World, thorough: bool = False) -> Gate:
        return self.gate_on("node-1", tier, world, thorough)

    def gate_on(
        self, placement: str, tier: Tier, world: World, thorough: bool = False
    ) -> Gate:
        """Checks a disk of the data, and then one of the WAL if the tier has some."""
        gate = self._gate_of_one(placement, tier, world, thorough)
        if tier.wal is None:
            return gate
        log = self._gate_of_one(placement, tier.wal, world, thorough)
        return log_disks.one_gate(gate, log)

    def _gate_of_one(
        self, placement: str, tier: Tier, world: World, thorough: bool
    ) -> Gate:
        """Checks the disk without burst and slow epochs, because a check is shorter than these."""
        calm = _without_slow_epochs(tier.without_burst())
        (file,) = disk_files.of_gate(placement, world)
        with _on_files(replace(calm, shared=None), [file], world) as disks:
            gate = truth_gate.take(tier, disks, world, thorough=thorough)
        if tier.shared is None:
            return gate
        pair: list[disk_files.DiskFile] = []
        for number in (1, 2):
            pair.append(replace(file, path=file.path.with_stem(f"gate-{number}")))
        with _on_files(calm, pair, world) as disks:
            together = shared_limit.checks(tier, disks, world)
            return replace(gate, checks=(*gate.checks, *together))


@contextmanager
def _on_files(
    tier: Tier, files: Sequence[disk_files.DiskFile], world: World
) -> Iterator[Disks]:
    model = tier.latency.model
    in_memory = tier.disk.in_memory
    shares = tier.shared is not None
    files = [replace(file, in_memory=in_memory, shares=shares) for file in files]
    served = disk_server.devices("serve", files, limits_of(tier), world, model)
    with served as disks:
        facts = {**disks.facts, "latency": latency_quantiles.described(tier)}
        if model:
            facts["draws_seed"] = world.seed  # from which each disk's own follows
        yield replace(disks, facts=facts)


def _without_slow_epochs(tier: Tier) -> Tier:
    model = tier.latency.model
    if model:
        model = replace(model, slow_epochs=None)
    return replace(tier, latency=replace(tier.latency, model=model))


def _liftable(tier: Tier) -> tuple[str, ...]:
    """All but a latency that is drawn, which cannot be changed on a running disk."""
    names = [*_BASES, *_PEAKS]
    if tier.shared:
        names += _SHARED
    names += _constant_latencies(tier)
    return tuple(names)


def _constant_latencies(tier: Tier) -> tuple[str, ...]:
    if tier.latency.model:
        return ()
    return _LATENCIES


def _slow_limits(tier: Tier, slow: SlowDisk) -> dict[str, float]:
    """What the disk of a node is set to; a limit that the tier does not have stays so."""
    if slow.how == "stall":
        return {_STALL: slow.lasts_s}
    times = slow.amount
    names: tuple[str, ...] = _LATENCIES
    if slow.how == "share":
        times = slow.amount / 100
        names = (*_BASES, *_PEAKS)
    limits = limits_of(tier)
    slower: dict[str, float] = {}
    for name in names:
        if limits.get(name):
            slower[name] = max(1, round(times * limits[name]))
    return slower


def _server_of(node: str, disks: Disks) -> str:
    """The container that serves the disk of a node."""
    for volume in disks.volumes:
        server = volume.server
        if server and server.container and server.name == f"disk-{node}":
            return server.container
    raise RunError(f"no emulated disk of {node} is served")


def _declared(tier: Tier) -> dict[str, int | float]:
    """The limits that may have been lifted, as the tier declares them."""
    limits = limits_of(tier)
    settings: dict[str, int | float] = {}
    for name in _liftable(tier):
        settings[name] = limits.get(name, 0)
    if _CREDIT in limits:
        settings[_CREDIT] = limits[_CREDIT]
    return settings


def _set(containers: Sequence[str], limits: disk_server.Limits, world: World) -> None:
    at_once.each(lambda server: disk_server.change(server, limits, world), containers)


def _enforced(servers: Sequence[str], world: World) -> list[tuple[str, dict[str, Any]]]:
    return at_once.each(
        lambda name: (name, disk_server.ask(name, ("limits",), world)), servers
    )


def any_lifted(containers: Sequence[str], world: World) -> bool:
    """Whether one of these running devices enforces no limit that lifting would set to none."""
    names = (*_BASES, *_LATENCIES)
    for _, limits in _enforced(containers, world):
        if not any(limits.get(name) for name in names):
            return True
    return False


def limits_of(tier: Tier) -> dict[str, int | float]:
    """What `device serve` is to enforce, by the server's own names (docs/TIERS.md)."""
    read_us = (tier.latency.read_s or 0) * _MICRO
    write_us = (tier.latency.write_s or 0) * _MICRO
    limits: dict[str, int | float] = {
        "iops": tier.limits.iops or 0,
        "bytes_per_s": tier.limits.bytes_per_s or 0,
        "io_unit": tier.limits.io_unit_bytes,
        "read_latency_us": round(read_us),
        "write_latency_us": round(write_us),
    }
    shared = tier.shared
    if shared is not None:
        limits["shared_iops"] = shared.iops or 0
        limits["shared_bytes_per_s"] = shared.bytes_per_s or 0
    limits |= _burst_limits(tier)
    epochs = None
    if tier.latency.model:
        epochs = tier.latency.model.slow_epochs
    if epochs is not None:
        limits["slow_factor"] = epochs.factor
        limits["slow_dwell_s"] = epochs.slow_dwell_s
        limits["good_dwell_s"] = epochs.good_dwell_s
    return limits


def _burst_limits(tier: Tier) -> dict[str, int | float]:
    """A bucket that starts empty is kept empty: it would fill while the database starts, and a
    short run would then measure credit that a busy disk never has."""
    burst = tier.limits.burst
    if burst is None or burst.start_pct <= 0:
        return {}
    limits: dict[str, int | float] = {_CREDIT: burst.start_pct}
    for name, peak in zip(_PEAKS, (burst.iops, burst.bytes_per_s), strict=True):
        if peak:
            limits[name] = peak
            limits[f"{name}_length"] = burst.duration_s
    return limits


def change_all(
    containers: Sequence[str], limits: Mapping[str, float], keep: Keep, world: World
) -> Mapping[str, float]:
    """Changes limits of running devices, of all or of none; returns what each now enforces. `keep`
    is told of each change before it is made ("set"), so that no kill can hide one, and if it was
    not made, of what is in force again ("refused", "undone"). Raises as `change` does."""
    _check_changes(limits)
    running = _enforced(containers, world)
    enforced: Mapping[str, float] = {}
    changed: list[tuple[str, dict[str, float]]] = []
    for container, before in running:
        had: dict[str, float] = {}
        for name in limits:
            if name in before:
                had[name] = float(before[name])
        keep(container, "set", limits)
        try:
            enforced = change(container, limits, world)
        except UsageError:
            keep(container, "refused", had)
            _undo(changed, keep, world)
            raise
        except TierbenchError:  # it may have been changed all the same
            _undo([*changed, (container, had)], keep, world)
            raise
        changed.append((container, had))
    return enforced


def _undo(
    changed: Sequence[tuple[str, dict[str, float]]], keep: Keep, world: World
) -> None:
    for container, had in changed:
        with suppress(TierbenchError):  # it stays "set" in what was kept
            change(container, had, world)
            keep(container, "undone", had)


def change(
    container: str, limits: Mapping[str, float], world: World
) -> Mapping[str, float]:
    """Changes limits of the running device that `container` serves; returns all it now enforces.
    Names as in CHANGEABLE, rates in 1/s and bytes/s, latencies in µs, 0 for no limit. All or
    nothing. UsageError for a name that cannot be changed or a number that is none; RunError if the
    device refuses them; GateError if it then enforces something else."""
    _check_changes(limits)
    disk_server.change(container, limits, world)
    running = disk_server.ask(container, ("limits",), world)
    kept = dict(limits)
    # How full the bucket was set is a moment, not a limit that is kept.
    kept.pop(_CREDIT, None)
    disk_server.read_back(container, kept, running)
    return {name: float(value) for name, value in running.items()}


def _check_changes(limits: Mapping[str, float]) -> None:
    if not limits:
        raise UsageError(
            "no limit was given",
            advice="for example `iops=4000 bytes_per_s=1e8`",
        )
    for name, value in limits.items():
        if name not in CHANGEABLE:
            raise UsageError(
                f"{name!r} is not a limit that can be changed on a running disk",
                advice=f"there are {', '.join(CHANGEABLE)}",
            )
        if not math.isfinite(value) or value < 0:
            raise UsageError(f"{name}={value}: a limit is a number of 0 (none) or more")
