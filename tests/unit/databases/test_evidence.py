"""What the stand-in for YugabyteDB says is what real clusters were seen to say.

Goal: no answer of it without an entry in tests/standin/evidence/, and none that differs from it.
Method: its own modules, without containers, for the study's release, one between and the newest.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from standin import (
    admin,
    front,
    metrics,
    options,
    pages,
    texts,
    ts_cli,
    universe,
    yugabyted,
)
from standin.texts import line, series

from orchestrator.yugabyte import counters, versions
from tests import ROOT
from tests.evidence import Entry, Universe, entries, fits

STANDIN = ROOT / "tests/standin"
RELEASES = (versions.STUDY, "2024.2.2.2-b2", versions.DEFAULT)
KEYS = {"id", "answers", "release", "fact", "with", "source", "seen", "inferred", "from", "holds",
        "entity", "server", "since", "sqlstate"}  # fmt: skip


def of(answer: str) -> list[Entry]:
    return [entry for entry in entries() if answer in entry["answers"]]


def newest(answer: str, release: str) -> Entry:
    """The entry of the newest release that is not newer than this one."""
    known = [
        entry for entry in of(answer) if series(entry["release"]) <= series(release)
    ]
    return max(known, key=lambda entry: series(entry["release"]))


def is_inferred(entry: Entry) -> bool:
    return bool(entry.get("inferred"))


# ------------------------------------------------------------------ the entries


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry["id"])
def test_an_entry_names_what_it_was_seen_in_or_follows_from(entry: Entry) -> None:
    assert set(entry) <= KEYS and {"id", "answers", "release", "fact"} <= set(entry)
    assert isinstance(entry["release"], str), "quote it: 2.20 is not 2.2"
    if is_inferred(entry):
        assert entry["from"] and "source" not in entry and "seen" not in entry
    else:
        assert entry["source"] and entry["seen"] in (
            "output",
            "source code",
            "document",
        )


def test_names_are_used_once_and_the_document_counts_right() -> None:
    names = [entry["id"] for entry in entries()]
    assert len(set(names)) == len(names)
    inferred = sum(is_inferred(entry) for entry in entries())
    counted = f"{len(names) - inferred} facts with a source, {inferred} inferred"
    assert counted in (ROOT / "docs/research/YUGABYTEDB.md").read_text()


# ------------------------------------------------------------------ lines


@pytest.mark.parametrize("name", texts.TEXTS)
def test_a_line_is_part_of_one_that_was_seen(name: str) -> None:
    assert of(name), f"{name} has no entry in tests/standin/evidence/"
    for entry in of(name):
        said = line(name, entry["release"], **entry.get("with", {}))
        part, whole = (
            (entry["fact"], said)
            if entry.get("holds") == "part"
            else (said, entry["fact"])
        )
        if entry.get("holds") == "start":  # what was pasted ends earlier than the line
            part = part.rstrip(".")
        assert part in whole, entry["id"]
    for since in texts.TEXTS[name]:
        forms = [
            max(s for s in texts.TEXTS[name] if s <= series(e["release"]))
            for e in of(name)
        ]
        assert since in forms, f"no entry for {name} since {since}"


def said_in(tree: ast.AST) -> Iterator[ast.expr]:
    """What is printed or sent: the first argument of each call that does so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "say", "fail", "fail_killed", "refusal", "sys.stdout.write", "sys.stderr.write",
        ):  # fmt: skip
            yield node.args[0]


@pytest.mark.parametrize(
    "file", sorted((STANDIN / "standin").glob("*.py")), ids=lambda f: f.name
)
def test_words_of_its_own_name_the_stand_in(file: Path) -> None:
    for spoken in said_in(ast.parse(file.read_text())):
        if isinstance(spoken, ast.BinOp):  # a line and its end
            spoken = spoken.left
        if isinstance(spoken, ast.Call) and ast.unparse(spoken.func) == "line":
            continue
        own = "".join(
            part.value
            for part in ast.walk(spoken)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        )
        assert not own.strip() or "stand-in" in own, f"{file.name}: {own!r}"


def test_every_line_is_used() -> None:
    code = "".join(file.read_text() for file in (STANDIN / "standin").glob("*.py"))
    used = set(re.findall(r"\bline\(\s*\"(\w+)\"", code))
    assert used == set(texts.TEXTS)


# ------------------------------------------------------------------ options, flags, configuration


