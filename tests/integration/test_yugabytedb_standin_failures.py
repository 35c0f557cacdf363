"""YugabyteDB's adapter against the stand-in where something goes wrong: the words of each failure,
and what its first-run checklist says of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.cli.prepare.bundle import Collected
from orchestrator.databases.yugabytedb import YugabyteDB, checklist, checks, read_checks
from orchestrator.errors import NodeError
from orchestrator.powers import Container, ContainerSpec, World
from orchestrator.yugabyte import versions
from tests.apps import an_app
from tests.clocks import HastyClock
from tests.fakes import QuietProgress
from tests.integration.standin_nodes import NETWORK, Switched, spec, up, volumes

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left", "impatient")]
ANOTHER_BUILD = "2025.2.6.0-b1"


@pytest.mark.slow
def test_a_start_that_takes_too_long_says_what_was_missing(
    image: str, world: World
) -> None:
    slow, here = {2: {"STANDIN_SLOW_S": "60"}}, replace(world, clock=HastyClock(37.5))
    with pytest.raises(NodeError) as raised, up(spec(image), here, slow):
        pass
    assert raised.value.what.startswith(
        "YugabyteDB's node-2 was not ready within 300 s"
    )
    assert f"{NETWORK}-node-1" in raised.value.evidence


class FirstStartOnly(Switched):
    """The switches of a node are gone when it starts again."""

    def running(self, spec: ContainerSpec) -> AbstractContextManager[Container]:
        started = super().running(spec)
        self._switches = {}
        return started


@pytest.mark.slow
def test_with_tls_a_first_start_that_ends_itself_is_made_once_more(
    image: str, world: World
) -> None:
    progress = QuietProgress()
    refusing = FirstStartOnly(world.platform, {1: {"STANDIN_REFUSE_PASSWORD": "1"}})
    here = replace(world, platform=refusing, progress=progress)
    with up(spec(image, count=1, tls="on"), here) as cluster:
        assert len(cluster.nodes) == 1
    assert any("once more, on emptied disks" in line for line in progress.said)


@pytest.mark.parametrize(
    ("settings", "switches", "part"),
    [
        (
            {},
            {2: {"STANDIN_REFUSE_JOIN": "1"}},
            ":7000 is not reachable",
        ),
        ({"no_such_flag": "1"}, {}, "unknown command line flag 'no_such_flag'"),
    ],
)
def test_a_node_that_ends_says_why(
    image: str,
    world: World,
    settings: dict[str, Any],
    switches: dict[int, dict[str, str]],
    part: str,
) -> None:
    with (
        pytest.raises(NodeError, match="is exited") as raised,
        up(spec(image, **settings), world, switches),
    ):
        pass
    assert part in raised.value.evidence


@pytest.mark.slow
def test_another_release_than_asked_is_refused(image: str, world: World) -> None:
    other = {number: {"STANDIN_VERSION": "2026.1.1.1-b2"} for number in (1, 2, 3)}
    with pytest.raises(NodeError) as raised, up(spec(image), world, other):
        pass
    assert raised.value.what == (
        f"the image runs YugabyteDB 2026.1.1.1-b2, expected {versions.DEFAULT}"
    )


@pytest.mark.slow
def test_a_killed_node_is_named(image: str, world: World) -> None:
    database = YugabyteDB()
    with up(spec(image), world, database=database) as cluster:
        world.platform.container(cluster.nodes[1].container or "").stop(0)
        with pytest.raises(NodeError, match=f"{NETWORK}-node-2 is exited"):
            database.begin_measuring(cluster, world)
        with pytest.raises(NodeError, match=f"{NETWORK}-node-2 is exited"):
            database.facts(cluster, world)


@pytest.mark.slow
def test_a_disk_loaded_at_another_address_is_not_started(
    image: str, world: World
) -> None:
    """What would be a cluster waiting forever for peers that are elsewhere."""
    asked, database = spec(image, count=1), YugabyteDB()
    with volumes(1, world) as disks, world.platform.network(NETWORK, 1) as network:
        with database.running(asked, disks, network, world):
            pass
        restored = tuple(replace(disk, restored=True) for disk in disks)
        with (
            world.platform.network(f"{NETWORK}-other", 1) as elsewhere,
            pytest.raises(NodeError) as raised,
            database.running(asked, restored, elsewhere, world),
        ):
            pass
    assert "this disk was loaded at another address than" in raised.value.evidence


# ------------------------------------------------------------------ first run, others' clusters


@pytest.mark.slow
def test_the_first_run_checklist_goes_through(
    image: str, world: World, tmp_path: Path
) -> None:
    """And what the nodes answered meanwhile goes into a bundle, but for what is the owner's."""
    bundle = Collected(an_app(tmp_path))
    found = list(
        checklist.first_run(
            checklist.spec(settings={"image": image}), world, listen=bundle.ask
        )
    )
    bundle.write(tmp_path / "bundle.txt", found)
    entries = yaml.safe_load((tmp_path / "bundle.txt").read_text())
    unread = {answer.name for answer in bundle.answers} - {e["id"] for e in entries}
    assert unread == set()
    (listed,) = [e["fact"] for e in entries if e["id"] == "yb_servers"]
    assert [row["host"] for row in listed] == ["node-1", "node-2", "node-3"]
    assert re.search(r"\d+\.\d+\.\d+\.\d+:", str(entries)) is None
    assert [one.name for one in found] == [fact.name for fact in checklist.lines()]
    open_lines = {one.name for one in found if one.state != "confirmed"}
    assert open_lines & checklist.needed() == set()


