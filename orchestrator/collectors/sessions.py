"""What a PostgreSQL server's sessions wait for, once a second, from pg_stat_activity.

One session of its own, opened at the first reading, which is before the warm-up. Names of wait
events: PostgreSQL's manual, "Wait Events"; releases spell some in other cases."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    closing,
    contextmanager,
    suppress,
)
from dataclasses import replace
from functools import partial

from orchestrator import errors, model, parts
from orchestrator.system import at_once, sql
from orchestrator.system.sql import Row, Session

PATIENCE_S = 0.2  # a tick waits for an answer
QUERY_S = 10.0

KINDS = ("idle", "running", "reading", "syncing", "locked", "otherwise")


@contextmanager
def session_waits(
    cluster: model.Cluster, connect: sql.Connect = sql.session
) -> Iterator[Sequence[parts.Collector]]:
    """Collectors of what sessions wait for, on the cluster's first server, until the block ends;
    none where no server takes sessions.
    """
    if not cluster.endpoints:
        yield ()
        return
    at = replace(sql.local(cluster.endpoints[0]), connect_s=5, grace_s=1.0)
    collector = SessionWaits(cluster.nodes[0].name, partial(connect, at, QUERY_S))
    with closing(collector) as waits:
        yield (waits,)


class SessionWaits:
    """A collector of the cluster's `node`. `connect` opens its session."""

    name = "sessions"

    def __init__(
        self, node: str, connect: Callable[[], AbstractContextManager[Session]]
    ) -> None:
        self._node = node
        self._connect = connect
        self._open = ExitStack()
        self._session: Session | None = None
        self._asked: tuple[float, at_once.StartedCall[list[Row]]] | None = None

    def read(self, nodes: Sequence[model.Node], now_s: float) -> Iterable[model.Sample]:
        """What the server answered, as of when it was asked. OSError if it has not answered yet, or
        refused: then a new session is opened next time."""
        if self._asked is None:
            self._asked = now_s, at_once.begun(self._ask)
        asked_s, answer = self._asked
        # A busy server answers late, and the sampler must
        # not wait: a later tick picks the answer up.
        if not answer.wait(PATIENCE_S):
            raise OSError("the server has not answered yet")
        self._asked = None
        try:
            numbers = {row["kind"]: float(row["number"]) for row in answer.result()}
        except errors.RunError as error:
            self.close()
            raise OSError(str(error)) from error
        samples = []
        for kind in KINDS:
            # The query has no row for a kind of which there is no session.
            number = numbers.get(kind, 0.0)
            metric = f"sessions_{kind}"
            samples.append(model.Sample(asked_s, self._node, metric, "", number))
        return samples

    def _ask(self) -> list[Row]:
        if self._session is None:
            self._session = self._open.enter_context(self._connect())
        return self._session.rows(sql.query(__package__, "sessions"))

    def close(self) -> None:
        self._session = None
        with suppress(errors.RunError):  # the server may be gone
            self._open.close()