def start_options(release: str) -> set[str]:
    parser = options.start_parser(release)
    (commands,) = (
        a for a in parser._actions if isinstance(a, argparse._SubParsersAction)
    )
    return {action.dest for action in commands.choices["start"]._actions} - {"help"}


@pytest.mark.parametrize("release", RELEASES)
def test_options_of_start_are_those_of_the_release(release: str) -> None:
    known: set[str] = set()
    for entry in of("options"):
        known |= (
            set(entry["fact"]) if series(entry["release"]) <= series(release) else set()
        )
    for entry in of("options_gone"):
        known -= (
            set(entry["fact"]) if series(entry["release"]) <= series(release) else set()
        )
    assert start_options(release) <= known


@pytest.mark.parametrize("entry", of("flags"), ids=lambda entry: entry["id"])
def test_flags_have_the_values_that_were_seen(entry: Entry) -> None:
    server = entry.get("server")
    flags = options.server_flags("", server, entry["release"]) if server else {
        **options.defaults("master", entry["release"]),
        **options.defaults("tserver", entry["release"]),
    }  # fmt: skip
    assert {name: flags[name] for name in entry["fact"]} == entry["fact"]


def test_a_masters_own_flags_come_last_from_the_release_that_was_seen_to_do_so() -> (
    None
):
    given = "master_enable_metrics_snapshotter=false"
    first = min(series(entry["release"]) for entry in of("masters_own"))
    for release in RELEASES:
        value = options.server_flags(given, "master", release)[
            "master_enable_metrics_snapshotter"
        ]
        assert value == ("true" if series(release) >= first else "false"), release
    for entry in of("masters_own"):
        given = ",".join(f"{name}=0" for name in entry["fact"])
        in_force = options.server_flags(given, "master", entry["release"])
        assert {name: in_force[name] for name in entry["fact"]} == entry["fact"]


def test_the_log_lies_with_the_data_unless_it_is_said_where(tmp_path: Path) -> None:
    assert of("wal_dirs")
    node = yugabyted.Node(argparse.Namespace(base_dir=str(tmp_path)))
    flags = node._flags("tserver")
    assert flags["fs_wal_dirs"] == flags["fs_data_dirs"] == str(tmp_path / "data")
    node.conf["tserver_flags"] = "fs_wal_dirs=/wal"
    assert node._flags("tserver")["fs_wal_dirs"] == "/wal"


def test_every_value_of_a_flag_has_an_entry() -> None:
    for layer in (options.COMMON, options.MASTER, options.TSERVER, options.MASTERS_OWN):
        for since, flags in layer.items():
            for name, value in flags.items():
                assert any(
                    entry["fact"].get(name) == value
                    and series(entry["release"]) >= since
                    for entry in of("flags")
                ), f"{name}={value} since {since}"


def test_the_configuration_file_has_keys_of_the_real_one(tmp_path: Path) -> None:
    node = yugabyted.Node(argparse.Namespace(base_dir=str(tmp_path)))
    (entry,) = of("configuration")
    assert set(node.conf) <= set(entry["fact"])


@pytest.mark.parametrize("entry", of("isolation"), ids=lambda entry: entry["id"])
def test_read_committed_is_what_the_release_makes_of_it(entry: Entry) -> None:
    assert (
        yugabyted.isolation(options.defaults("tserver", entry["release"]))
        == entry["fact"]
    )


# ------------------------------------------------------------------ pages


@pytest.fixture
def leader(tmp_path: Path) -> universe.Universe:
    made = Universe(tmp_path / "master/universe.json")
    made.hear("10.0.0.1", "cloud.region.zone1", 1)
    return made


def test_pages_of_the_servers_have_keys_that_were_seen(
    leader: universe.Universe,
) -> None:
    common = pages.common(
        "tserver", {"never_fsync": "false"}, RELEASES[0], metrics.Activity()
    )
    served = {**common, **leader.pages()}
    paths = {path for path in served if not path.startswith("/standin/")} - {"/metrics"}
    assert paths == {
        answer for e in entries() for answer in e["answers"] if answer[0] == "/"
    }
    for path in paths - {"/api/v1/tablet-servers"}:
        assert any(fits(served[path]({})[1], entry["fact"]) for entry in of(path)), path
    for host in ("10.0.0.2", "10.0.0.3"):
        leader.hear(host, "cloud.region.zone2", 1)
    three = next(e for e in entries() if e["id"] == "cluster-config-three")
    said = served["/api/v1/cluster-config"]({})[1]
    assert fits(said, three["fact"]) and said["replication_info"]["live_replicas"]


