"""The outside powers of a command: clock, shell and platform of this machine; alone there."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from orchestrator.databases import databases
from orchestrator.databases.existing import ExistingCluster
from orchestrator.errors import TierbenchError, UnavailableError, UsageError
from orchestrator.load_generators import load_generators
from orchestrator.model import Placing
from orchestrator.parts import Parts
from orchestrator.platforms import platforms
from orchestrator.platforms.common.claims import RentsVolumes
from orchestrator.platforms.dry import NotAsked, UnaskedPlatform
from orchestrator.powers import Clock, Platform, Progress, World
from orchestrator.system import host
from orchestrator.system.clock import SystemClock
from orchestrator.system.shell import SystemShell
from orchestrator.tiers import tier_mechanisms

# Not in the cache, which may be private to a checkout: two campaigns on one machine disturb each
# other from wherever they are started.
LOCK = host.lock_folder() / "tierbench.lock"
PLATFORM = "docker"  # where nothing else is said
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def platform(name: str | None = None, placing: Placing | None = None) -> Platform:
    """Where containers run, and on which of its machines. UsageError for an unknown name,
    UnavailableError if it does not answer."""
    return require(name or PLATFORM)(SystemClock(), placing or Placing())


def require(name: str) -> Callable[[Clock, Placing], Platform]:
    """What connects to the platform `name`. UsageError if there is none of that name."""
    known = platforms()
    if name not in known:
        raise UsageError(f"no platform {name!r}", advice=f"there are {' and '.join(known)}")
    return known[name]


@contextmanager
def powers(
    root: Path,
    cache: Path,
    progress: Progress,
    name: str | None = None,
    placing: Placing | None = None,
) -> Iterator[tuple[World, Platform]]:
    """The powers for one command, on the platform `name`; raises as `platform` does."""
    clock = SystemClock()
    engine = platform(name, placing)
    scope = f"tierbench-{engine.campaign}"
    yield World(clock, SystemShell(), engine, progress, cache, root, scope), engine


def unasked(root: Path, cache: Path, progress: Progress) -> tuple[Parts, World]:
    """Parts and powers of a look ahead: no engine is asked, no cluster connected to."""

    def nobody(*_: object) -> Any:
        raise NotAsked("the cluster is not connected to")

    answers: Any = UnaskedPlatform()
    known = {**databases(), ExistingCluster.name: ExistingCluster(connect=nobody)}
    parts = Parts(known, load_generators(), tier_mechanisms(), ())
    return parts, World(SystemClock(), SystemShell(), answers, progress, cache, root)


@contextmanager
def alone(engine: Platform) -> Iterator[None]:
    """Excludes other campaigns on this machine, and on this engine from another machine.
    UnavailableError if one is running."""
    with host.only_one(LOCK), engine.guard.held():
        yield


@contextmanager
def at_work(
    root: Path,
    cache: Path,
    progress: Progress,
    name: str | None = None,
    placing: Placing | None = None,
    most_s: float | None = None,
) -> Iterator[tuple[World, Platform]]:
    """The powers, alone on this machine; everything of ours is removed at the end, which comes by
    `TimeIsUp` after `most_s`."""
    _require_writable(cache)
    with (
        powers(root, cache, progress, name, placing) as (world, engine),
        alone(engine),
        sweeping(world, most_s),
    ):
        yield world, engine


def _require_writable(cache: Path) -> None:
    """UnavailableError if the cache, or a folder in it, is another user's: `sudo tierbench disk up`
    leaves folders of root."""
    for folder in (cache, *cache.glob("*/")):
        if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
            raise UnavailableError(
                f"{folder} cannot be written by this user (was it made by `sudo tierbench`?)",
                advice=f"sudo chown -R {os.geteuid()} -- {shlex.quote(str(folder))}",
            )


class TimeIsUp(KeyboardInterrupt):
    """Ends the run in progress as Ctrl-C does: it is no failure of that run."""


@contextmanager
def sweeping(world: World, most_s: float | None = None) -> Iterator[None]:
    """Removes everything of ours at the end; a second Ctrl-C does not cut the cleaning short.
    `TimeIsUp` if the block takes more than `most_s`."""

    def ignore_all() -> None:
        for each in heard:
            signal.signal(each, signal.SIG_IGN)

    def time_is_up(_signal: int, _frame: FrameType | None) -> None:
        ignore_all()
        world.progress.warn("the limit is reached: taking everything down; finished runs are kept")
        raise TimeIsUp

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        ignore_all()
        world.progress.warn("interrupted: taking everything down; finished runs are kept")
        raise KeyboardInterrupt

    # What is ignored stays ignored: `nohup` and shells without a terminal ask for that.
    heard = [each for each in _SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, interrupt) for each in heard}
    if most_s is not None:
        heard.append(signal.SIGALRM)
        before[signal.SIGALRM] = signal.signal(signal.SIGALRM, time_is_up)
        signal.setitimer(signal.ITIMER_REAL, most_s)
    try:
        yield
    finally:
        ignore_all()
        if most_s is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            platform = world.platform
            platform.sweep()
            if isinstance(platform, RentsVolumes) and (kept := platform.claims.retained()):
                world.progress.warn(f"rented and kept, at a cost, until removed: {', '.join(kept)}")
        except TierbenchError as error:
            world.progress.warn(f"{error.what}; the next campaign tries again")
        for each, disposition in before.items():
            signal.signal(each, disposition)
