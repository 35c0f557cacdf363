"""What servers are asked about the measured window: statements that they counted, and waits."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from orchestrator.analysis.figures.statements import grown
from orchestrator.errors import (
    UNREADABLE,
    NotCountedError,
    StatementError,
    TierbenchError,
)
from orchestrator.model import Cluster
from orchestrator.parts import ClientLoad
from orchestrator.run.record.run_context import RunContext
from orchestrator.run.window.window_followers import LATE_S, Follower, followed
from orchestrator.system import files


class _Asked(NamedTuple):
    """What servers answered about a window: for the record, and a file's content in `raw/`."""

    facts: Mapping[str, Any]
    raw: Mapping[str, Any] | None = None


def statements_counted(
    here: RunContext, cluster: Cluster, load: ClientLoad, late_s: float = LATE_S
) -> AbstractContextManager[ClientLoad]:
    """Asks for the servers' counts of statements when the window begins, and at its end.

    `cluster`: with the nodes that the load does not use, too.
    They go to `raw/statements.json`. What they say, or why there are none, goes to the facts
    "statements".
    """
    clock = load.world.clock
    follower = Follower(clock, late_s=late_s)

    def read(time_s: float) -> tuple[float, list[Any]]:
        follower.wait_until(time_s)  # or until the load ends
        read_s = clock.now()
        return read_s, list(here.parts.statements(cluster))

    def ask(begin_s: float) -> _Asked:
        began_s, before = read(begin_s)
        ended_s, after = read(begin_s + here.workload.measure_s)
        most = grown(before, after)
        # Nothing is kept where servers count no statements, or nothing grew.
        if not most:
            return _Asked({})
        times_s = [began_s, ended_s]
        content = {"times_s": times_s, "before": before, "after": after}
        return _Asked({"window_s": ended_s - began_s, "most": most}, content)

    return _asked(here, "statements", ask, follower, load)


def waits_sampled(
    here: RunContext, cluster: Cluster, load: ClientLoad, late_s: float = LATE_S
) -> AbstractContextManager[ClientLoad]:
    """Asks what sessions waited for, as servers sampled it themselves, when the window is over.

    The answer, or why there is none, goes to the facts "waits".
    """
    clock = load.world.clock
    follower = Follower(clock, late_s=late_s)

    def ask(begin_s: float) -> _Asked:
        # Or until the load ends, which may be a moment before.
        follower.wait_until(begin_s + here.workload.measure_s)
        window_s = clock.now() - begin_s
        sampled = here.parts.waits(cluster, window_s)
        if not sampled:
            return _Asked({})
        return _Asked({"window_s": window_s, **sampled})

    return _asked(here, "waits", ask, follower, load)


@contextmanager
def _asked(
    here: RunContext,
    name: str,
    ask: Callable[[float], _Asked],
    follower: Follower,
    load: ClientLoad,
) -> Iterator[ClientLoad]:
    """Asks servers when `followed` says so. Yields the load to carry.

    What `ask` returns goes to the facts `name` and to `raw/<name>.json`, or why it is not known.
    The thread itself writes neither: servers that answer late would otherwise change a record
    that is written, or that of the next run.
    """
    facts = here.draft.facts
    began: list[float] = []
    answers: list[_Asked] = []

    def follow(begin_s: float) -> None:
        began.append(begin_s)
        answers.append(_answered(ask, begin_s))

    try:
        with followed(follow, name, follower, load.world) as telling:
            yield replace(load, world=telling)
    finally:
        if began and not answers:
            late = (
                f"servers had not answered {follower.late_s:g} s after the load ended"
            )
            facts[name] = {"not_read": late}
        # The thread may still add its answer; what is not here by now is not kept.
        for answer in tuple(answers):
            if answer.facts:
                facts[name] = answer.facts
            if answer.raw is not None:
                files.write_json(here.raw / f"{name}.json", answer.raw)


def _answered(ask: Callable[[float], _Asked], begin_s: float) -> _Asked:
    """What is asked, or why there is no answer. A release may answer in another form."""
    try:
        return ask(begin_s)
    except NotCountedError as error:
        return _Asked({"not_read": error.what, "not_counted_in": error.database})
    except StatementError as error:
        # Behind it PostgreSQL has the line of the statement, which says nothing to who reads the
        # report.
        return _Asked({"not_read": error.message})
    except TierbenchError as error:
        return _Asked({"not_read": error.what})
    except UNREADABLE as error:
        kind = type(error).__name__
        reason = f"the answer has an unknown form: {kind}: {error}"
        return _Asked({"not_read": reason})
