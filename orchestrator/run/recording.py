"""One run: what its steps share, and what it leaves, whatever happens in it.

A run's outcome is "interrupted" until it is done. It is saved as that when it is measured,
before its raw files are read, and as done before anything is taken down: whatever ends this
program in between, the record tells the truth.
"""

import contextlib
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from orchestrator.analysis.doubts import noted
from orchestrator.design.used_profiles import as_used
from orchestrator.errors import (
    InterruptedByUser,
    TierbenchError,
    UnavailableError,
    VoidError,
)
from orchestrator.facts import IdentityFacts, PhaseName
from orchestrator.kernel import containers, mounts
from orchestrator.model import (
    RESULTS_FORMAT,
    Doubt,
    Measurement,
    Node,
    Outcome,
    Phase,
    Plan,
    Profile,
    Record,
    Run,
    Workload,
)
from orchestrator.parts import Database, LoadGenerator, Parts, Result, TierMechanism
from orchestrator.powers import Machine, Platform, World
from orchestrator.registry.taking_part import MemberNames, taking_part
from orchestrator.run.gates import Gates
from orchestrator.run.live_events import Hear, PhaseBegins, heard_by_nobody
from orchestrator.run.telemetry import Readings
from orchestrator.system import at_once, files, store
from orchestrator.tier import Gate

_HOST_FAILED = "tierdisk: "  # how the disk server begins what it says of its host


@dataclass
class Draft:
    """What is known of a run so far; it becomes the run's Record whatever happens.

    `trouble`: the exception raised, even if the run was done and only taking it down
    failed. `spent`: seconds on each part that estimates reckon apart.
    """

    outcome: Outcome = "interrupted"
    failure: str | None = "stopped before the run ended"
    trouble: Exception | None = None
    phases: list[Phase] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    gate: Gate | None = None
    result: Result | None = None
    readings: Readings | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)
    spent: dict[str, float] = field(default_factory=dict)
    thread_errors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class RunContext:
    """One run. `campaign` is the folder of all runs; the scope of `world` is the run's own.

    `forgone`: folder of snapshots → why nodes do not start from them, of all runs so far.
    """

    plan: Plan
    run: Run
    parts: Parts
    gates: Gates
    campaign: Path
    world: World
    draft: Draft
    forgone: dict[Path, str]
    hear: Hear = heard_by_nobody

    @cached_property
    def folder(self) -> Path:
        """The run's own folder, with its `raw/` made."""
        return store.run_folder(self.campaign, self.run)

    @property
    def raw(self) -> Path:
        return self.folder / "raw"

    @property
    def workload(self) -> Workload:
        return self.plan.workload(self.run.workload)

    @property
    def profile(self) -> Profile:
        return as_used(self.plan.profile(self.run.profile), self.workload)

    @property
    def mechanism(self) -> TierMechanism:
        return self.parts.tiers[self.profile.tier.disk.enforcement]

    @property
    def database(self) -> Database:
        return self.parts.databases[self.profile.cluster.member]

    @property
    def generator(self) -> LoadGenerator:
        return self.parts.load_generators[self.workload.generator]

    def begin_phase(self, name: PhaseName) -> None:
        """The phase `name` begins now, and the one before ends; one that goes on stays one."""
        now_s = self.world.clock.now()
        self.extend_phase(now_s)
        if not self.draft.phases or self.draft.phases[-1].name != name:
            self.draft.phases.append(Phase(name, now_s, now_s))
            self.hear(PhaseBegins(name))

    def extend_phase(self, end_s: float) -> None:
        """The newest phase lasted until `end_s` at least."""
        phases = self.draft.phases
        if phases:
            phases[-1] = replace(phases[-1], end_s=end_s)

    def windows(self, warmup: Phase, measure: Phase, confirm_s: float = 0.0) -> Phase:
        """Puts what the load generator says of its two phases in the place of the "warm-up"
        that began when it was started.

        Since they ended the run has been in the phase "check", or "settle". The last
        `confirm_s` of the second are not measured; returns what is.
        """
        phases = self.draft.phases
        phases.pop()
        self.extend_phase(warmup.start_s)
        end_s = measure.end_s
        measured = replace(measure, end_s=end_s - confirm_s)
        phases += [warmup, measured]
        if confirm_s:
            phases.append(Phase("confirm", measured.end_s, end_s))
        if self.workload.settle:
            phases.append(Phase("settle", end_s, end_s))
        else:
            phases.append(Phase("check", end_s, end_s))
        return measured

    @contextmanager
    def spending(self, what: str) -> Iterator[None]:
        """Notes how long the block took, if it ended well."""
        started_s = self.world.clock.monotonic()
        yield
        spent = self.draft.spent
        took_s = self.world.clock.monotonic() - started_s
        spent[what] = spent.get(what, 0.0) + took_s


