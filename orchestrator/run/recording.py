"""What a run leaves, whatever happens in it: its record, its tables, logs, and why it failed.

A run's outcome is "interrupted" until it is done, and it is saved as done before anything is taken
down: whatever ends this program in between, the record tells the truth.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from orchestrator.errors import InterruptedByUser, TierbenchError, UnavailableError, VoidError
from orchestrator.model import Cluster, Doubt, Node, Record
from orchestrator.run.context import RunContext
from orchestrator.system import at_once, store


@contextmanager
def recorded(here: RunContext) -> Iterator[None]:
    """The block carries out the run. Its error fails the run, or is a doubt if the run was done;
    it stays in the draft as `trouble`. An interrupt is recorded and passed on.

    UnavailableError if the record cannot be written: then no further run makes sense.
    """
    with _writing(here):
        _ = here.folder  # made now
    try:
        yield
    except (KeyboardInterrupt, InterruptedByUser, SystemExit):
        if here.draft.outcome != "done":
            with contextlib.suppress(Exception):  # the interrupt is passed on whatever else fails
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


def done(here: RunContext) -> None:
    """Saves the run as done, while everything is still up."""
    _save(replace(here, draft=replace(here.draft, outcome="done", failure=None)))
    here.draft.outcome, here.draft.failure = "done", None


@contextmanager
def logs_kept(cluster: Cluster, here: RunContext) -> Iterator[None]:
    """Keeps the nodes' logs when the block ends, also by failure or interrupt: their containers
    still exist then."""

    def keep(node: Node) -> None:
        with contextlib.suppress(TierbenchError):
            log = here.world.platform.container(node.container or node.name).logs()
            (here.raw / f"{node.name}.log").write_text(log)

    try:
        yield
    finally:
        at_once.each(keep, cluster.nodes)


def _fail(here: RunContext, error: Exception) -> None:
    here.draft.outcome, here.draft.failure = "failed", _message(error)
    here.world.progress.warn(f"{here.run.slug} failed: {here.draft.failure}")
    try:
        _save(here)
    except OSError:
        raise
    except Exception:  # a table that cannot be made may be the failure
        store.save_record(here.folder, _record(here))
    notes = "\n".join(getattr(error, "__notes__", ()))
    if isinstance(error, TierbenchError):
        text = f"{error.what}\n\n{error.evidence}\n{notes}\n"
    else:
        text = "".join(traceback.format_exception(error))
    (here.raw / "failure.txt").write_text(text)


def _doubt_teardown(here: RunContext, error: Exception) -> None:
    """Adds a doubt to a run whose measurement stands: it was read and saved before."""
    message, run = _message(error), here.run
    here.world.progress.warn(f"{run.slug} was measured, but could not be taken down: {message}")
    text = f"after the measured window the run could not be taken down: {message}"
    advice = "the figures stand; what was left is removed before the next run"
    here.draft.doubts.append(Doubt("teardown", text, advice, run.number))
    store.save_record(here.folder, _record(here))
    (here.raw / "teardown.txt").write_text("".join(traceback.format_exception(error)))


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
            advice="make room there, or name another folder with --results; finished runs are kept",
        ) from error


def _save(here: RunContext) -> None:
    result, readings = here.draft.result, here.draft.readings
    record = _record(here)
    samples = readings.tables(record.phases) if readings is not None else None
    intervals, latencies = (result.intervals, result.latencies) if result else (None, None)
    store.save_run(here.folder, record, intervals, latencies, samples)


def _record(here: RunContext) -> Record:
    draft, result = here.draft, here.draft.result
    here.extend_phase(here.world.clock.now())
    facts = dict(draft.facts or {})
    if changes := store.limit_changes(here.folder):
        facts["limit_changes"] = changes
    if draft.readings is not None:
        facts["telemetry"] = draft.readings.facts()
    if result is not None:
        facts["generator"] = result.facts.recorded()
    return Record(
        schema_version=store.SCHEMA_VERSION,
        run=here.run,
        profile=here.profile,
        workload=here.workload,
        outcome=draft.outcome,
        failure=draft.failure,
        phases=tuple(draft.phases),
        nodes=draft.nodes,
        measurements=result.measurements if result and draft.outcome == "done" else (),
        gate=draft.gate,
        facts=facts,
        doubts=tuple(draft.doubts),
    )
