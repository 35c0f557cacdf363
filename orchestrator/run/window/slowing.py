"""One node's disk is slow for a time while a load runs (`slow` of a workload, `--slow`).

Some time after the window's begin the limits of the disk are changed. When the slow time is over,
they become what the tier declares again, and are read back. The times, and what the disk enforced,
are kept among the raw files; `analysis/figures/slowed.py` makes figures of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from orchestrator.analysis.figures import slowed
from orchestrator.design import boxed_work, node_disks, slow_disks
from orchestrator.design.slow_disks import SlowPart
from orchestrator.errors import RunError, TierbenchError, UsageError, VoidError
from orchestrator.model import Profile, Workload
from orchestrator.parts import ChangedLimits, ClientLoad, Disks, Parts
from orchestrator.run.record.run_context import RunContext
from orchestrator.run.window.window_followers import Follower, followed
from orchestrator.system import files
from orchestrator.texts.prose import listed
from orchestrator.tier import Tier
from orchestrator.tier.slow_disk import SlowDisk
from orchestrator.units import format_bytes, format_seconds


def check(workload: Workload, profile: Profile, parts: Parts) -> None:
    """UsageError if no disk of this cluster can be slow in the window of this load."""
    for why in _obstacles(workload, profile, parts):
        raise UsageError(
            f"{workload.name} on {profile.name}: no disk can be slow: {why}",
            advice="see docs/WORKLOADS.md, or leave `slow` (--slow) out",
        )


def _obstacles(workload: Workload, profile: Profile, parts: Parts) -> Iterator[str]:
    """Why the disks cannot be slow: none, if they can."""
    tier = profile.tier
    if workload.database is not None:
        yield "it measures one disk alone, without a cluster"
    if parts.tiers[tier.disk.enforcement].abilities.limits is None:
        yield "the limits of this tier's disks cannot be changed, only emulated ones"
    generator = parts.load_generators[workload.generator]
    # Figures before the slow time, in it and behind it are made of single transactions.
    if generator.abilities.split_load is None:
        yield "its load keeps no record of each transaction"
    if boxed_work.ends_with_work(workload):
        yield "it ends when its work is done, so its window has no known end"
    # Of two changes in one window nobody could tell which one had an effect.
    if workload.confirm_s > 0:
        yield "`--confirm` changes limits too"
    if workload.lost_after_s is not None:
        yield "`lost_after` loses a node in the same window"
    yield from _obstacles_of_disks(workload.slow, tier)
    names = node_disks.node_names(profile.cluster.nodes)
    for disk in workload.slow:
        if disk.node not in names:
            yield f"there is no {disk.node}: the nodes are {listed(names)} (--nodes)"
    yield from slow_disks.mistakes(workload.slow, workload.measure_s)


def _obstacles_of_disks(disks: Sequence[SlowDisk], tier: Tier) -> Iterator[str]:
    """Why the disks of data or of the WAL cannot be slow."""
    of_data: list[SlowDisk] = []
    of_logs: list[SlowDisk] = []
    for disk in disks:
        if disk.of_log:
            of_logs.append(disk)
        else:
            of_data.append(disk)
    yield from _unlike_tier(of_data, tier)
    if of_logs and tier.wal is None:
        yield f"there is no {of_logs[0].disk}: the tier has no disk for the WAL (`wal`)"
    elif tier.wal is not None:
        yield from _unlike_tier(of_logs, tier.wal)


def _unlike_tier(disks: Sequence[SlowDisk], tier: Tier) -> Iterator[str]:
    """Why disks of this tier cannot be slow as asked: the tier declares no such limit, or the disk
    would serve no I/O at all."""
    for disk in disks:
        if disk.how == "share":
            yield from _no_share(disk, tier)
        if disk.how == "latency":
            yield from _no_latency(disk, tier)


def _no_share(disk: SlowDisk, tier: Tier) -> Iterator[str]:
    iops = tier.limits.iops
    bytes_per_s = tier.limits.bytes_per_s
    if not iops and not bytes_per_s:
        yield "the tier limits neither IOPS nor bytes/s, so no share of them can be taken"
    # An I/O that the slow disk has taken on keeps waiting when the disk is as declared again. So it
    # must serve at least one in a second.
    share = disk.amount / 100
    described = slow_disks.described(disk)
    if iops and share * iops < 1:
        yield f"{described} is less than one I/O a second: take more, or `stall`"
    io_bytes = tier.limits.io_unit_bytes
    if bytes_per_s and share * bytes_per_s < io_bytes:
        largest = format_bytes(io_bytes)
        yield f"{described} is less than one I/O of {largest} a second: take more, or `stall`"


def _no_latency(disk: SlowDisk, tier: Tier) -> Iterator[str]:
    if tier.latency.model:
        yield (
            "the tier's latency is drawn from a table, and only a constant latency can be "
            "changed"
        )
        return
    longest_s = max(tier.latency.read_s or 0.0, tier.latency.write_s or 0.0)
    if not longest_s:
        yield "the tier declares no latency, so none can be made longer"
    takes_s = disk.amount * longest_s
    if takes_s >= disk.lasts_s:
        described = slow_disks.described(disk)
        takes = format_seconds(takes_s)
        yield f"an I/O of {described} would take {takes}: take less, or `stall`"


@contextmanager
def slowing(here: RunContext, disks: Disks, load: ClientLoad) -> Iterator[ClientLoad]:
    """Makes disks slow while the load runs in the block, if the workload says so.

    Yields the load to carry.
    VoidError at the end of the block if a disk was not slow for its time, and as declared again,
    within the window.
    """
    slow = here.workload.slow
    limits = here.mechanism.abilities.limits
    if not slow or limits is None:
        yield load
        return
    follower = Follower(load.world.clock)
    changes = _Changes(here, disks, limits, follower)
    with followed(changes.follow, "slow disk", follower, load.world) as telling:
        yield replace(load, world=telling)
    if changes.error is not None:
        raise _not_slowed(changes.error) from changes.error
    # A part that the load's end cut off was not slow for its time.
    if len(changes.kept) < len(slow):
        raise _not_slowed(RunError("the load had ended before"))
    files.write_json(here.raw / slowed.FILE, {"parts": changes.kept})


def _not_slowed(why: Exception) -> VoidError:
    return VoidError(
        f"a disk was not slow as asked: {why}",
        advice="look at the log of the disk's server among the raw files of the run",
    )


@dataclass(frozen=True)
class _Event:
    """What is done to a disk, so long after the window's begin."""

    moment_s: float
    disk: SlowDisk
    begins: bool