@contextmanager
def recorded(here: RunContext) -> Iterator[None]:
    """The block carries out the run.

    Its error fails the run, or is a doubt if the run was done; it stays in the draft as
    `trouble`. An interrupt is recorded and passed on. UnavailableError if the record
    cannot be written: then no further run makes sense.
    """
    with _writing(here):
        _ = here.folder  # made now
    try:
        with at_once.kept_errors() as here.draft.thread_errors:
            yield
    except (KeyboardInterrupt, InterruptedByUser, SystemExit):
        if here.draft.outcome != "done":
            # The interrupt is passed on whatever else fails.
            with contextlib.suppress(Exception):
                _save(here)
        raise
    except Exception as error:
        here.draft.trouble = error
        with _writing(here):
            if here.draft.outcome == "done" and not isinstance(error, VoidError):
                _doubt_teardown(here, error)
            else:
                _fail(here, error)
    else:
        with _writing(here):
            store.save_record(here.folder, _record(here))  # now with its last phase
    finally:
        if here.draft.readings is not None and (here.folder / "record.json").is_file():
            here.draft.readings.forget()  # its table has them


def measured(here: RunContext) -> None:
    """Saves what is known of the run before its raw files are read, which may take long.

    From here on a program that is killed costs no measurement (`resuming`).
    """
    failure = "it was measured, but not read before the program ended"
    draft = replace(here.draft, failure=failure)
    _save(replace(here, draft=draft))


def done(here: RunContext) -> None:
    """Saves the run as done, while everything is still up."""
    draft = replace(here.draft, outcome="done", failure=None)
    _save(replace(here, draft=draft))
    here.draft.outcome = "done"
    here.draft.failure = None


@contextmanager
def logs_kept(nodes: Sequence[Node], here: RunContext) -> Iterator[None]:
    """Keeps logs of nodes, or of the servers of their disks, when the block ends.

    Also by failure or interrupt: their containers still exist then.
    """
    try:
        yield
    finally:
        at_once.each(partial(_keep_log, here), nodes)


def _keep_log(here: RunContext, node: Node) -> None:
    with contextlib.suppress(TierbenchError):
        container = here.world.platform.container(node.container or node.name)
        log = at_once.unless(here.world.carrying_given_up, container.logs)
        files.keep(here.raw / f"{node.name}.log", log)


def _fail(here: RunContext, error: Exception) -> None:
    failure = _message(error) + _failure_of_disks(here)
    here.draft.outcome = "failed"
    here.draft.failure = failure
    here.world.progress.warn(f"{here.run.slug} failed: {here.draft.failure}")
    files.keep(here.raw / "failure.txt", _evidence(error))
    try:
        _save(here)
    except OSError:
        raise
    except Exception:  # a table that cannot be made may be the failure
        store.save_record(here.folder, _record(here))


def _evidence(error: Exception) -> str:
    """What was seen, or where in the program an unforeseen error was raised."""
    if not isinstance(error, TierbenchError):
        return "".join(traceback.format_exception(error))
    notes = "\n".join(getattr(error, "__notes__", ()))
    return f"{error.what}\n\n{error.evidence}\n{notes}\n"


def _failure_of_disks(here: RunContext) -> str:
    """What servers of emulated disks said about this computer's disk: then that is the cause."""
    for log in sorted(here.raw.glob("disk-*.log")):
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(_HOST_FAILED):
                return f"; {log.stem}: {line.removeprefix(_HOST_FAILED)}"
    return ""


def _doubt_teardown(here: RunContext, error: Exception) -> None:
    """Adds a doubt to a run whose measurement stands: it was read and saved before."""
    message = _message(error)
    run = here.run
    here.world.progress.warn(
        f"{run.slug} was measured, but could not be taken down: {message}"
    )
    here.draft.doubts.append(noted.teardown(run.number, message))
    shown = "".join(traceback.format_exception(error))
    files.keep(here.raw / "teardown.txt", shown)
    store.save_record(here.folder, _record(here))


def _message(error: Exception) -> str:
    if isinstance(error, TierbenchError):
        return error.what
    return f"{type(error).__name__}: {error}".rstrip(": ")


@contextmanager
def _writing(here: RunContext) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UnavailableError(
            f"the results of {here.run.slug} cannot be written to {here.campaign}: {error}",
            advice=f"make room there and go on: `tierbench resume {here.campaign}`",
        ) from error