def test_another_build_runs_and_is_recorded(image: str, world: World) -> None:
    """The page that says it is not one to refuse a run by."""
    database = YugabyteDB()
    asked = spec(image, count=1)
    with up(asked, world, {1: {"STANDIN_VERSION": ANOTHER_BUILD}}, database) as cluster:
        facts = database.facts(cluster, world).recorded()
    assert (facts["version"], facts["version_asked"]) == (
        ANOTHER_BUILD,
        versions.DEFAULT,
    )
    assert "-b0" in facts["banner"]


def of_version(version: str, world: World) -> World:
    """Where all nodes say that they are of this version."""
    other = {number: {"STANDIN_VERSION": version} for number in (1, 2, 3)}
    return replace(world, platform=Switched(world.platform, other))


@pytest.mark.slow
def test_another_release_is_a_line_of_the_checklist_and_not_its_end(
    image: str, world: World
) -> None:
    here = of_version("2026.1.1.1-b2", world)
    asked = checklist.spec(settings={"image": image})
    facts = [fact for fact in checks.FACTS if fact.name in ("banner", "pages")]
    found = list(checklist.first_run(asked, here, facts=facts))
    assert [one.name for one in found] == [
        "start", "banner", "pages", "settle", "cold-copy", "second-copy", "tls",
    ]  # fmt: skip
    assert found[1].state == "not confirmed" and "YB-2026.1.1.1-b0" in found[1].seen
    assert found[2].state == "confirmed"


@pytest.mark.slow
def test_the_first_run_checklist_says_what_is_not_so(image: str, world: World) -> None:
    """Here: another build, a metric that a release no longer has, and one that cannot be looked at
    at all."""
    names = ("wal_syncs_total", "no_such_counter")
    other: dict[str, Callable[[checks.Probe], read_checks.ClaimSeen]] = {
        "counters": lambda probe: read_checks.counters(probe, names),
        "statements": lambda _: dict[str, Any]()["no such page"],
    }
    facts = [replace(one, look=other.get(one.name, one.look)) for one in checks.FACTS]
    here, asked = (
        of_version(ANOTHER_BUILD, world),
        checklist.spec(settings={"image": image}),
    )
    found = {
        one.name: (one.state, one.seen)
        for one in checklist.first_run(asked, here, facts=facts)
    }
    state, seen = found["banner"]
    assert state == "not confirmed"
    assert f"page: {ANOTHER_BUILD}; asked: {versions.DEFAULT}" in seen
    assert found["counters"] == ("not confirmed", "missing: no_such_counter")
    assert found["statements"][0] == "could not be looked at"
    assert found["pages"][0] == found["cold-copy"][0] == "confirmed"
