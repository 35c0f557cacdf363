"""A campaign from request to report: what the commands share.

request → plan (pure, nothing started) → runs and records (experiment) → verdict and report (files
alone). This and `cli` are the only modules that see both sides.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType

from orchestrator import __version__, catalogue, experiment, host, plan, report, store
from orchestrator.clock import SystemClock
from orchestrator.collectors import collectors
from orchestrator.containers import DockerContainers
from orchestrator.databases import choose, databases
from orchestrator.databases.yugabytedb import checklist, image
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.frames import Campaign
from orchestrator.gates import Gates
from orchestrator.loadgens import bind, load_generators
from orchestrator.model import ClusterSpec, Gate, Plan, Profile, Verdict
from orchestrator.protocols import Parts, Tell, World
from orchestrator.shell import SystemShell
from orchestrator.tiers import emulated, served, tier_mechanisms
from orchestrator.verdicts import judge

# Not in the cache, which may be private to a checkout: two campaigns on one machine disturb each
# other from wherever they are started.
LOCK = Path("/tmp/tierbench.lock")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Request:
    """What a person asked for, as options of `run` and `compare`."""

    profiles: Sequence[str]
    workloads: Sequence[str]
    database: str = "auto"
    scale: str = "laptop"
    nodes: int | None = None
    repetitions: int = 1
    seed: int = 1
    margin_pct: float = 5.0
    baseline: str | None = None
    generator: str | None = None


def make_plan(request: Request, root: Path) -> Plan:
    """Files and options → a plan. UsageError with every mistake; nothing is started."""
    if not request.profiles or not request.workloads:
        raise UsageError("name at least one profile and one workload")
    found, workloads = catalogue.read(root, request.profiles, request.workloads, request.scale)
    workloads = tuple(bind(workload, request.generator) for workload in workloads)
    notes: tuple[str, ...] = ()
    if all(workload.database for workload in workloads):  # nothing to choose, nothing to fit
        bound = tuple(plan.as_used(profile, workloads[0]) for profile in found)
    else:
        bound, notes = _with_databases(found, request)
    for profile in bound:
        _known_mechanism(profile.tier.enforcement)
    seed = {"seed": request.seed}
    workloads = tuple(replace(one, options={**one.options, **seed}) for one in workloads)
    names = [profile.name for profile in bound]
    subject = workloads[0].name if len(workloads) == 1 else "compare"
    return plan.make_plan(
        "-".join([subject, *names])[:80],
        bound,
        workloads,
        repetitions=request.repetitions,
        seed=request.seed,
        scale=request.scale,
        margin_pct=request.margin_pct,
        baseline=request.baseline,
        notes=(*notes, *plan.tier_notes(bound)),
    )


def _with_databases(
    found: Sequence[Profile], request: Request
) -> tuple[tuple[Profile, ...], tuple[str, ...]]:
    """The profiles with the nodes and the database that they get here, and what to say of it."""
    fitted, notes = plan.fit_to_machine(found, request.nodes, host.cpu_count())
    asked = [
        profile.cluster.database if request.database == "auto" else request.database
        for profile in fitted
    ]
    chosen = [
        choose(name, partial(_can_have_yugabytedb, profile.cluster))
        for name, profile in zip(asked, fitted, strict=True)
    ]
    bound = tuple(
        replace(profile, cluster=_chosen(profile.cluster, choice.name))
        for profile, choice in zip(fitted, chosen, strict=True)
    )
    said = dict.fromkeys(choice.note for choice in chosen if choice.note)
    return bound, (*said, *notes)


def _chosen(cluster: ClusterSpec, database: str) -> ClusterSpec:
    node = cluster.node_of.get(database, cluster.node)
    return replace(cluster, database=database, node=node, node_of={})


def _can_have_yugabytedb(cluster: ClusterSpec) -> bool:
    try:
        engine = DockerContainers(SystemClock())
    except UnavailableError:
        return False
    return image.obtain(cluster, engine) is not None


def carry_out(made: Plan, root: Path, cache: Path, results: Path, tell: Tell) -> Path:
    """Runs the plan on this machine; returns its folder. Nothing of ours is left running."""
    with powers(root, cache, tell) as (world, engine), host.only_one(LOCK), _sweeping(world):
        fingerprint = {
            "tierbench": __version__,
            "host": host.fingerprint(),
            "engine": engine.engine(),
            "command": " ".join(["tierbench", *sys.argv[1:]]),
        }
        parts = Parts(databases(), load_generators(), tier_mechanisms(), collectors())
        return experiment.execute(made, parts, world, results, fingerprint)


def conclude(folder: Path) -> tuple[Campaign, Verdict, report.ReportPaths]:
    """Files → verdict and report. Needs neither Docker nor anything else of the running half."""
    campaign = store.load(folder)
    verdict = judge(campaign)
    store.save_verdict(folder, verdict)
    return campaign, verdict, report.write(campaign, verdict, folder)


def calibrate(
    profile_name: str, scale: str, thorough: bool, root: Path, cache: Path, tell: Tell
) -> Gate:
    """The truth gate of one profile's tier, by itself: always measured, kept if it passed."""
    found, _ = catalogue.read(root, [profile_name], [], scale)
    tier = found[0].tier
    _known_mechanism(tier.enforcement)
    with powers(root, cache, tell) as (world, _), host.only_one(LOCK), _sweeping(world):
        mechanisms = tier_mechanisms()
        mechanisms[tier.enforcement].check(tier, world)
        return Gates(mechanisms, world).measure(tier, thorough)


