"""`tierbench doctor --bundle`: what a YugabyteDB answers, without what its owner keeps.

Goal: a first user may send the file as it is, and what it holds can be held against the stand-in as
evidence. Method: the stand-in's own pages, served on 127.0.0.1, and secrets planted in each place
of them in turn.
"""

from __future__ import annotations

import json
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from standin import metrics, options, pages as standin_pages

from orchestrator.cli.common.app import App
from orchestrator.cli.prepare import bundle as bundle_command
from orchestrator.errors import RunError, UnavailableError, UsageError
from orchestrator.model import ClusterSpec, NodeSize, Profile
from orchestrator.system import files, sql
from orchestrator.yugabyte import bundle, pages
from orchestrator.yugabyte.anonymous import Anonymous
from orchestrator.yugabyte.answers import ServerAnswer
from tests.apps import an_app, said_by, tierbench
from tests.documented import documented_commands, existing_profiles
from tests.evidence import Entry, Universe, fits
from tests.pages import Server
from tests.plans import a_profile

RELEASE = "2025.2.1.0-b141"
BANNER = (
    "PostgreSQL 15.12-YB-2025.2.1.0-b0 on x86_64-pc-linux-gnu, made on db7.corp.example"
)
HOSTS = ("10.0.0.1", "10.0.0.2", "10.0.0.3")
PASSWORD = "Pl4nted-Passw0rd!"
# Each stands for what an owner keeps.
PLANTS = (
    PASSWORD,
    "Alice Acme's cluster",
    "10.77.66.55",
    "10.77.66.55:7100,10.77.66.56:7100",
    "fe80::77:66",
    "db7.corp.example:9000",
    "/home/alice/certs/node.key",
    "postgresql://alice:s3cret-word@db7.corp.example/app",
    "5e0c3d52-1d54-4d4b-9c5e-5c3e8b8f4a11",
)
PIECES = (
    "Pl4nted", "Passw0rd", "Acme", "alice", "10.77", "fe80", "corp.example", "certs", "s3cret",
    "5e0c3d52", "node.key",
)  # fmt: skip
SETTINGS: list[dict[str, Any]] = [
    {"name": "max_connections", "setting": "300", "vartype": "integer", "source": "default"},
    {"name": "default_transaction_isolation", "setting": "read committed", "vartype": "enum",
     "source": "configuration file"},
    {"name": "ssl_key_file", "setting": "/home/bob/a.key", "vartype": "string", "source": "user"},
]  # fmt: skip
VIEWS = [{"view": "yb_local_tablets", "column": "tablet_id", "data_type": "text"}]


# ------------------------------------------------------------------ the stand-in's answers


@pytest.fixture
def answered(tmp_path: Path) -> dict[str, Any]:
    """What each page of the stand-in says, of three nodes."""
    activity = metrics.Activity()
    leader = Universe(tmp_path / "universe.json", RELEASE)
    for number, host in enumerate(HOSTS, 1):
        leader.hear(host, f"aws.eu-acme-{number}.rack", 1)
    leader.place(3)
    served: dict[str, Any] = {}
    for server in ("master", "tserver"):
        flags = options.defaults(server, RELEASE)
        common = standin_pages.common(server, flags, RELEASE, activity)
        for path, page in common.items():
            served[f"{server}{path}"] = page({})[1]
    for path, page in leader.pages().items():
        if not path.startswith("/standin"):
            served[f"master{path}"] = page({})[1]
    served["master/api/v1/masters"] = {"masters": []}
    served["ysql/metrics"] = metrics.statements(activity)
    return served


