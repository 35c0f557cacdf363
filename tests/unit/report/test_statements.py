"""Statements as servers count them: from their answers to the record, the cause, and the report.

Method: rows as a PostgreSQL 15.18 was seen to answer, with the counts of blocks changed where said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.figures.statements import grown, pooled
from orchestrator.analysis.telemetry.causes import bottlenecks
from orchestrator.collectors.statements import statement_counts
from orchestrator.errors import NotCountedError, RunError, StatementError
from orchestrator.model import Cluster, Endpoint, Node
from orchestrator.parts import ClientLoad
from orchestrator.report.blocks import Paragraph, Table
from orchestrator.report.sections import statements
from orchestrator.report.wording import sentence
from orchestrator.run.record.run_context import Draft, RunContext
from orchestrator.run.window.window_questions import statements_counted
from orchestrator.system.sql import Address
from tests.campaigns import with_facts
from tests.fake_parts import fake_parts
from tests.fakes import FakeClock, Log, fake_world
from tests.judged import judged_index
from tests.plans import a_plan

ENDPOINT = Endpoint("10.1.2.11", 5432, 5432, "bench", "secret", "tierbench")
CLUSTER = Cluster(
    "postgresql", "15.18", (Node("node-1", "database"),), (ENDPOINT,), "net"
)
COLUMNS = ("calls", "ms", "blocks_read", "read_ms", "wal_bytes", "storage_requests")
INSERT = "insert into sbtest1 select i, repeat($1,$2) from generate_series($3,$4) i"
ABSENT = 'SQL at 127.0.0.1:59255: relation "pg_stat_statements" does not exist'


def row(number: int, query: str, *counts: float) -> dict[str, Any]:
    of = {
        "server": "127.0.0.1:59255",
        "statement": f"16384 {number} true",
        "query": query,
    }
    return of | dict(zip(COLUMNS, counts, strict=True))


LOADED = row(-7077516890458371432, INSERT, 1.0, 454.99756, 3.0, 0.0, 12581180.0, 0.0)
AFTER = [
    LOADED,
    row(
        -2398437111022693535,
        "SELECT c FROM sbtest2 WHERE id=$1",
        20,
        0.020744,
        0,
        0,
        0,
        0,
    ),
    row(
        7196916454231756720,
        "SELECT c FROM sbtest1 WHERE id=$1",
        20,
        0.18832,
        0,
        0,
        0,
        0,
    ),
    row(
        -5365551538697761621,
        "UPDATE sbtest1 SET c=$1 WHERE id=$2",
        1,
        0.027261,
        0,
        0,
        81,
        0,
    ),
    row(3694949039461716331, "COMMIT", 2, 0.002403, 0, 0, 0, 0),
]


def test_a_record_has_what_was_called_in_the_window_and_tables_by_number_together() -> (
    None
):
    most = grown([LOADED], AFTER)
    assert [of["query"] for of in most] == [
        "SELECT c FROM sbtest# WHERE id=$1",
        "UPDATE sbtest# SET c=$1 WHERE id=$2",
        "COMMIT",
    ]
    assert (most[0]["calls"], most[0]["ms"]) == (40, pytest.approx(0.209064))
    assert most[1]["wal_bytes"] == 81
    assert grown(AFTER, AFTER) == [] == grown([], [])
    again = [{**each, "calls": 1.0} for each in AFTER]
    assert grown(AFTER, again) == [], "its server had dropped them meanwhile"
    assert json.loads(json.dumps(most)) == most


# ------------------------------------------------------------------ asking servers


class Server:
    def __init__(self, counts: bool = True) -> None:
        self.asked: list[tuple[str, str]] = []
        self._counts = counts

    @contextmanager
    def session(self, at: Address, _timeout_s: float) -> Iterator[Server]:
        self.database = at.database
        yield self

    def rows(self, statement: str) -> list[dict[str, Any]]:
        self.asked.append((self.database, statement))
        if "AS counts" in statement:
            return [{"counts": self._counts}]
        return [{name: value for name, value in LOADED.items() if name != "server"}]


def test_each_server_is_asked_about_the_load_s_database_where_its_owner_looks() -> None:
    server, elsewhere = (
        Server(),
        replace(ENDPOINT, port=5433, maintenance_database="postgres"),
    )
    cluster = replace(CLUSTER, database="yugabytedb", endpoints=(ENDPOINT, elsewhere))
    rows = list(statement_counts(cluster, server.session))  # type: ignore[arg-type]
    assert [of["server"] for of in rows] == ["10.1.2.11:5432", "10.1.2.11:5433"]
    assert [database for database, _ in server.asked] == 2 * ["tierbench"] + 2 * [
        "postgres"
    ]
    assert all(
        "datname = 'tierbench'" in statement for _, statement in server.asked[1::2]
    )


def test_a_server_that_counts_none_is_not_asked_for_counts() -> None:
    server = Server(counts=False)
    with pytest.raises(
        RunError, match="5432: no pg_stat_statements counts in the data"
    ):
        list(statement_counts(CLUSTER, server.session))  # type: ignore[arg-type]
    ((_, statement),) = server.asked
    assert "FROM" not in statement, "so it cannot fail where the view is not there"


def counted(folder: Path, answers: Sequence[Any]) -> RunContext:
    """A run whose servers answer so, one after the other, and whose load begins and ends."""
    left = iter(answers)

    def answer(_: Cluster) -> Any:
        if isinstance(told := next(left), Exception):
            raise told
        return told

    plan, world = a_plan(), fake_world(clock=FakeClock())
    parts = replace(fake_parts(Log()), statements=answer)
    draft = Draft(facts={})
    here: Any = RunContext(plan, plan.runs[0], parts, Any, folder, world, draft, {})  # type: ignore[arg-type]
    client = Node("client", "client")
    load = ClientLoad(here.workload, CLUSTER, client, here.raw, world)
    with statements_counted(here, CLUSTER, load) as accompanied:
        accompanied.world.window_begins(world.clock.now())
    return here  # type: ignore[no-any-return]


def test_both_readings_are_kept_and_what_they_say(tmp_path: Path) -> None:
    here = counted(tmp_path, [[LOADED], AFTER])
    raw = json.loads((here.raw / "statements.json").read_text())
    assert (raw["before"], raw["after"]) == ([LOADED], AFTER)
    assert here.draft.facts == {
        "statements": {"window_s": 0.0, "most": grown([LOADED], AFTER)}
    }


def test_where_servers_count_nothing_the_record_has_the_database(
    tmp_path: Path,
) -> None:
    here = counted(tmp_path, [NotCountedError("nothing counts", "bench")])
    assert here.draft.facts == {
        "statements": {"not_read": "nothing counts", "not_counted_in": "bench"}
    }


@pytest.mark.parametrize(
    "first",
    [
        [StatementError(f"{ABSENT} LINE 2: FROM …", message=ABSENT)],
        [[], RunError(ABSENT)],
    ],
)
def test_servers_without_counts_leave_the_reason(
    tmp_path: Path, first: list[Any]
) -> None:
    here = counted(tmp_path, first)
    assert here.draft.facts == {"statements": {"not_read": ABSENT}}
    assert not (here.raw / "statements.json").exists()


def test_a_cluster_without_sql_leaves_nothing(tmp_path: Path) -> None:
    assert counted(tmp_path, [(), ()]).draft.facts == {}


# ------------------------------------------------------------------ cause and report


def facts(blocks: float = 0.0) -> dict[str, Any]:
    """Of ten seconds. `blocks`: read by the select."""
    most = grown([LOADED], AFTER)
    most[0]["blocks_read"] = blocks
    return {"statements": {"window_s": 10.0, "most": most}}


def test_the_report_has_the_runs_of_a_tier_together() -> None:
    shown = with_facts("point-select", facts(30.0), facts(50.0))
    assert pooled(run.record for run in shown.runs)[1] == 20.0
    (section,) = statements.section(judged_index(shown))
    ((table,),) = (part.blocks for part in section.parts)
    assert isinstance(table, Table)
    titles = [column.title for column in table.columns]
    assert "Storage requests per call" not in titles and "Reading, ms" not in titles
    of_select = dict(zip(titles, (cell.text for cell in table.rows[1]), strict=True))
    assert of_select == {
        "Statement": "SELECT c FROM sbtest# WHERE id=$1",
        "Calls/s": "4",
        "Mean, ms": "0.00523",
        "Of all time, %": "87.6",
        "Blocks read per call": "1",
        "Bytes of WAL per call": "",
    }


def test_the_report_says_why_there_are_none_and_nothing_where_none_was_asked() -> None:
    # Two servers that lack the same are told of once, whatever their addresses.
    reason = reason_shown(NOT_COUNTED, {**NOT_COUNTED, "not_read": "another server"})
    assert reason.startswith(
        "`pg_stat_statements` counts nothing in the database bench."
    )
    assert "`shared_preload_libraries`" in reason
    plain = with_facts("point-select", {})
    assert statements.section(judged_index(plain)) == ()


NOT_COUNTED = {"not_read": "10.0.0.1:5432: nothing counts", "not_counted_in": "bench"}


def reason_shown(*of_runs: dict[str, Any]) -> str:
    campaign = with_facts("point-select", *[{"statements": read} for read in of_runs])
    (section,) = statements.section(judged_index(campaign))
    ((paragraph,),) = (part.blocks for part in section.parts)
    assert isinstance(paragraph, Paragraph) and paragraph.lead == "Not counted"
    return paragraph.text


@pytest.mark.parametrize(
    "reason",
    [
        "servers had not answered 5 s after the load ended",
        "the answer has an unknown form: KeyError: 'calls'",
        "SQL at 10.0.0.1:5432: terminating connection",
    ],
)
def test_servers_that_count_and_were_not_read_need_no_setting(reason: str) -> None:
    """Nothing is known of what they count, so there is nothing to set."""
    assert reason_shown({"not_read": reason}) == sentence(reason)


def test_a_statement_with_most_of_the_blocks_read_is_named_beside_a_cause_at_the_disk() -> (
    None
):
    (plain,) = bottlenecks.bottlenecks(with_facts("point-select", {}))
    (named,) = bottlenecks.bottlenecks(with_facts("point-select", facts(30.0)))
    assert plain.cause == named.cause == "iops_cap"
    assert named.text == (
        f"{plain.text} 100 % of the blocks read is of `SELECT c FROM sbtest# WHERE id=$1`."
    )
    (cached,) = bottlenecks.bottlenecks(with_facts("point-select", facts()))
    assert cached.text == plain.text
