"""What the commands are given: folders, console, and what they reach outside of this program.

Nothing heavy is imported before it is used."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TextIO, cast

import typer

from orchestrator.cli import CACHE, IS_CHECKOUT, OWN, RESULTS, root
from orchestrator.cli.common import forms
from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.common.defaults import GivenDefault
from orchestrator.cli.common.progress import ConsoleProgress, EndingProgress
from orchestrator.cli.common.teardown import sweeping
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.model import Cluster, ClusterSpec, Placing
from orchestrator.parts import CheckedFact, Collector, Parts
from orchestrator.parts.unconnected import Unconnected
from orchestrator.powers import Clock, Platform, Shell, World
from orchestrator.system import confirmed, host, machine_caches
from orchestrator.system.clock import SystemClock
from orchestrator.system.machine_caches import MachineIdentity
from orchestrator.system.shell import SystemShell
from orchestrator.tier import DiskKind

PLATFORM = "docker"  # default where nothing else is said
Platforms = Mapping[str, Callable[[Clock, Placing], Platform]]


def _all_platforms() -> Platforms:
    from orchestrator.platforms import platforms

    return platforms()


def _all_parts(platform: Platform | None = None) -> Parts:
    from orchestrator.cli.common import cluster_questions
    from orchestrator.collectors import collectors
    from orchestrator.databases import databases
    from orchestrator.load_generators import load_generators
    from orchestrator.platforms.common import packages
    from orchestrator.tiers import tier_mechanisms

    members = databases()
    sampled: Sequence[Collector] = ()
    if platform is not None:
        sampled = collectors(platform)
    return Parts(
        databases=members,
        load_generators=load_generators(),
        tiers=tier_mechanisms(),
        collectors=sampled,
        connected=partial(cluster_questions.collectors, members),
        statements=partial(cluster_questions.statement_counts, members),
        waits=partial(cluster_questions.session_history, members),
        packages=packages.installed,
    )


def _own_cache() -> Path:
    """This machine's part of a cache that several machines may share."""
    return machine_caches.part_of(CACHE, machine_caches.here())


def _lock() -> Path:
    return host.lock_folder() / "tierbench.lock"


def _standard_input() -> TextIO:
    return sys.stdin


def _error_console() -> LastingConsole:
    return LastingConsole(stderr=True)


def _progress() -> EndingProgress:
    return ConsoleProgress(_error_console(), SystemClock())


def _user_files() -> Path | None:
    if IS_CHECKOUT:
        return None
    return OWN