def _events(parts: Sequence[SlowPart]) -> list[_Event]:
    """The events in the order of time.

    If one slow time ends when the next begins, the disk is first restored and then made slow anew.
    """
    events: list[_Event] = []
    for part in parts:
        events.append(_Event(part.begin_s, part.disk, begins=True))
        events.append(_Event(part.end_s, part.disk, begins=False))

    # False is sorted before True: an end comes before a begin.
    def order(event: _Event) -> tuple[float, bool]:
        return event.moment_s, event.begins

    return sorted(events, key=order)


@dataclass
class _SlowNow:
    """A disk that is slow at this moment, since when (Unix seconds), and what it enforces."""

    disk: SlowDisk
    slow_s: float
    enforced: Mapping[str, float] = field(default_factory=dict)


@dataclass
class _Changes:
    """The changes of limits in a window, on a thread of their own.

    `kept`: each part that is over, with its times (Unix seconds) and what its disk enforced.
    """

    here: RunContext
    disks: Disks
    limits: ChangedLimits
    follower: Follower
    kept: list[dict[str, Any]] = field(default_factory=list)
    error: Exception | None = None
    _slow: dict[str, _SlowNow] = field(default_factory=dict)

    def follow(self, begin_s: float) -> None:
        load = self.here.workload
        parts = slow_disks.parts(load.slow, load.measure_s)
        try:
            for event in _events(parts):
                if not self.follower.wait_until(begin_s + event.moment_s):
                    return
                if event.begins:
                    self._make_slow(event.disk)
                else:
                    self._restore(event.disk)
            self._require_within(begin_s + load.measure_s)
        except Exception as error:  # raised when the load has ended
            self.error = error
        finally:
            self._restore_left()

    def _restore_left(self) -> None:
        """Restores the disks that are still slow because the load broke off, or after an error.

        A database on a slow disk might not stop in time.
        """
        here = self.here
        for slow in tuple(self._slow.values()):
            # An engine that is gone has no disk, and the run is void already.
            with suppress(TierbenchError):
                self.limits.restore(
                    here.profile.tier, self.disks, slow.disk, here.world
                )

    def _require_within(self, end_s: float) -> None:
        """RunError if an engine answered so late that the window was over."""
        last = self.kept[-1]
        late_s = last["back_s"] - end_s
        if late_s > 0:
            raise RunError(
                f"it was as declared again {format_seconds(late_s)} after the window's end"
            )

    def _make_slow(self, disk: SlowDisk) -> None:
        world = self.here.world
        world.progress.note(f"the disk of {slow_disks.described(disk)}")
        # The time is taken before the change, so that the slow time is never too short.
        slow_s = world.clock.now()
        slow = _SlowNow(disk, slow_s)
        # Noted before the call, because the disk may be slow although the call fails.
        self._slow[disk.disk] = slow
        tier = self.here.profile.tier
        slow.enforced = self.limits.slow(tier, self.disks, disk, world)

    def _restore(self, disk: SlowDisk) -> None:
        world = self.here.world
        tier = self.here.profile.tier
        restored = self.limits.restore(tier, self.disks, disk, world)
        # The time is taken after the read-back: until then the disk may have been slow.
        back_s = world.clock.now()
        slow = self._slow.pop(disk.disk)
        self.kept.append(
            {
                **asdict(disk),
                "slow_s": slow.slow_s,
                "enforced": dict(slow.enforced),
                "back_s": back_s,
                "restored": dict(restored),
            }
        )
