"""What one run leaves, whatever happens in it.

A run's outcome is "interrupted" until it is done. It is saved as that when it is measured,
before its raw files are read, and as done before anything is taken down: whatever ends this
program in between, the record tells the truth.
"""

import contextlib
import shlex
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from orchestrator.analysis.doubts import noted
from orchestrator.errors import (
    InterruptedByUser,
    TierbenchError,
    UnavailableError,
    VoidError,
)
from orchestrator.model import (
    RESULTS_FORMAT,
    Measurement,
    Node,
    Record,
)
from orchestrator.registry.taking_part import MemberNames, taking_part
from orchestrator.run.record.run_context import RunContext
from orchestrator.system import at_once, campaign_writing, files, unfinished_runs

_HOST_FAILED = "tierdisk: "  # the begin of the disk server's words about its host


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
        # A run that is done has its record, which must not become that of an interrupted one.
        if here.draft.outcome != "done":
            # The interrupt is passed on whatever else fails.
            with contextlib.suppress(Exception):
                _save(here)
        raise
    except Exception as error:
        here.draft.trouble = error
        with _writing(here):
            # The figures stand if only the teardown failed; a void run has none.
            if here.draft.outcome == "done" and not isinstance(error, VoidError):
                _doubt_teardown(here, error)
            else:
                _fail(here, error)
    else:
        with _writing(here):
            # `done` saved the record before the teardown, which has a phase of its own.
            campaign_writing.save_record(here.folder, _record(here))
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
        # A log that cannot be had must not hide why the run failed.
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
    # A disk that is full takes no smaller record either.
    except OSError:
        raise
    except Exception:  # a table that cannot be made may be the failure
        campaign_writing.save_record(here.folder, _record(here))


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
    campaign_writing.save_record(here.folder, _record(here))


def _message(error: Exception) -> str:
    if isinstance(error, TierbenchError):
        return error.what
    # Some errors have no text of their own; then their type alone is said.
    return f"{type(error).__name__}: {error}".rstrip(": ")


@contextmanager
def _writing(here: RunContext) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        folder = shlex.quote(str(here.campaign))
        raise UnavailableError(
            f"the results of {here.run.slug} cannot be written to {here.campaign}: {error}",
            advice=f"make room there and go on: `tierbench resume {folder}`",
        ) from error


def _save(here: RunContext) -> None:
    result = here.draft.result
    readings = here.draft.readings
    record = _record(here)
    # The table is there already if there is a result: its window has been measured.
    samples = None
    if readings is not None and result is None:
        samples = readings.tables(record.phases)
    if result is None:
        campaign_writing.save_run(here.folder, record, None, None, samples)
    else:
        campaign_writing.save_run(
            here.folder, record, result.intervals, result.latencies, samples
        )


def _record(here: RunContext) -> Record:
    draft = here.draft
    here.extend_phase(here.world.clock.now())
    measurements: tuple[Measurement, ...] = ()
    # Figures of a run that failed later are not to be trusted, so they are left out.
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
        here.world.platform.name,
    )
    extensions = taking_part(members)
    if extensions:
        facts["extensions"] = extensions
    changes = unfinished_runs.limit_changes(here.folder)
    if changes:
        facts["limit_changes"] = changes
    if draft.thread_errors:
        facts["thread_errors"] = list(draft.thread_errors)
    if draft.readings is not None:
        facts["telemetry"] = draft.readings.facts()
    if draft.result is not None:
        facts["generator"] = draft.result.facts.recorded()
    return facts
