"""What a member does that says nothing of itself beside its name: nothing that is not asked."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.errors import NotInstalledError
from orchestrator.facts import DatabaseFacts
from orchestrator.load_generators.common.rules import WorkloadRules
from orchestrator.model import Node, Volume
from orchestrator.parts import (
    Database,
    DatabaseAbilities,
    KeptData,
    LoadAbilities,
    LoadGenerator,
    Members,
    Parts,
    TierAbilities,
    TierMechanism,
)
from orchestrator.powers import (
    ContainerSpec,
    ContainerState,
    Mount,
    Platform,
    PlatformAbilities,
)
from orchestrator.powers.guards import GuardBeats
from orchestrator.registry.references import ObjectPlace
from tests.fakes import fake_world

WORLD = fake_world()
CLUSTER: Any = None


def bare(protocol: type) -> Any:
    return type("Bare", (protocol,), {})()


def test_a_database_that_says_nothing_can_nothing_more() -> None:
    database = bare(Database)
    assert database.abilities == DatabaseAbilities()
    assert database.facts(CLUSTER, WORLD) == DatabaseFacts()


def test_a_load_generator_that_says_nothing_checks_and_hashes_nothing() -> None:
    generator = bare(LoadGenerator)
    assert generator.abilities == LoadAbilities()
    assert not generator.abilities.loading_goes_on
    assert generator.scripts(CLUSTER, WORLD) == ""
    assert generator.verify(CLUSTER, CLUSTER, WORLD) == {}


def test_without_a_client_of_its_own_a_load_is_made_under_that_name() -> None:
    with bare(LoadGenerator).client("net", WORLD, name="client-2") as node:
        assert node == Node("client-2", "client")


def test_a_tier_mechanism_that_says_nothing_checks_no_limit() -> None:
    mechanism = bare(TierMechanism)
    assert mechanism.abilities == TierAbilities()
    gate = mechanism.gate(SimpleNamespace(name="premium"), WORLD, False)
    assert (gate.tier, gate.checks) == ("premium", ())


def test_a_generator_that_says_nothing_keeps_a_record_of_each_transaction() -> None:
    assert WorkloadRules().keeps_transactions


def test_a_disk_is_kept_for_later_runs_unless_its_mechanism_says_otherwise() -> None:
    assert Volume("v", "", restored=False).kept


def test_snapshots_are_there_if_each_of_them_is(tmp_path: Path) -> None:
    kept = KeptData(lambda *_: (), lambda *_: nullcontext(()))
    first, second = tmp_path / "node-1", tmp_path / "node-2"
    first.touch()
    assert kept.are_there([first], WORLD)
    assert not kept.are_there([first, second], WORLD)


def test_snapshots_that_are_no_files_elsewhere_are_neither_looked_for_nor_removed() -> (
    None
):
    kept = KeptData(lambda *_: (), lambda *_: nullcontext(()))
    assert kept.are_on_nodes([], WORLD)
    assert kept.forget((), WORLD, False) == ()


def test_a_campaign_gives_a_sign_of_life_every_half_minute() -> None:
    assert GuardBeats().every_s == 30


def test_a_container_has_twenty_seconds_to_stop() -> None:
    assert ContainerSpec("a", "image", (), "runs").stop_timeout_s == 20


def test_a_mount_is_written_to_and_shared_unless_it_is_said_otherwise() -> None:
    mount = Mount("volume", "/data")
    assert (mount.read_only, mount.alone) == (False, False)


def test_a_container_gets_no_devices_and_no_first_process_that_it_did_not_ask_for() -> (
    None
):
    asked = ContainerSpec("a", "image", (), "runs")
    assert (asked.init, asked.host_devices) == (False, False)


def test_a_container_that_ended_is_not_lost() -> None:
    assert not ContainerState("exited").is_lost


def test_nodes_may_run_on_all_machines_of_a_platform_that_says_nothing() -> None:
    platform = bare(Platform)
    platform.machines = lambda: ("a machine", "another")
    assert platform.abilities == PlatformAbilities()
    assert platform.machines_of_nodes() == ("a machine", "another")


def test_parts_that_are_not_given_collect_nothing() -> None:
    parts = Parts({}, {}, {}, ())
    with ExitStack() as up:
        assert up.enter_context(parts.connected(CLUSTER)) == ()
    assert parts.statements(CLUSTER) == ()
    assert parts.waits(CLUSTER, 1.0) == {}
    assert parts.packages((), WORLD) == {}


def test_members_are_listed_without_being_made() -> None:
    """The place is of no module, so that making the member would fail."""
    members: Members[Any] = Members("database", {"a": ObjectPlace("no.module:A")})
    assert "a" in members and "b" not in members
    assert (list(members), len(members)) == (["a"], 1)
    with pytest.raises(NotInstalledError):
        members["b"]


def test_a_member_is_made_once() -> None:
    members: Members[Any] = Members("thing", {"a": ObjectPlace("builtins:object")})
    assert members["a"] is members["a"]