def test_tablet_servers_are_listed_as_they_were_seen(leader: universe.Universe) -> None:
    found = of("/api/v1/tablet-servers")
    seen = next(iter(found[0]["fact"][""].values()))
    states = {
        seen["status"],
        *(e["fact"]["status"] for e in found if e.get("holds") == "value"),
    }
    alive = leader.pages()["/api/v1/tablet-servers"]({})[1]
    leader.members["10.0.0.1"].heard_at = -1000.0
    dead = leader.pages()["/api/v1/tablet-servers"]({})[1]
    for listed in (alive, dead):
        assert list(listed) == [""]
        for row in listed[""].values():
            assert fits(row, seen) and row["status"] in states


@pytest.mark.parametrize("delay_s", [10, 120])
def test_the_balancer_rests_at_first_and_moves_leaders_then(
    delay_s: int, tmp_path: Path
) -> None:
    """A restarted cluster has leaders as elections left them, and calls itself idle."""
    assert of("idle_at_first") and of("moving") and of("leaders")

    def started() -> universe.Universe:
        made = Universe(tmp_path / "universe.json", tables=9, delay_s=delay_s)
        for number in (1, 2, 3):
            made.hear(f"10.0.0.{number}", f"cloud.region.zone{number}", 1)
        return made

    def leaders(made: universe.Universe) -> list[int]:
        ((rows),) = made.pages()["/api/v1/tablet-servers"]({})[1].values()
        led = [row["user_tablets_leaders"] for row in rows.values()]
        tablets = made.pages()["/dump-entities"]({})[1]["tablets"]
        by_member = Counter(tablet["leader"] for tablet in tablets)
        assert led == [by_member[member.uuid] for member in made.members.values()]
        return led

    assert leaders(started()) == [9, 9, 9]
    again = started()
    assert again.idle() and sum(leaders(again)) == 27 and leaders(again) != [9, 9, 9]
    again.since -= delay_s
    assert not again.idle()
    again.since -= universe.MOVE_S
    assert again.idle() and leaders(again) == [9, 9, 9]


def test_a_placement_has_a_name_since_it_was_seen_to_have_one(tmp_path: Path) -> None:
    placements = [
        entry
        for entry in of("/api/v1/tablet-servers")
        if entry.get("holds") == "placement"
    ]
    assert placements
    for entry in placements:
        made = Universe(tmp_path / entry["release"] / "universe.json", entry["release"])
        (name,) = made.pages()["/api/v1/tablet-servers"]({})[1]
        (seen,) = entry["fact"]
        assert len(name) == len(seen)


def test_a_master_that_does_not_lead_answers_itself() -> None:
    """Without its leader, with a page that is no JSON; it never sends a reader elsewhere."""
    assert of("follower")
    code, content = yugabyted._of_leader("http://127.0.0.1:9/api/v1/health-check")({})
    assert code == 200 and content.startswith("Error retrieving leader master URL")


# ------------------------------------------------------------------ metrics


def evidenced(entity: str, release: str, answer: str = "metrics") -> set[str]:
    return {
        name
        for entry in of(answer)
        if entity in entry["entity"]
        and not (entry.get("since") and series(entry["release"]) > series(release))
        for name in entry["fact"]
    }


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("server", ["master", "tserver"])
def test_metrics_have_names_and_keys_that_were_seen(server: str, release: str) -> None:
    (ids,) = of("ids")
    parts = set(newest("histogram", release)["fact"])
    entities = metrics.entities(server, release, metrics.Activity(), reset=False)
    assert any(entity["metrics"] for entity in entities)
    for entity in entities:
        assert entity["type"] in ("tablet", "table") or entity["id"] in ids["fact"]
        for metric in entity["metrics"]:
            assert metric["name"] in evidenced(entity["type"], release), metric["name"]
            assert set(metric) == {"name", "value"} or set(metric) == parts


def test_statements_are_counted_as_they_were_seen() -> None:
    (keys,) = of("statement")
    entities = metrics.statements(metrics.Activity())
    assert any(entity["metrics"] for entity in entities)
    for entity in entities:
        for metric in entity["metrics"]:
            assert metric["name"] in evidenced("server", RELEASES[0], "statements")
            assert set(metric) == set(keys["fact"])


