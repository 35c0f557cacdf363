"""Secrets planted in all that a campaign is told are in no file that it leaves, and on no console.

Method: fifty of them, in the forms in which programs print secrets, said by containers, servers,
checks, commands and errors, in runs that succeed and in runs that fail, on fake parts.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.common.progress import ConsoleProgress
from orchestrator.cli.main import exit_code
from orchestrator.databases.common import container_nodes
from orchestrator.errors import NodeError, RunError, VoidError
from orchestrator.extensions.kubernetes.connection import Api
from orchestrator.system import redaction, sql, store
from orchestrator.system.shell import SystemShell
from tests.apps import an_app, with_parts
from tests.fake_cluster import FakeCluster
from tests.fake_parts import fake_parts
from tests.fakes import FakeClock, FakePlatform, Log
from tests.unit.run.conftest import Failing

PLANTED = "pl4nt3d"
FORMS = (
    "postgresql://ann:{}@db.example:5433/bench",
    "postgresql://ann:wi/th/{}@db.example/bench?x=1",
    "http://watcher:{}@db.example:9100/metrics",
    "jdbc:postgresql://db.example/bench?user=ann&password={}&ssl=true",
    "host=db.example user=ann password={} dbname=bench",
    "host=db.example password = 'two words {}' user=ann",
    "PGPASSWORD={} psql",
    "BENCH_PASSWORD: {}",
    '{{"database_password": "{}", "n": 1}}',
    "{{'password': '{}', 'n': 1}}",
    r'"body": "{{\"password\": \"{}\", \"n\": 1}}"',
    "ALTER ROLE ann PASSWORD '{}' VALID UNTIL 'infinity'",
    "--pgsql-password {} --threads 8",
    "--password={}",
    "Authorization: Bearer {}",
    '"Authorization": "Bearer {}"',
    "authorization: Basic {}",
    "the server refused bearer {}",
    "    token: {}",
    "    client-key-data: {}",
    "X-aws-ec2-metadata-token: {}",
    "AWS_SECRET_ACCESS_KEY={}",
    "aws_session_token = {}",
    "DefaultEndpointsProtocol=https;AccountKey={};x=1",
    "https://disks.example/a?sv=1&sig={}&se=2",
    "api_key: {}",
    "passphrase={}",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
    "cut -----BEGIN PRIVATE KEY-----\n{}",
    "eyJhbGciOiJSUzI1NiJ9.{}.c2ln",
)  # fmt: skip
BARE = ("{}", "it said {}.", "x={}&y")  # those that are remembered: known by themselves


class Plants:
    """Makes secrets that have never been before; `count` so far."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, forms: tuple[str, ...] = FORMS) -> str:
        """One in each form, one below the other."""
        return "\n".join(form.format(self.one()) for form in forms)

    def one(self) -> str:
        self.count += 1
        return f"{PLANTED}-{self.count:06d}"

    def remembered(self) -> str:
        secret = self.one()
        redaction.remember(secret)
        return "\n".join(form.format(secret) for form in BARE)


@pytest.fixture
def plants() -> Plants:
    return Plants()


class Told:
    """A campaign whose console is kept."""

    def __init__(self, folder: Path, log: Log) -> None:
        self.folder, self.log, self.shown = folder, log, io.StringIO()
        self.platform: Any = FakePlatform(log)
        self.parts = fake_parts(log)

    def run(self, *words: str) -> None:
        console = LastingConsole(file=self.shown, width=400)
        clock = FakeClock()
        app = an_app(
            self.folder, self.platform, clock=clock, shell=SystemShell(),
            out=console, err=console, progress=ConsoleProgress(console, clock),
        )  # fmt: skip
        given = ["run", "-p", "premium", "-w", "point-select", "--db", "postgresql"]
        given += ["--scale", "smoke", "--results", str(self.folder / "results"), *words]
        exit_code(given, with_parts(app, self.parts))

    def outcomes(self) -> list[str]:
        return [
            one.record.outcome
            for one in store.load(self.folder / "results" / "latest").runs
        ]

    def leaks(self) -> list[str]:
        """Each line with a secret, with the file that has it."""
        files = [file for file in self.folder.rglob("*") if file.is_file()]
        texts = {
            str(file): file.read_bytes().decode(errors="replace") for file in files
        }
        texts["console"] = self.shown.getvalue()
        assert len(texts) > 5 and texts["console"]
        return [
            f"{name}: {line}"
            for name, text in texts.items()
            for line in text.splitlines()
            if PLANTED in line
        ]


