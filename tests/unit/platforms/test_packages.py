"""Debian's packages in our images are recorded with each campaign, as far as they can be read."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.errors import RunError
from orchestrator.platforms import own_images
from orchestrator.platforms.common import packages
from orchestrator.powers import Completed
from orchestrator.system.redaction import hidden_in
from tests import ROOT
from tests.fakes import FakePlatform, completed, fake_world

DISK, CLIENT, POSTGRES = (own_images.tag(ROOT, name) for name in own_images.OURS)
HADOOP = own_images.tag(ROOT, "hadoop")


def engine(*tags: str, silent: str = "") -> FakePlatform:
    """It has these images, and says nothing of one."""

    def answer(name: str, _command: Sequence[str]) -> Completed:
        if silent and silent in name:
            raise RunError("it could not be started")
        if "hadoop" in name:
            return completed(exit_code=127, err="dpkg-query: not found")
        return completed("fio 3.39-1\npasswd 1:4.17.4-2\ntoken 2.0\ngone \n")

    return FakePlatform(images=list(tags), answer=answer)


def test_packages_of_all_images_of_ours_that_are_here() -> None:
    platform = engine(DISK, CLIENT, "yugabytedb/yugabyte:2025.1")
    world = fake_world(platform=platform)
    found = packages.installed(["yugabytedb/yugabyte:2025.1", HADOOP], world)
    of_one = ["fio 3.39-1", "passwd 1:4.17.4-2", "token 2.0"]
    assert found == {DISK: of_one, CLIENT: of_one}
    assert hidden_in(found) == found, "a package's name makes no secret of its version"
    assert {spec.entrypoint for spec in platform.specs.values()} == {("dpkg-query",)}


def test_what_cannot_be_read_is_left_out() -> None:
    platform = engine(DISK, CLIENT, HADOOP, silent="packages-client")
    found = packages.installed([HADOOP], fake_world(platform=platform))
    assert list(found) == [DISK]
