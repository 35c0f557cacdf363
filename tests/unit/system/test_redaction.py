"""Passwords in URLs and connection strings are used, and are in no file and no message."""

from __future__ import annotations

import base64
import http.server
import json
import threading
from pathlib import Path

import pytest

from orchestrator.planning import project_files
from orchestrator.system import campaign_writing, http_client, store
from orchestrator.system.redaction import hidden, hidden_in
from tests import ROOT
from tests.plans import a_workload, planned

PROFILE = """
question: why?
title: theirs
tier: {enforcement: existing}
cluster:
  database: existing
  replication_factor: 1
  existing:
    hosts:
      - postgresql://ann:pl4nted@a.example:6000/postgres?sslmode=disable
      - postgresql://ann:pl4nted@b.example/postgres
    node_exporters: http://watcher:pl4nted@a.example:9100 http://b.example:9100
"""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://user:s3cret@host:9100/metrics", "http://user:***@host:9100/metrics"),
        ("at http://u:p@ss:w@h failed", "at http://u:***@h failed"),
        ("host=a password=s3cret user=b", "host=a password=*** user=b"),
        ("at postgresql://u:pa/ss@h/db?x=1 now", "at postgresql://u:***@h/db?x=1 now"),
        ("http://host:9100/a@b", "http://host:9100/a@b"),
        ("alter role a password 'two words' valid", "alter role a password *** valid"),
        ("PGPASSWORD=s3cret psql", "PGPASSWORD=*** psql"),
        ('{"database_password": "s3cret", "n": 1}', '{"database_password": ***, "n": 1}'),
        ("password_env: BENCH, no password here", "password_env: BENCH, no password here"),
        ("a.yaml:8: cluster.password: unknown key", "a.yaml:8: cluster.password: unknown key"),
        ("cluster.token: this key is missing", "cluster.token: this key is missing"),
        ("host=a password = 'two words'", "host=a password = ***"),
        ("postgresql://h/db?user=u&password=s3cret&x=1", "postgresql://h/db?user=u&password=***&x=1"),
        ("http://user@host:9100 and a:b@c", "http://user@host:9100 and a:b@c"),
    ],
)  # fmt: skip
def test_passwords_are_hidden(text: str, shown: str) -> None:
    assert hidden(text) == shown
    assert hidden_in({"a": [text, {"password": "x", "n": 1}]}) == {
        "a": [shown, {"password": "***", "n": 1}]
    }


def test_a_secret_of_a_profile_is_in_no_file_of_a_campaign(tmp_path: Path) -> None:
    file = tmp_path / "theirs.yaml"
    file.write_text(PROFILE)
    ((profile,), _) = project_files.read(ROOT, [str(file)], [], "smoke")
    assert profile.cluster.nodes == 2
    assert "pl4nted" in str(profile.cluster.existing)  # it is used
    plan = planned([profile], [a_workload()])
    folder = campaign_writing.create(tmp_path / "results", plan, {"command": "x"}, 0.0)
    texts = [each.read_text() for each in folder.rglob("*") if each.is_file()]
    assert texts and "pl4nted" not in "".join(texts)
    kept = store.load(folder).plan.profiles[0].cluster.existing
    assert kept["hosts"].startswith("postgresql://ann:***@a.example:6000/")


def test_a_pages_credentials_are_sent_and_not_said() -> None:
    seen: list[str | None] = []

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers["Authorization"])
            self.send_response(200 if self.path == "/there" else 404)
            self.end_headers()
            self.wfile.write(json.dumps({"a": 1}).encode())

        def log_message(self, *_words: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        base = f"http://watcher:s3%20cret@127.0.0.1:{server.server_port}"
        assert http_client.get_json(f"{base}/there") == {"a": 1}
        with pytest.raises(OSError, match=r"http://watcher:\*\*\*@127") as raised:
            http_client.get(f"{base}/gone")
        server.shutdown()
    assert seen[0] == "Basic " + base64.b64encode(b"watcher:s3 cret").decode()
    assert "cret" not in str(raised.value)