def set_limits(
    run: str, limits: Mapping[str, float], root: Path, cache: Path, results: Path, tell: Tell
) -> Mapping[str, float]:
    """Changes limits of the emulated disks of the run that is going on; returns what they enforce.

    The change is written beside the run's raw files and becomes part of its record. UsageError
    where that run is not going on or has no such disks.
    """
    if not host.is_held(LOCK):
        raise UsageError("no campaign is running here, so there is no disk whose limits to change")
    folder = store.unfinished_run(results, run)
    with powers(root, cache, tell) as (world, _):
        disks = served.running_disks(world)
        if not disks:
            raise UsageError(
                f"{folder.name} has no emulated disk at this moment",
                advice="try again when it measures; other tiers' limits cannot be changed",
            )
        enforced: Mapping[str, float] = {}
        for disk in disks:
            enforced = emulated.change(disk, limits, world)
            change = {"time_s": world.clock.now(), "disk": disk, "set": dict(limits)}
            store.keep_limit_change(folder, change)
    return enforced


def first_run(
    version: str | None, root: Path, cache: Path, tell: Tell
) -> Iterator[checklist.Finding]:
    """Goes through YugabyteDB's checklist (docs/FIRST-RUN-YUGABYTEDB.md)."""
    spec = checklist.spec(version)
    with powers(root, cache, tell) as (world, engine), host.only_one(LOCK), _sweeping(world):
        image.obtain(spec, engine)
        yield from checklist.first_run(spec, world)


def _known_mechanism(enforcement: str) -> None:
    known = tier_mechanisms()
    if enforcement not in known:
        raise UsageError(f"enforcement {enforcement!r} is not there; there is {', '.join(known)}")


@contextmanager
def powers(root: Path, cache: Path, tell: Tell) -> Iterator[tuple[World, DockerContainers]]:
    clock = SystemClock()
    engine = DockerContainers(clock)
    yield World(clock, SystemShell(), engine, tell, cache, root), engine


@contextmanager
def _sweeping(world: World) -> Iterator[None]:
    """Whatever happens, nothing of ours stays; a second Ctrl-C does not cut the cleaning short."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        world.tell.warn("interrupted: taking everything down; finished runs are kept")
        raise KeyboardInterrupt

    before = {each: signal.signal(each, interrupt) for each in _SIGNALS}
    try:
        yield
    finally:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        world.containers.sweep()
        for each, disposition in before.items():
            signal.signal(each, disposition)