def test_the_adapter_asks_for_metrics_that_were_seen() -> None:
    """Its request too: a parameter that no server knows would be ignored, silently."""
    kinds = ("tablet", "table", "drive", "server")
    known = {name for kind in kinds for name in evidenced(kind, versions.DEFAULT)}
    asked = parse_qs(urlsplit(counters.PATH).query)
    for part in asked["metrics"][0].split(","):
        assert any(part in name for name in known), part
    (request,) = of("request")
    assert set(asked) <= set(request["fact"])


# ------------------------------------------------------------------ commands and SQL


def test_commands_are_those_that_were_seen() -> None:
    (entry,) = of("commands")
    assert {*admin.COMMANDS, *ts_cli.COMMANDS} == set(entry["fact"])


def test_functions_have_columns_of_the_real_ones() -> None:
    code = (STANDIN / "functions.sql").read_text()
    made = re.findall(r"CREATE FUNCTION pg_catalog\.(\w+)\(([^)]*)\)", code)
    assert made
    for name, arguments in made:
        assert of(name), f"{name} has no entry in tests/standin/evidence/"
        seen = {column for entry in of(name) for column in entry["fact"]}
        assert set(re.findall(r"OUT (\w+)", arguments)) <= seen, name


def test_views_have_columns_of_the_real_ones_from_the_release_that_was_seen() -> None:
    for name, since in yugabyted.VIEWS.items():
        assert of(name), f"{name} has no entry in tests/standin/evidence/"
        code = (STANDIN / f"views/{name}.sql").read_text()
        (columns,) = re.findall(rf"VIEW pg_catalog\.{name}\s*\(([^)]*)\)", code)
        seen = {column for entry in of(name) for column in entry["fact"]}
        assert set(re.findall(r"\w+", columns)) <= seen, name
        assert min(series(entry["release"]) for entry in of(name)) == since
        events = {str(event) for e in of("wait_events") for event in e["fact"]}
        said = re.findall(r"'(\w+_Lock|\w+Txns|WAL_\w+|TableWrite|Query\w+)'", code)
        assert set(said) <= events
    made = {file.stem for file in yugabyted.views(versions.STUDY, STANDIN / "views")}
    assert made == set()
    assert {file.stem for file in (STANDIN / "views").glob("*.sql")} == set(
        yugabyted.VIEWS
    )


def test_words_taken_out_of_sql_are_words_of_real_statements() -> None:
    for pattern, _ in front._RULES:
        assert any(pattern.search(e["fact"].encode()) for e in of("grammar")), (
            pattern.pattern
        )
    for entry in of("grammar"):
        left = front.rewritten(entry["fact"].encode()).decode().upper()
        for word in ("SPLIT", "HASH", "ROWS_PER_TRANSACTION", "COLOCATION"):
            assert word not in left, entry["id"]


def test_a_bound_of_hash_codes_has_16_bits_where_the_source_narrows_it() -> None:
    """Nothing lies below 65536 there, so a slice with that bound is empty."""
    (entry,) = of("bound_of_hash")
    sql = b"SELECT count(*) FROM t WHERE yb_hash_code(w, i) >= 60000 AND yb_hash_code(w, i) < 65536"
    narrow = front.narrowed(sql, versions.STUDY)
    assert series(entry["release"]) == series(versions.STUDY)[:2]
    assert narrow == sql.replace(b"< 65536", b"< 0") and b">= 60000" in narrow
    assert front.narrowed(sql, versions.DEFAULT) == sql


def test_refusals_carry_the_sqlstate_that_was_seen() -> None:
    code = (STANDIN / "standin/front.py").read_text()
    for name in ("starting_up", "not_encrypted"):
        for entry in of(name):
            assert f'"{entry["sqlstate"]}"' in code
    packet = front.refusal("no", "57P03")
    assert packet[:1] == b"E" and b"C57P03\0" in packet and b"Mno\0" in packet


def test_a_start_up_packet_says_who_asks() -> None:
    assert front.who(b"user\0bench\0database\0tpcc\0\0") == {
        "user": "bench",
        "database": "tpcc",
    }
    assert front.who(b"user\0bench\0\0") == {"user": "bench", "database": "bench"}