def _save(here: RunContext) -> None:
    result = here.draft.result
    readings = here.draft.readings
    record = _record(here)
    # What is read has been measured, and so has its table already.
    samples = None
    if readings is not None and result is None:
        samples = readings.tables(record.phases)
    if result is None:
        store.save_run(here.folder, record, None, None, samples)
    else:
        store.save_run(here.folder, record, result.intervals, result.latencies, samples)


def _record(here: RunContext) -> Record:
    draft = here.draft
    here.extend_phase(here.world.clock.now())
    measurements: tuple[Measurement, ...] = ()
    if draft.result and draft.outcome == "done":
        measurements = draft.result.measurements
    return Record(
        schema_version=RESULTS_FORMAT,
        run=here.run,
        profile=here.profile,
        workload=here.workload,
        outcome=draft.outcome,
        failure=draft.failure,
        phases=tuple(draft.phases),
        nodes=tuple(draft.nodes),
        measurements=measurements,
        gate=draft.gate,
        facts=_facts(here),
        doubts=tuple(draft.doubts),
    )


def _facts(here: RunContext) -> dict[str, Any]:
    draft = here.draft
    facts = dict(draft.facts)
    members = MemberNames(
        here.profile.cluster.member,
        here.workload.generator,
        here.profile.tier.disk.enforcement,
    )
    extensions = taking_part(members)
    if extensions:
        facts["extensions"] = extensions
    changes = store.limit_changes(here.folder)
    if changes:
        facts["limit_changes"] = changes
    if draft.thread_errors:
        facts["thread_errors"] = list(draft.thread_errors)
    if draft.readings is not None:
        facts["telemetry"] = draft.readings.facts()
    if draft.result is not None:
        facts["generator"] = draft.result.facts.recorded()
    return facts


# ------------------------------------------------------------------ what took part in it

_DIGITS = 12  # of an image's id, as engines show it


def identity_of(here: RunContext) -> IdentityFacts:
    """What took part in the run beside profile and workload, to tell runs of different times
    apart.

    Read while containers are up. What cannot be read is left out, and never ends a run.
    """
    nodes = here.draft.nodes
    world = here.world
    scripts = ""
    with contextlib.suppress(OSError, TierbenchError):
        scripts = here.generator.scripts(here.workload, world)
    return IdentityFacts(
        scripts=scripts or None,
        images=_images(nodes, world.platform),
        file_systems=dict(_file_systems(nodes, world)),
        machine_types=_machine_types(nodes, world.platform),
    )


def _machine_types(nodes: Sequence[Node], platform: Platform) -> dict[str, str]:
    """Database node → the type of its machine, where the platform says it."""
    by_machine: dict[str, str] = {}
    for machine in platform.machines():
        if machine.facts_told is not None:
            by_machine[machine.name] = machine.facts_told.instance_type
    type_by_node: dict[str, str] = {}
    for node in nodes:
        machine_type = by_machine.get(node.machine)
        if node.role == "database" and machine_type:
            type_by_node[node.name] = machine_type
    return type_by_node


def _images(nodes: Sequence[Node], platform: Platform) -> dict[str, str]:
    """Role → its images, if the nodes of a role differ all of them."""
    images_by_role: dict[str, set[str]] = {}
    for node in nodes:
        if node.container is None:
            continue
        with contextlib.suppress(TierbenchError):
            image = platform.container(node.container).find_image()
            if image:
                short = image.removeprefix("sha256:")[:_DIGITS]
                images_by_role.setdefault(node.role, set()).add(short)
    return {role: ", ".join(sorted(images)) for role, images in images_by_role.items()}


def _file_systems(nodes: Sequence[Node], world: World) -> Iterator[tuple[str, str]]:
    """Node → `xfs rw,relatime,…`, as its own process sees the disk mounted."""
    for node in nodes:
        if node.role != "database" or not node.device:
            continue
        with contextlib.suppress(OSError, ValueError):
            machine = _machine_of(node, world.platform)
            process = containers.process_of(machine, node)
            table = machine.read(f"/proc/{process}/mountinfo")
            for mount in mounts.parsed(table):
                if mounts.device_name(mount, machine) == node.device:
                    yield node.name, f"{mount.kind} {mount.options}"
                    break


def _machine_of(node: Node, platform: Platform) -> Machine:
    for machine in platform.machines():
        if machine.name == node.machine:
            return machine
    raise OSError(f"no machine {node.machine!r} is known")
