"""What servers had counted of each statement when the window began, and at its end. A server
without such counts, or that does not show them, is no less measured: why is a fact."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from orchestrator.analysis.figures import statements
from orchestrator.errors import TierbenchError
from orchestrator.model import Cluster
from orchestrator.powers import World
from orchestrator.run.recording import RunContext
from orchestrator.run.window import Follower, followed
from orchestrator.system import files


@contextmanager
def statements_counted(here: RunContext, cluster: Cluster, world: World) -> Iterator[World]:
    """Yields the world for the load generator. Both readings go to the raw files, what they say
    into the facts "statements"; nothing where no statement was counted."""
    follower, said = Follower(world.clock), dict[str, Any]()
    readings = list[tuple[float, list[Any]]]()

    def read() -> None:
        try:
            readings.append((world.clock.now(), list(here.parts.statements(cluster))))
        except TierbenchError as error:
            said["not_read"] = error.what.partition(" LINE ")[0]

    def follow(begin_s: float) -> None:
        for time_s in (begin_s, begin_s + here.workload.measure_s):
            if not said and follower.wait_until(time_s):
                read()

    with followed(follow, "statements", follower, world) as telling:
        yield telling
    if len(readings) == 1 and not said:  # the load ended before its time
        read()
    if len(readings) == 2 and (pairs := list(statements.called(readings[0][1], readings[1][1]))):
        times = {"begin_s": readings[0][0], "end_s": readings[1][0]}
        rows = [{"begin": first, "end": last} for first, last in pairs]
        files.write_json(here.raw / statements.FILE, {**times, "statements": rows})
        said |= {"window_s": times["end_s"] - times["begin_s"], "most": statements.grown(pairs)}
    if said and here.draft.facts is not None:
        here.draft.facts["statements"] = said