@dataclass(frozen=True)
class App:
    """The command line of one call."""

    root: Path = field(default_factory=root)
    cache: Path = field(default_factory=_own_cache)
    results: Path = RESULTS  # folder of campaigns if the command has no --results
    out: LastingConsole = field(default_factory=LastingConsole)
    err: LastingConsole = field(default_factory=_error_console)
    progress: EndingProgress = field(default_factory=_progress)
    stdin: TextIO = field(default_factory=_standard_input)  # a person's on a terminal
    clock: Clock = field(default_factory=SystemClock)
    shell: Shell = field(default_factory=SystemShell)
    platforms: Callable[[], Platforms] = _all_platforms  # name → what connects
    # The members of all families; without a platform there are no collectors.
    parts: Callable[[Platform | None], Parts] = _all_parts
    # Held by the one campaign on this machine, since two disturb each other from wherever they are
    # started. Not in the cache, which may be private to a checkout.
    lock: Path = field(default_factory=_lock)
    # What the user has confirmed.
    state: Path = field(default_factory=confirmed.folder)
    user: int = field(default_factory=os.geteuid)
    machine: MachineIdentity = field(default_factory=machine_caches.here)
    # Provider → where its prices are asked for, if elsewhere than at its own address.
    price_services: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()  # the command as given, without the program's name
    # What tells the folder of the campaign that the command carries out; None before it is begun.
    campaigns: list[Callable[[], Path | None]] = field(default_factory=list)
    # What is called with the exit code before the program ends.
    at_end: list[Callable[[int], None]] = field(default_factory=list)
    # Options that a person's defaults gave.
    defaults: list[GivenDefault] = field(default_factory=list)
    # Where the user's files are, if not in `root`.
    user_files: Path | None = field(default_factory=_user_files)

    def speak(
        self, quiet: bool, verbose: bool, color: str, output: str = forms.TABLE
    ) -> None:
        """How this command says what it does (`command_making.Telling`). UsageError if it is asked
        for both less and more."""
        if quiet and verbose:
            raise UsageError(
                "--quiet and --verbose cannot be combined", advice="give one of them"
            )
        for console in (self.out, self.err):
            console.speak(color, output)
        self.progress.speak(quiet, verbose, color)

    def folder(self, results: Path, campaign: str) -> Path:
        """The folder of a stored campaign. UsageError if there is none of that name."""
        from orchestrator.system import stored_campaigns

        return stored_campaigns.resolve(results, campaign)

    def connection(self, name: str) -> Callable[[Clock, Placing], Platform]:
        """What connects to the platform `name`. UsageError if there is none of that name."""
        connections = self.platforms()
        if name not in connections:
            names = " or ".join(connections)
            raise UsageError(
                f"no platform {name!r}",
                advice=(
                    f"give {names}; an extension that is not installed may bring others: "
                    "`tierbench list`"
                ),
            )
        return connections[name]

    def connect(
        self, name: str | None = None, placing: Placing | None = None
    ) -> Platform:
        """The platform where containers run, on the machines that `placing` chooses.

        UsageError for an unknown name, UnavailableError if it does not answer.
        """
        connect = self.connection(name or PLATFORM)
        return connect(self.clock, placing or Placing())

    def world(self, name: str | None = None, placing: Placing | None = None) -> World:
        """The powers for one command, on the platform `name`; raises as `connect` does."""
        platform = self.connect(name, placing)
        scope = f"tierbench-{platform.campaign}"
        return World(
            self.clock,
            self.shell,
            platform,
            self.progress,
            self.cache,
            self.root,
            scope,
        )

    def disk_kinds(self) -> dict[str, DiskKind]:
        """The tier mechanisms that a profile may name, each with the kind of its disks."""
        mechanisms = self.parts(None).tiers
        return {name: mechanism.kind for name, mechanism in mechanisms.items()}

    def unasked(self) -> tuple[Parts, World]:
        """Parts and powers of a look ahead: no engine is asked, no cluster connected to."""
        from orchestrator.platforms.dry import UnaskedPlatform

        parts = self.parts(None)
        world = World(
            clock=self.clock,
            shell=self.shell,
            platform=cast(Platform, UnaskedPlatform()),
            progress=self.progress,
            cache=self.cache,
            root=self.root,
        )
        return replace(parts, databases=Unconnected(parts.databases)), world

    @contextmanager
    def alone(self, platform: Platform) -> Iterator[None]:
        """Excludes other campaigns on this machine, and on this platform from another machine.
        UnavailableError if one is running."""
        with host.only_one(self.lock), platform.guard.held():
            yield

    @contextmanager
    def at_work(
        self,
        name: str | None = None,
        placing: Placing | None = None,
        most_s: float | None = None,
    ) -> Iterator[World]:
        """The powers, alone on this machine; everything of ours is removed at the end, which comes
        by `TimeIsUp` after `most_s`."""
        # This is refused before anything is up: what fails later would have to be taken down first.
        require_writable(self.cache)
        self.sign_cache()
        world = self.world(name, placing)
        with sweeping(world, self.alone(world.platform), most_s):
            yield world

    def sign_cache(self) -> None:
        """Makes the cache this machine's; says what is unusual of that. UnavailableError as of
        `machine_caches.sign`."""
        machine_caches.sign(self.cache, self.machine)
        if self.cache.parent.name == machine_caches.PARTS:
            owner = machine_caches.owner_of(self.cache.parent.parent)
            if owner:
                self.progress.note(
                    f"the cache belongs to {owner.name}; this machine uses {self.cache} "
                    "in it"
                )
        if not self.machine.id:
            self.progress.note(
                "there is no /etc/machine-id, so any machine named "
                f"{self.machine.name} uses this cache too. Give a container a fixed "
                "--hostname, or mount the file"
            )

    def confirm(self, question: str) -> None:
        """Ends the command unless the person at the terminal agrees."""
        # The question is no markup: `[y/N]` would be taken for a style.
        self.out.print(f"{question} [y/N]: ", end="", markup=False)
        answer = self.stdin.readline().strip().lower()
        if answer not in ("y", "yes"):
            raise typer.Abort

    def first_run(
        self, spec: ClusterSpec, world: World, listen: Callable[[Cluster], None]
    ) -> Iterator[CheckedFact]:
        """Goes through the checklist of the database."""
        first_run = self.parts(None).databases[spec.database].abilities.first_run
        if first_run is None:
            raise UsageError(
                f"{spec.database} has no checklist",
                advice="leave out --db: the machine is checked without it",
            )
        return first_run.look(spec, world, listen)


def require_writable(cache: Path) -> None:
    """UnavailableError if the cache, or a folder in it, is another user's: `sudo tierbench disk up`
    leaves folders of root."""
    for folder in (cache, *cache.glob("*/")):
        if not folder.is_dir():
            continue
        # access(2) by itself asks for the real user; files are written as the effective one.
        if os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
            continue
        quoted = shlex.quote(str(folder))
        raise UnavailableError(
            f"{folder} cannot be written by this user (was it made by `sudo tierbench`?)",
            f"sudo chown -R {os.geteuid()} -- {quoted}",
        )
