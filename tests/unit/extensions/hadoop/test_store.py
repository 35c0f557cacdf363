"""A store by its URL: what is refused, where its key goes, and what a run leaves there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.databases import databases
from orchestrator.databases.choice import choose
from orchestrator.errors import UnavailableError, UsageError
from orchestrator.extensions.hadoop.store import Store
from orchestrator.model import STORE, ClusterSpec
from orchestrator.platforms import own_images
from orchestrator.powers import Network, World
from orchestrator.system import redaction
from tests import ROOT
from tests.fakes import FakePlatform, QuietProgress, completed, fake_world

URL = "abfs://container@account.dfs.core.windows.net/folder/"
KEY = "c2VjcmV0LW9mLXRoaXMtdGVzdA=="
SPEC = ClusterSpec(
    "existing", 2, 1, None, existing={"url": URL, "fs.azure.io.retries": "3"}
)
NETWORK = Network("net", ("10.0.0.11", "10.0.0.12"))
IMAGE = own_images.tag(ROOT, "hadoop")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_KEY", KEY)


def world_of(exit_code: int = 0) -> tuple[FakePlatform, World]:
    platform = FakePlatform(
        images=[IMAGE],
        answer=lambda *_: completed("", exit_code=exit_code, err="Forbidden"),
    )
    return platform, fake_world(platform=platform)


def test_jobs_run_in_containers_here_and_know_where_the_store_is() -> None:
    platform, world = world_of()
    with Store().running(SPEC, (), NETWORK, world) as cluster:
        assert [(node.name, node.role, node.device) for node in cluster.nodes] == [
            ("node-1", "database", None),
            ("node-2", "database", None),
        ]
        own = cluster.handle.environment
    assert own["STORE"] == "abfs://container@account.dfs.core.windows.net"
    assert own["FOLDER"].startswith("/folder/net-")
    assert own["SETTINGS"] == "-Dfs.azure.io.retries=3"
    assert own["AZURE_STORAGE_KEY"] == KEY
    removed = [asked for asked in platform.asked if asked[0] == "exec"]
    assert removed[-1][-2:] == ("-skipTrash", own["FOLDER"])


def test_the_key_is_in_no_spec_of_a_container_nor_on_a_command_line() -> None:
    platform, world = world_of()
    with Store().running(SPEC, (), NETWORK, world):
        pass
    assert KEY not in str(platform.specs) and KEY not in str(platform.asked)
    assert redaction.hidden(f"refused: {KEY}") == "refused: ***"


def test_a_folder_that_cannot_be_removed_is_named() -> None:
    progress = QuietProgress()
    world = replace(world_of(exit_code=1)[1], progress=progress)
    with Store().running(SPEC, (), NETWORK, world) as cluster:
        folder = cluster.handle.environment["FOLDER"]
    (warning,) = progress.said
    assert folder in warning and "Forbidden" in warning


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"url": "https://account.blob.core.windows.net/c"},
            "is not the address of a store",
        ),
        ({"url": "s3a://key:secret@bucket"}, "without a password"),
        ({"url": "abfs:///folder"}, "is not the address of a store"),
        ({"fs.azure.account.key": KEY}, "is a secret"),
        ({"fs.s3a.endpoint": "a b"}, "or has spaces"),
        ({"hosts": "10.0.0.1"}, "is not a key `fs.s3a.…`"),
    ],
)
def test_what_the_profile_may_not_say(change: dict[str, str], said: str) -> None:
    spec = replace(SPEC, existing={**SPEC.existing, **change})
    with pytest.raises(UsageError) as refused:
        Store().check(spec, world_of()[1])
    assert said in refused.value.mistakes[0].what
    assert KEY not in str(refused.value.mistakes)


def test_a_key_that_is_not_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY", raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-this-test-1")
    with pytest.raises(UsageError) as refused:
        Store().check(replace(SPEC, existing={"url": "s3a://bucket"}), world_of()[1])
    assert [mistake.what for mistake in refused.value.mistakes] == [
        "the environment variable AWS_SECRET_ACCESS_KEY is not set"
    ]


def test_a_store_that_does_not_answer_is_said_before_anything_starts() -> None:
    with pytest.raises(UnavailableError, match="does not answer") as refused:
        Store().check(SPEC, world_of(exit_code=1)[1])
    assert "Forbidden" in refused.value.evidence
    Store().check(SPEC, world_of()[1])


def test_it_is_chosen_by_its_url_and_has_no_name_of_its_own() -> None:
    assert SPEC.member == STORE
    with pytest.raises(UsageError, match="unknown database 'store'"):
        choose(STORE, databases())
