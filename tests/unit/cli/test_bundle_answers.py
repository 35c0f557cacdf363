"""Which servers a bundle asks, and which names of theirs it keeps.

Method: pages and sessions of a few lines, with what one owner could have named.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
import yaml

from orchestrator.errors import RunError
from orchestrator.model import Node
from orchestrator.system import sql
from orchestrator.yugabyte import answers, bundle, pages
from orchestrator.yugabyte.anonymous import Anonymous
from orchestrator.yugabyte.answers import ServerAnswer
from tests.pages import Server

CONFIG = "/api/v1/cluster-config"
TABLET_SERVERS = "/api/v1/tablet-servers"
ALIVE = {"status": "ALIVE"}


def bundled(**content_of: Any) -> dict[str, Any]:
    """Facts of a bundle by the names of its entries; `content_of`: cluster_config and the like."""
    collected = []
    for name, content in content_of.items():
        page = name.replace("_", "-")
        collected.append(ServerAnswer(name, f"/api/v1/{page}", content))
    entries = bundle.entries_of(collected, [], Anonymous(["10.0.0.1"]), "a test")
    facts = {}
    for entry in entries:
        (shown,) = yaml.safe_load(entry.text)
        facts[entry.name] = shown["fact"]
    return facts


# ------------------------------------------------------------------ names


def test_placements_with_names_of_equal_length_stay_apart() -> None:
    """The page of one would otherwise overwrite that of the other."""
    live = {"placement_uuid": "live-eu"}
    read = {"placement_uuid": "read-us"}
    facts = bundled(
        cluster_config={
            "replication_info": {"live_replicas": live, "read_replicas": [read]}
        },
        tablet_servers={
            "live-eu": {"10.0.0.1:9000": ALIVE},
            "read-us": {"10.0.0.9:9000": ALIVE},
        },
    )
    assert facts["tablet_servers"] == {
        "placement-1": {"node-1:9000": ALIVE},
        "placement-2": {"address-1:9000": ALIVE},
    }
    assert facts["cluster_config"]["replication_info"] == {
        "live_replicas": {"placement_uuid": "placement-1"},
        "read_replicas": [{"placement_uuid": "placement-2"}],
    }


def test_keys_that_were_texts_before_stay_apart() -> None:
    anonymous = Anonymous(["10.0.0.1"])
    anonymous.content({"comment": "acme-eu", "remark": "acme-us"})
    shown = anonymous.content({"acme-eu": 1, "acme-us": 2})
    assert shown == {"key-1": 1, "key-2": 2}


def test_a_placement_whose_name_is_like_a_key_of_ours_is_numbered() -> None:
    """Also where the page was not read on which placements are named."""
    facts = bundled(tablet_servers={"acme_eu": {"10.0.0.1:9000": ALIVE}, "": {}})
    assert facts["tablet_servers"] == {"placement-1": {"node-1:9000": ALIVE}, "": {}}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("acme_corp.tenant=4711", "setting-1=<text of 4 characters>"),
        ("acme.on=true,acme.pin=1", None),
        ("pgaudit.log_relation=on", "pgaudit.log_relation=on"),
        ("yb_enable_cbo=on,work_mem=8MB", "yb_enable_cbo=on,work_mem=8MB"),
    ],
)
def test_settings_that_an_owner_made_up_are_left_out(
    text: str, shown: str | None
) -> None:
    if shown is None:
        shown = "setting-1=<text of 4 characters>,setting-2=<text of 1 characters>"
    flag = {"name": "ysql_pg_conf_csv", "value": text}
    assert Anonymous([]).content(flag) == {"name": "ysql_pg_conf_csv", "value": shown}


def test_a_row_of_such_a_setting_has_neither_its_name_nor_its_value() -> None:
    rows = [
        {"name": "acme_corp.tenant", "setting": "4711", "vartype": "string"},
        {"name": "pg_stat_statements.max", "setting": "5000", "vartype": "integer"},
    ]
    assert Anonymous([]).content(rows) == [
        {"name": "setting-1", "setting": "<text of 4 characters>", "vartype": "string"},
        rows[1],
    ]


@pytest.mark.parametrize("key", ["setting", "value"])
def test_a_row_may_have_no_more_than_a_name_and_a_value(key: str) -> None:
    row = {"name": "acme_corp.tenant", key: "4711"}
    shown = {"name": "setting-1", key: "<text of 4 characters>"}
    assert Anonymous([]).content(row) == shown


def test_a_text_of_six_characters_is_replaced_in_sentences_and_a_shorter_is_not() -> (
    None
):
    """A shorter one may be a word of any sentence."""
    anonymous = Anonymous([])
    anonymous.content({"comment": "acme-e", "remark": "acme5"})
    assert (
        anonymous.text("at acme-e and acme5") == "at <text of 6 characters> and acme5"
    )


@pytest.mark.parametrize(("columns", "lines"), [(120, 1), (121, 3)])
def test_what_fits_into_120_columns_stands_on_one_line(
    columns: int, lines: int
) -> None:
    digits = columns - len('    {"seconds": }')
    answer = ServerAnswer("a_page", "/api/v1/page", {"seconds": 10 ** (digits - 1)})
    (entry,) = bundle.entries_of([answer], [], Anonymous([]), "a test")
    fact = entry.text.partition("fact:\n")[2]
    assert len(fact.splitlines()) == lines


# ------------------------------------------------------------------ servers


def test_each_master_is_heard_about_the_masters() -> None:
    """A follower answers too, and was seen to list masters of long ago."""
    with closing(Server()) as follower, closing(Server()) as leader:
        for server, role in ((follower, "FOLLOWER"), (leader, "LEADER")):
            listed = {"masters": [{"role": role}]}
            server.pages["/api/v1/masters"] = (200, json.dumps(listed))
        leader.pages[CONFIG] = (200, json.dumps({"version": 7}))
        nodes = [
            Node("node-1", "database", sources={pages.MASTER: follower.url}),
            Node("node-2", "database", sources={pages.MASTER: leader.url}),
        ]
        asked = list(answers.ask(nodes, refusing(), ADDRESSES))
    heard = {}
    for answer in asked:
        if not answer.unread:
            heard[answer.name] = answer.content
    assert heard == {
        "node-1 yb-master masters": {"masters": [{"role": "FOLLOWER"}]},
        "node-2 yb-master masters": {"masters": [{"role": "LEADER"}]},
        "cluster-config": {"version": 7},
    }


ADDRESSES = [
    sql.Address("db-1", 5433, "alice", "", "app"),
    sql.Address("db-2", 5433, "alice", "", "app"),
]


class Session:
    """Of a server that has no views."""

    def rows(self, text: str) -> list[dict[str, Any]]:
        if "version()" in text:
            return [{"version": "PostgreSQL 15.12-YB-2025.2.1.0-b0 on x86_64"}]
        return []

    def copy(self, sql: str, text: str) -> None:
        raise AssertionError(sql)


def refusing(*hosts: str) -> sql.Connect:
    """Sessions at all hosts but these, of which each says why; without `hosts` at none."""

    @contextmanager
    def connect(at: sql.Address, _timeout_s: float) -> Iterator[sql.Session]:
        if not hosts or at.host in hosts:
            raise RunError(f"{at.host} is down")
        yield Session()

    return connect


def test_what_sql_says_is_asked_of_the_first_server_that_answers() -> None:
    asked = list(answers.ask([], refusing("db-1"), ADDRESSES))
    read = [answer.name for answer in asked if not answer.unread]
    assert read == ["version", "yb_servers", "pg_settings", "views"]


def test_where_none_answers_each_says_why() -> None:
    *_, last = answers.ask([], refusing(), ADDRESSES)
    assert (last.name, last.unread) == ("version", "db-1 is down; db-2 is down")


@pytest.mark.parametrize(
    ("page", "release"),
    [
        (["2025.2"], "2025.2.1.0-b7"),
        ("2025.2", "2025.2.1.0-b7"),
        ({}, "2025.2.1.0-b7"),
        ({"version_number": "2024.2.0.0"}, "2024.2.0.0"),
    ],
)
def test_a_version_page_of_another_form_says_no_release(
    page: Any, release: str
) -> None:
    known = {"version_number": "2025.2.1.0", "build_number": "7"}
    collected = [
        ServerAnswer("first", "/api/v1/version", page),
        ServerAnswer("second", "/api/v1/version", known),
    ]
    assert bundle.release_of(collected) == release
    (entry, _) = bundle.entries_of(collected, [], Anonymous([]), "a test")
    (shown,) = yaml.safe_load(entry.text)
    assert shown["release"] == release