def chatty(plants: Plants, told: Told) -> None:
    """Everything that a run keeps or shows has secrets in it."""
    told.platform.said["c-node-1"] = plants() + plants.remembered()
    database, generator = (
        told.parts.databases["postgresql"],
        told.parts.load_generators["sysbench"],
    )
    facts, verify = database.facts, generator.verify

    def with_secrets(*arguments: Any) -> Any:
        found = facts(*arguments)
        more = {
            "said": plants(),
            "password": plants.one(),
            "nested": [{"api_token": plants.one()}],
        }
        return replace(found, not_read=plants(), more={**found.more, **more})

    def checked(workload: Any, cluster: Any, world: Any) -> Mapping[str, Any]:
        world.progress.note(plants())
        world.progress.step(plants.remembered())
        world.progress.warn(plants())
        return {**verify(workload, cluster, world), "output": plants()}

    told.parts.databases["postgresql"].facts = with_secrets  # type: ignore[method-assign, assignment]
    told.parts.load_generators["sysbench"].verify = checked  # type: ignore[method-assign]


def test_nothing_of_runs_that_succeed(tmp_path: Path, plants: Plants) -> None:
    told = Told(tmp_path, Log())
    chatty(plants, told)
    told.run("--repeats", "2")
    assert plants.count >= 50 and told.outcomes() == ["done", "done"]
    assert told.leaks() == []


@pytest.mark.parametrize("kind", [NodeError, RunError, VoidError, ValueError, OSError])
@pytest.mark.parametrize("word", ["warm", "verify", "database down"])
def test_nothing_of_runs_that_fail(
    tmp_path: Path, plants: Plants, kind: type[Exception], word: str
) -> None:
    error = kind(plants() + plants.remembered())
    error.add_note(plants())
    if isinstance(error, NodeError | RunError):
        error.evidence, error.advice = plants(), plants()
    told = Told(tmp_path, Failing(word, error, (1,)))
    chatty(plants, told)
    told.run("--repeats", "2")
    assert plants.count >= 50 and told.outcomes()
    assert told.leaks() == []


@pytest.mark.parametrize("code", [0, 3])
def test_nothing_of_what_the_command_at_the_end_says(
    tmp_path: Path, plants: Plants, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """What it prints of its environment is known by the variable's name."""
    monkeypatch.setenv("CHAT_TOKEN", f"{PLANTED}-of-the-environment")
    (tmp_path / "said").write_text(plants())
    told = Told(tmp_path / "campaign", Log())
    command = (
        f'cat {tmp_path}/said; echo; echo "sent with $CHAT_TOKEN" >&2; exit {code}'
    )
    told.run("--on-end", command)
    assert "sent with ***" in told.shown.getvalue()
    assert told.leaks() == []


def test_nothing_of_a_fault_of_the_program(tmp_path: Path, plants: Plants) -> None:
    told = Told(tmp_path, Log())
    (tmp_path / "results").mkdir(parents=True)

    def broken(*_: object) -> Any:
        raise RuntimeError(plants())

    told.platform.facts = broken
    told.run()
    assert "RuntimeError" in told.shown.getvalue()
    assert PLANTED not in told.shown.getvalue()


def test_passwords_that_are_made_up_are_known() -> None:
    password = container_nodes.new_password()
    assert redaction.hidden(f"the server said {password}") == "the server said ***"


def test_passwords_with_which_servers_are_asked_are_known() -> None:
    sql.Address("db.example", 5432, "ann", f"{PLANTED}-given", "bench")
    assert redaction.hidden(f"the server said {PLANTED}-given") == "the server said ***"


def test_the_token_of_a_cluster_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = FakeCluster(tmp_path)
    file = cluster.kubeconfig()
    file.write_text(file.read_text().replace('"secret"', f'"{PLANTED}-token"'))
    monkeypatch.setenv("KUBECONFIG", str(file))
    Api(FakeClock())
    cluster.close()
    assert redaction.hidden(f"the proxy said {PLANTED}-token") == "the proxy said ***"


@pytest.mark.parametrize("word", ["postgres", "short", "12345678"])
def test_words_that_other_texts_have_too_are_not_taken_out(word: str) -> None:
    redaction.remember(word)
    assert redaction.hidden(f"of {word} here") == f"of {word} here"