@contextmanager
def serving(answered: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Server → its address."""
    with ExitStack() as up:
        urls = {}
        for name in ("master", "tserver", "ysql"):
            server = up.enter_context(closing(Server()))
            for path, content in answered.items():
                kind, slash, rest = path.partition("/")
                if kind == name:
                    server.pages[slash + rest] = (200, json.dumps(content))
            urls[name] = server.url
        yield urls


class Session:
    """YSQL of the stand-in, as far as a bundle asks it."""

    def __init__(self, banner: str = BANNER) -> None:
        self._banner = banner

    def rows(self, text: str) -> list[dict[str, Any]]:
        if "version()" in text:
            return [{"version": self._banner}]
        if "yb_servers()" in text:
            return [{"host": host, "port": 5433, "zone": "rack"} for host in HOSTS]
        if "vartype" in text:
            return SETTINGS
        if "pg_attribute" in text:
            return VIEWS
        if "AS level" in text:
            return [{"level": "read committed"}]
        raise RunError(f'no: {text} of "alice"')

    def copy(self, sql: str, text: str) -> None:
        raise AssertionError(sql)


def connecting(session: Session) -> sql.Connect:
    @contextmanager
    def connect(_address: sql.Address, _timeout_s: float) -> Iterator[sql.Session]:
        yield session

    return connect


def profile(urls: dict[str, str], **keys: str) -> Profile:
    """Of a cluster that others run, with three hosts and the pages of one."""
    declared = {
        "hosts": " ".join(HOSTS), "tls": "off", "user": "alice", "password_env": "YB_PASSWORD",
        "masters": urls["master"], "tservers": " ".join([urls["tserver"]] * 3),
        "ysql": " ".join([urls["ysql"]] * 3), **keys,
    }  # fmt: skip
    size = NodeSize(8.0, 2**35, 2**38)
    spec = ClusterSpec("existing", 3, 3, size, existing=declared)
    return replace(a_profile(), cluster=spec)


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YB_PASSWORD", PASSWORD)


@pytest.fixture
def app(tmp_path: Path) -> App:
    return an_app(tmp_path / "cache")


def bundled(app: App, answered: dict[str, Any], file: Path, **keys: str) -> str:
    """The file that is written."""
    with serving(answered) as urls:
        connect = connecting(Session())
        bundle_command.show(app, file, profile(urls, **keys), connect)
    return file.read_text()


# ------------------------------------------------------------------ fed back


def test_a_bundle_of_the_stand_in_is_evidence_that_it_fits(
    app: App, answered: dict[str, Any], tmp_path: Path
) -> None:
    text = bundled(app, answered, tmp_path / "bundle.txt")
    entries: list[Entry] = yaml.safe_load(text)
    for entry in entries:
        assert {"id", "answers", "release", "fact", "seen", "source"} <= set(entry)
        assert (entry["release"], entry["seen"]) == (RELEASE, "output")
    by_question: dict[str, list[Entry]] = {}
    for entry in entries:
        by_question.setdefault(entry["answers"][0], []).append(entry)
    for path, said in answered.items():
        kind, slash, rest = path.partition("/")
        if rest in ("metrics", "api/v1/tablet-servers"):
            continue
        of_kind = [e for e in by_question[slash + rest] if kind in e["server"]]
        assert any(fits(said, entry["fact"]) for entry in of_kind), path
    (listed,) = by_question["/api/v1/tablet-servers"]
    (rows,) = listed["fact"].values()
    assert list(rows) == ["node-1:9000", "node-2:9000", "node-3:9000"]
    named = {
        name
        for entry in by_question["/metrics"]
        if entry["server"] == pages.TSERVER
        for name in entry["fact"]
    }
    assert named == {
        m["name"] for e in answered["tserver/metrics"] for m in e["metrics"]
    }
    assert set(by_question["checklist"][0]["fact"]) == {
        "banner", "addresses", "counters", "statements", "followers", "isolation",
    }  # fmt: skip


def test_the_readers_read_the_same_from_a_bundle(
    app: App, answered: dict[str, Any], tmp_path: Path
) -> None:
    """Figures, and who is who, survive the replacing of names."""
    text = bundled(app, answered, tmp_path / "bundle.txt")
    again = {}
    for entry in yaml.safe_load(text):
        kind = entry.get("server", "").removeprefix("yb-")
        again[f"{kind}{entry['answers'][0]}"] = entry["fact"]

    def read(pages_of: dict[str, Any]) -> tuple[Any, ...]:
        with serving(pages_of) as urls:
            masters = [urls["master"]]
            servers = pages.tablet_servers(masters)
            tablets = pages.tablet_leaders(masters, "bench").values()
            return (
                [(s.alive, s.user_leaders, s.sst_bytes, s.raw_bytes) for s in servers],
                len({server.zone for server in servers}),
                [server.host for server in servers],
                sorted(Counter(host for _, host in tablets).values()),
                sorted(Counter(table for table, _ in tablets).values()),
                pages.replication_factor(masters),
                pages.health(masters),
                pages.few_tablets(masters, "bench").values().__len__(),
                pages.version(urls["tserver"]),
                pages.flags(urls["tserver"]),
            )

    before, after = read(answered), read(again)
    assert before[2] == list(HOSTS) and after[2] == ["node-1", "node-2", "node-3"]
    assert before[:2] + before[3:9] == after[:2] + after[3:9]
    hidden = {
        name: value for name, value in after[9].items() if value != before[9][name]
    }
    assert not hidden and before[5] == 3


# ------------------------------------------------------------------ what does not come through


def places_in(content: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where each text, number or empty list stands."""
    members: Any = ()
    if isinstance(content, dict):
        members = content.items()
    elif isinstance(content, list):
        members = enumerate(content[:2])  # the others are like them
    if not members:
        yield above
    for key, value in members:
        yield from places_in(value, (*above, key))


def changed(content: Any, place: tuple[Any, ...], plant: str, as_key: bool) -> Any:
    content = deepcopy(content)
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    if as_key and isinstance(inner, dict):
        inner[plant] = inner[place[-1]]
    elif place:
        inner[place[-1]] = plant
    return content


def questions(answered: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    """ServerAnswer → the page or view, and what it says."""
    asked = {path: (path[path.index("/") :], is_) for path, is_ in answered.items()}
    for path in [path for path in asked if path.endswith("/metrics")]:
        del asked[path]
    asked["pg_settings"] = ("pg_settings", SETTINGS)
    asked["views"] = ("views", VIEWS)
    asked["version"] = ("version", {"release": "", "compiled": ""})
    asked["yb_servers"] = ("yb_servers", Session().rows("yb_servers()"))
    return asked


def test_nothing_planted_in_any_place_of_any_page_comes_through(
    answered: dict[str, Any],
) -> None:
    answered["tserver/api/v1/varz"]["flags"][2:] = [
        {"name": "ysql_hba_conf_csv", "value": "host all all 0.0.0.0/0 ldap"},
        {"name": "ysql_pg_conf_csv", "value": "yb_enable_cbo=on,ssl_ca_file=/x"},
        {"name": "compression_type", "value": "Snappy"},
        {"name": "fs_data_dirs", "value": "/mnt/d0"},
        {"name": "ysql_yb_enable_cbo", "value": "off"},
    ]
    planted = 0
    for name, (question, content) in questions(answered).items():
        for place in places_in(content):
            for plant in PLANTS:
                for as_key in (False, True):
                    said = changed(content, place, plant, as_key)
                    anonymous = Anonymous(list(HOSTS), ["alice"])
                    answer = ServerAnswer(name, question, said)
                    made = bundle.entries_of([answer], [], anonymous, "a test")
                    text = bundle.text(made, "a test")
                    through = [piece for piece in PIECES if piece in text]
                    assert not through, (name, place, plant, as_key, through)
                    planted += 1
    assert planted > 1500


@pytest.mark.parametrize("plant", PLANTS)
def test_errors_and_the_checklist_are_without_it_too(plant: str) -> None:
    anonymous = Anonymous(list(HOSTS), ["alice"])
    compiled = {"release": "", "compiled": f"by {plant}"}
    refused = (
        f'http://10.0.0.1:7000/api/v1/masters: refused for role "alice", {plant!r}'
    )
    answers = [
        ServerAnswer("version", "version", compiled),
        ServerAnswer("masters", "/api/v1/masters", unread=refused),
    ]
    line = bundle.CheckedLine("banner", "confirmed", f"on by {plant}; page: 1")
    text = bundle.text(
        bundle.entries_of(answers, [line], anonymous, "a test"), "a test"
    )
    assert [piece for piece in PIECES if piece in text] == []
    assert "masters: could not be read" in text


def test_figures_of_the_checklist_stay_with_their_names() -> None:
    anonymous = Anonymous(list(HOSTS), words=("wal_bytes_total", "yb-master"))
    seen = (
        "{'10.0.0.1 yb-master': '7', 'wal_bytes_total': 3, 'acme': 'x'}; 'node-9:7100'"
    )
    assert anonymous.text(seen) == (
        "{'node-1 yb-master': '7', 'wal_bytes_total': 3, <a quoted text>: <a quoted text>}; "
        "'node-9:7100'"
    )


def test_the_whole_file_has_no_password_host_or_path(
    app: App, answered: dict[str, Any], tmp_path: Path
) -> None:
    text = bundled(app, answered, tmp_path / "bundle.txt")
    kept = (*PIECES, *HOSTS, "127.0.0.1", "acme", "/home", "bob", "corp")
    assert [piece for piece in kept if piece in text] == []
    settings = next(e for e in yaml.safe_load(text) if e["id"] == "pg_settings")["fact"]
    assert [row["setting"] for row in settings] == ["300", "read committed", "path-2"]


# ------------------------------------------------------------------ what is listed, and the file


def test_contents_are_listed_with_bytes_and_reasons_before_it_is_written(
    app: App,
    answered: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "bundle.txt"
    del answered["master/api/v1/masters"]
    with serving(answered) as urls:
        code = bundle_command.show(app, file, profile(urls), connecting(Session()))
    said = capsys.readouterr().out
    assert code == 2
    assert "masters: could not be read: " in said and "404" in said
    for part in ("dump-entities: ", "pg_settings: ", "node-1 yb-tserver varz: "):
        assert f"  {part}" in said and " bytes" in said.split(part)[1].splitlines()[0]
    comments = [line for line in file.read_text().splitlines() if line[0] == "#"]
    assert any("masters: could not be read" in line for line in comments)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert any("mode 0600" in line for line in said_by(app))


def test_a_whole_bundle_ends_with_0(
    app: App, answered: dict[str, Any], tmp_path: Path
) -> None:
    with serving(answered) as urls:
        file = tmp_path / "bundle.txt"
        assert bundle_command.show(app, file, profile(urls), connecting(Session())) == 0


@pytest.mark.parametrize("kind", ["file", "link", "dangling link", "no folder"])
def test_a_name_that_is_taken_is_refused_and_asks_nothing(
    kind: str, app: App, tmp_path: Path
) -> None:
    """Also a link: what it points to would be overwritten."""
    file = tmp_path / "bundle.txt"
    (tmp_path / "other.txt").write_text("precious")
    if kind == "file":
        file.write_text("mine")
    elif kind == "link":
        file.symlink_to(tmp_path / "other.txt")
    elif kind == "dangling link":
        file.symlink_to(tmp_path / "nowhere.txt")
    else:
        file = tmp_path / "absent/bundle.txt"

    def connect(*_: object) -> Any:
        raise AssertionError("the cluster was asked")

    urls = dict.fromkeys(("master", "tserver", "ysql"), "http://127.0.0.1:9")
    with pytest.raises(UsageError):
        bundle_command.show(app, file, profile(urls), connect)
    assert (tmp_path / "other.txt").read_text() == "precious"
    assert not (tmp_path / "nowhere.txt").exists()


def test_a_name_that_is_taken_meanwhile_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bundle.txt"
    file.symlink_to(tmp_path / "nowhere.txt")
    with pytest.raises(UsageError, match="is there already"):
        files.write_new(file, "x", private=True)
    assert not (tmp_path / "nowhere.txt").exists()


def test_a_postgresql_is_refused(app: App, tmp_path: Path) -> None:
    urls = dict.fromkeys(("master", "tserver", "ysql"), "http://127.0.0.1:9")
    connect = connecting(Session("PostgreSQL 16.4 on x86_64-pc-linux-gnu"))
    with pytest.raises(UsageError, match="is not YugabyteDB"):
        bundle_command.show(app, tmp_path / "bundle.txt", profile(urls), connect)


def test_a_postgresql_is_refused_also_where_its_first_host_is_down(
    app: App, tmp_path: Path
) -> None:
    @contextmanager
    def connect(address: sql.Address, _timeout_s: float) -> Iterator[Any]:
        if address.host == HOSTS[0]:
            raise RunError("connection refused")
        yield Session("PostgreSQL 16.4 on x86_64-pc-linux-gnu")

    urls = dict.fromkeys(("master", "tserver", "ysql"), "http://127.0.0.1:9")
    with pytest.raises(UsageError, match=f"{HOSTS[1]}.* is not YugabyteDB"):
        bundle_command.show(app, tmp_path / "bundle.txt", profile(urls), connect)


def test_a_cluster_of_which_nothing_answers_leaves_no_file(
    app: App, tmp_path: Path
) -> None:
    @contextmanager
    def connect(*_: object) -> Iterator[Any]:
        raise RunError("connection refused")
        yield

    urls = dict.fromkeys(("master", "tserver", "ysql"), "http://127.0.0.1:9")
    file = tmp_path / "bundle.txt"
    with pytest.raises(UnavailableError, match="no part of the cluster answers"):
        bundle_command.show(app, file, profile(urls), connect)
    assert not file.exists()


def test_pages_alone_make_a_bundle(
    app: App, answered: dict[str, Any], tmp_path: Path
) -> None:
    """A user may have no password for SQL; what SQL would say is listed as not read."""

    @contextmanager
    def connect(*_: object) -> Iterator[Any]:
        raise RunError('password authentication failed for user "alice"')
        yield

    with serving(answered) as urls:
        file = tmp_path / "bundle.txt"
        assert bundle_command.show(app, file, profile(urls), connect) == 2
    text = file.read_text()
    assert "version: could not be read: password authentication failed" in text
    assert "alice" not in text


# ------------------------------------------------------------------ the command


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--bundle", "b.txt"), "--bundle reads a running cluster"),
        (
            ("--bundle", "b.txt", "--profile", "ultra"),
            "does not describe an existing cluster",
        ),
    ],
)
def test_a_bundle_needs_a_running_cluster(
    words: tuple[str, ...], said: str, app: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tierbench(app, "doctor", *words) == 64
    assert said in capsys.readouterr().err.replace("\n", " ")


def test_the_documented_command_is_taken(
    app: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Verbatim, up to the cluster, which is not there."""
    (words,) = [
        words
        for words in documented_commands("FIRST-RUN-YUGABYTEDB.md", "Send what it said")
        if "--profile" in words
    ]
    monkeypatch.chdir(tmp_path)
    text = existing_profiles()[0].replace(
        "    tls_root: /etc/yb/ca.crt", "    tls: off  #"
    )
    for number in (11, 12, 13):
        text = text.replace(f"10.0.0.{number}", "127.0.0.1")
    for port in ("5433", "7000", "9000", "13000"):
        text = text.replace(f":{port}", ":9").replace(f" {port}", " 9")
    (tmp_path / "my-cluster.yaml").write_text(text)
    assert tierbench(app, *words[1:]) == 69
    assert "no part of the cluster answers" in capsys.readouterr().err.replace(
        "\n", " "
    )
    assert words[-1] == "bundle.txt" and not (tmp_path / "bundle.txt").exists()
