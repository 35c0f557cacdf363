"""What a member does that says nothing of itself beside its name: nothing that is not asked."""

from __future__ import annotations

from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.errors import NotInstalledError
from orchestrator.facts import DatabaseFacts
from orchestrator.model import Node
from orchestrator.parts import (
    Database,
    DatabaseAbilities,
    LoadAbilities,
    LoadGenerator,
    Members,
    Parts,
    TierAbilities,
    TierMechanism,
)
from orchestrator.powers import Platform, PlatformAbilities
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