def test_without_a_placement_the_masters_flag_says_how_many_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert of("no_placement")
    monkeypatch.setenv("STANDIN_PLACEMENT", "none")
    unplaced = Universe(tmp_path / "master/universe.json")
    for host in ("10.0.0.1", "10.0.0.2", "10.0.0.3"):
        unplaced.hear(host, "cloud.region.zone1", 1)
    page = unplaced.pages()["/api/v1/cluster-config"]({})[1]
    seen = next(e for e in of("no_placement") if isinstance(e["fact"], dict))
    assert fits(page, seen["fact"]) and "replication_info" not in page
    assert unplaced.copies == 3


@pytest.mark.parametrize(
    ("release", "given", "tablets"),
    [
        ("2.18.1.0-b84", {}, 3),
        ("2024.2.2.2-b2", {}, 3),
        ("2025.2.1.0-b141", {}, 1),
        ("2025.2.1.0-b141", {"ysql_num_tablets": "-1"}, 3),
        ("2.18.1.0-b84", {"ysql_num_tablets": "2"}, 2),
    ],
)
def test_a_table_has_as_many_tablets_as_the_flags_say(
    release: str, given: Mapping[str, str], tablets: int, tmp_path: Path
) -> None:
    """From 2025.2 on one, because `ysql_num_tablets` is read first and has the default 1."""
    assert of("tablets")
    flags = {**options.defaults("tserver", release), **given}
    leader = Universe(tmp_path / "universe.json", release, tables=6, flags=flags)
    for number in (1, 2, 3):
        leader.hear(f"10.0.0.{number}", f"cloud.region.zone{number}", 1)
    listed = leader.pages()["/dump-entities"]({})[1]["tablets"]
    assert set(Counter(row["table_id"] for row in listed).values()) == {tablets}
    ((servers),) = leader.pages()["/api/v1/tablet-servers"]({})[1].values()
    led = [row["user_tablets_leaders"] for row in servers.values()]
    assert sum(led) == 6 * tablets and max(led) - min(led) <= 1
    assert (tmp_path / "tablets").read_text() == str(tablets)


@pytest.mark.parametrize(
    ("statement", "tablets"),
    [
        ("CREATE TABLE t (a int, PRIMARY KEY (a HASH))", None),
        ("CREATE TABLE t (a int PRIMARY KEY) SPLIT INTO 5 TABLETS", 5),
        ("CREATE INDEX i ON t (k) SPLIT INTO 4 TABLETS", 4),
        ("CREATE TABLE t (a int, PRIMARY KEY (a ASC))", 1),
        ("CREATE TABLE t (a int, b int, PRIMARY KEY (a HASH, b ASC))", None),
        ("CREATE TABLE t (a int, b int, PRIMARY KEY ((a) HASH, b ASC))", None),
        ("CREATE INDEX i ON t (k ASC)", 1),
        ("CREATE INDEX IF NOT EXISTS i ON public.t (k DESC, a ASC)", 1),
        ("CREATE TABLE t (a int, PRIMARY KEY (a ASC)) SPLIT AT VALUES ((10), (20))", 3),
        ("CREATE INDEX i ON t (k ASC) SPLIT AT VALUES ((10, 1), (20, 2), (30, 3))", 4),
    ],
)
def test_a_statement_says_how_many_tablets_it_asks_for(
    statement: str, tablets: int | None
) -> None:
    """Ordered keys have one, unless they are split; of hashed ones flags decide."""
    assert of("split")
    marks = re.findall(rb"/\* tablets (\d+) \*/", front.rewritten(statement.encode()))
    assert (int(marks[-1]) if marks else None) == tablets


def test_a_table_that_asks_for_tablets_has_those(tmp_path: Path) -> None:
    leader = Universe(tmp_path / "universe.json", "2025.2.1.0-b141", tables=0)
    for number in (1, 2, 3):
        leader.hear(f"10.0.0.{number}", f"cloud.region.zone{number}", 1)
    leader.relations = [
        universe.Relation("bench", "plain"),
        universe.Relation("bench", "split", 3),
        universe.Relation("tierbench", "of_others", 6),
    ]
    page = leader.pages()["/dump-entities"]({})[1]
    counts = Counter(tablet["table_id"] for tablet in page["tablets"])
    assert counts == {"bench.plain": 1, "bench.split": 3, "tierbench.of_others": 6}
    ((servers),) = leader.pages()["/api/v1/tablet-servers"]({})[1].values()
    assert sum(row["user_tablets_leaders"] for row in servers.values()) == 10
