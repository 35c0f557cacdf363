"""Containers with named capabilities can still do their work, and cannot do more.

Method: real containers over folders of users that are closed to others, as databases leave them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.platforms import own_images
from orchestrator.platforms.common import agent
from orchestrator.platforms.common.agent import AgentMachine
from orchestrator.platforms.docker.engine import DockerPlatform
from orchestrator.powers import Completed, World
from orchestrator.system.clock import SystemClock
from orchestrator.tiers.common.any_disk import removal
from orchestrator.tiers.common.emulated import disk_server
from tests import ROOT
from tests.fakes import QuietProgress

pytestmark = pytest.mark.docker
OWNER, GROUP = 26_001, 26_002


@pytest.fixture
def world(engine: DockerPlatform, tmp_path: Path) -> World:
    return World(SystemClock(), None, engine, QuietProgress(), tmp_path, ROOT)  # type: ignore[arg-type]


@pytest.fixture
def theirs(tmp_path: Path) -> Iterator[Path]:
    """A folder of another user, with a file, which nobody else may look into."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "file").write_text("content")
    (tmp_path / "link").symlink_to("/proc/self/mountinfo")
    for path, mode in ((folder / "file", 0o600), (folder, 0o2700)):
        os.chown(path, OWNER, GROUP)
        path.chmod(mode)
    tmp_path.chmod(0o755)
    yield folder


def run(script: str, folder: Path, world: World) -> Completed:
    return removal.in_container(
        ("bash", "-c", script, "x", f"{removal.HOST}{folder}"), [folder], world
    )


def test_a_disks_file_is_made_in_a_folder_that_is_closed_to_others(
    theirs: Path, world: World
) -> None:
    disk_server.create(theirs / "new.img", 512 * 2**20, world)
    with (theirs / "new.img").open("rb") as file:
        assert file.read(4) == b"XFSB"


def test_a_copy_has_owner_mode_and_content(theirs: Path, world: World) -> None:
    script = 'mkdir "$1/made" && cp -a "$1/file" "$1/made/again"'
    done = run(script, theirs, world)
    assert done.exit_code == 0, done.out
    status = (theirs / "made" / "again").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (
        OWNER,
        GROUP,
        0o600,
    )


def test_restored_directories_have_the_owner_and_mode_of_the_snapshot(
    theirs: Path, world: World
) -> None:
    snapshot, target = theirs / "snapshot", theirs / "target"
    for folder in (snapshot, snapshot / "inner", target):
        folder.mkdir()
        os.chown(folder, OWNER, GROUP)
    (snapshot / "inner").chmod(0o2750)
    inside = [f"{removal.HOST}{folder}" for folder in (snapshot, target)]
    done = removal.in_container(("restore", *inside), [theirs], world)
    assert done.exit_code == 0, done.out
    status = (target / "inner").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (
        OWNER,
        GROUP,
        0o2750,
    )


def test_a_copying_container_has_no_network(theirs: Path, world: World) -> None:
    assert run("ls /sys/class/net", theirs, world).out.split() == ["lo"]


def test_a_copying_container_can_mount_nothing(theirs: Path, world: World) -> None:
    assert run("mount -t tmpfs none /mnt", theirs, world).exit_code != 0


def test_the_agent_follows_links_and_looks_into_closed_folders(
    theirs: Path, engine: DockerPlatform
) -> None:
    def talking() -> object:
        return agent.conversation(engine, "tierbench-test-agent-rights")

    machine = AgentMachine("far", talking, SystemClock())  # type: ignore[arg-type]
    try:
        assert machine.listing(str(theirs)) == ("file",)
        assert machine.read(str(theirs / "file")) == "content"
        assert machine.real_path(str(theirs.parent / "link")).startswith("/proc/")
    finally:
        machine.close()


def test_the_agent_can_write_nothing_and_has_no_network(engine: DockerPlatform) -> None:
    plan = agent.container(
        "tierbench-test-agent-wall", own_images.need(ROOT, "disk", engine)
    )
    script = "ls /sys/class/net; touch /host/written 2>&1 || echo refused"
    done = engine.once(replace(plan, entrypoint=("sh", "-c"), command=(script,)), 60)
    assert done.out.splitlines()[0] == "lo" and done.out.splitlines()[-1] == "refused"
