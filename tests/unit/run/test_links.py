"""Links of a declared rate: shaped before the block, freed after it, refused where they are not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.design.used_profiles import as_used
from orchestrator.errors import GateError, UsageError
from orchestrator.model import Cluster, Endpoint, Node, Placing
from orchestrator.platforms import own_images
from orchestrator.platforms.common import shared_network
from orchestrator.powers import NETWORK_OF, Completed, PlatformAbilities, World
from orchestrator.run.window import links
from tests import ROOT
from tests.fakes import FakePlatform, completed, fake_world
from tests.plans import a_profile, a_workload

RATE = 2_500_000
NODES = tuple(Node(f"node-{k}", "database", container=f"run-node-{k}") for k in (1, 2))
CLIENT = Node("client", "client", container="run-client")
ENDPOINT = Endpoint("10.0.0.11", 5432, 15432, "bench", "secret", "bench")


@dataclass
class Links:
    """What `link` says in each network, as the real one was seen to say it."""

    rates: dict[str, int | None] = field(default_factory=dict)
    shown: Sequence[float] = (RATE, RATE)
    asked: list[tuple[str, ...]] = field(default_factory=list)
    frees_as: Mapping[str, int | None] = field(default_factory=dict)

    def __call__(self, name: str, words: Sequence[str]) -> str | Completed:
        end, verb = name.removesuffix("-link"), words[0]
        self.asked.append((end, *words))
        if verb == "serve":
            return "{}\n"
        if verb == "measure":
            sent, received = self.shown
            return json.dumps(
                {"sent_bytes_per_s": sent, "received_bytes_per_s": received}
            )
        if verb == "set":
            self.rates[end] = int(words[1])
        rate = (
            self.frees_as.get(end, self.rates.get(end))
            if verb == "free"
            else self.rates[end]
        )
        return "warning: of the engine\n" + json.dumps(
            {"eth0": None if rate is None else {"bytes_per_s": rate, "held_back": 7}}
        )


class OneEngine(FakePlatform):
    abilities = PlatformAbilities(shared_network=shared_network.SHARED)


def linked_world(answer: Any) -> tuple[World, FakePlatform]:
    platform = OneEngine(images=[own_images.tag(ROOT, "disk")], answer=answer)
    return fake_world(platform=platform), platform


def around(
    answer: Links, nodes: Sequence[Node] = NODES, **cluster: Any
) -> tuple[dict[str, Any], FakePlatform, list[str]]:
    """Facts of a run whose links are in force once; `cluster`: keys of the profile's."""
    here_world, platform = linked_world(answer)
    spec = replace(a_profile().cluster, **{"network_bytes_per_s": RATE, **cluster})
    draft = SimpleNamespace(facts={})
    here: Any = SimpleNamespace(
        profile=replace(a_profile(), cluster=spec), world=here_world, draft=draft
    )
    running = Cluster("postgresql", "17", tuple(nodes), (ENDPOINT,), "net")
    with links.links_in_force(here, running, [CLIENT]):
        inside = [" ".join(words) for words in answer.asked]
    return draft.facts, platform, inside


def test_all_links_are_shaped_and_proven_before_the_block_and_freed_after_it() -> None:
    answer = Links()
    facts, platform, inside = around(answer)
    ends = ["run-node-1", "run-node-2", "run-client"]
    assert sorted(inside[:3]) == sorted(f"{end} set {RATE}" for end in ends)
    assert sorted(inside[3:]) == [
        f"run-client measure 10.0.0.11 17321 {links.TRANSFER_S:g}",
        f"run-node-1 serve 17321 {links.TRANSFER_S:g}",
    ]
    assert sorted(answer.asked[5:]) == sorted((end, "free") for end in ends)
    assert facts["network"]["bytes_per_s"] == RATE
    assert facts["network"]["transfer"]["received_bytes_per_s"] == RATE
    assert facts["network"]["links"]["run-client"]["eth0"]["held_back"] == 7
    spec = platform.specs["run-node-2-link"]
    assert spec.network == f"{NETWORK_OF}run-node-2" and spec.capabilities == (
        "NET_ADMIN",
    )


def test_nothing_is_asked_of_links_without_a_rate() -> None:
    answer = Links()
    facts, _, _ = around(answer, network_bytes_per_s=None)
    assert answer.asked == [] and facts == {}


def test_a_client_beside_the_first_node_has_no_link_and_the_nodes_have() -> None:
    answer = Links()
    around(answer, client="beside")
    assert {words[0] for words in answer.asked} == {"run-node-1", "run-node-2"}
    assert ("run-node-2", "measure", "10.0.0.11", "17321", "1") in answer.asked


def test_of_one_link_alone_no_transfer_is_made() -> None:
    answer = Links()
    around(answer, NODES[:1], client="beside")
    assert [verb for _, verb, *_ in answer.asked] == ["set", "free"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            Links(shown=(RATE, 1.03 * RATE)),
            "not within 2 % of the declared 20 Mbit/s: sent 20",
        ),
        (Links(shown=(0.9 * RATE, RATE)), "sent 18 Mbit/s, received 20 Mbit/s"),
        (
            Links(frees_as={"run-node-2": None}),
            "run-node-2 is not limited.*eth0 no limit",
        ),
        (
            Links(frees_as={"run-client": 2 * RATE}),
            "run-client is not limited.*40 Mbit/s",
        ),
    ],
)
def test_a_link_that_is_not_as_declared_refuses_the_run(
    answer: Links, words: str
) -> None:
    with pytest.raises(GateError, match=words):
        around(answer)


def test_a_transfer_that_a_busy_moment_spoilt_is_made_again() -> None:
    answer = Links()
    seen = iter([(0.5 * RATE, RATE), (RATE, 1.01 * RATE)])

    def say(name: str, words: Sequence[str]) -> str | Completed:
        if words[0] == "measure":
            answer.shown = next(seen)
        return answer(name, words)

    here, _ = linked_world(say)
    assert links.proven(RATE, "a", "b", "host", here)["sent_bytes_per_s"] == RATE


def test_a_link_that_is_off_three_times_is_not_tried_again() -> None:
    answer = Links(shown=(0.5 * RATE, RATE))
    here, _ = linked_world(answer)
    with pytest.raises(GateError):
        links.proven(RATE, "a", "b", "host", here)
    transfers = [words for words in answer.asked if words[1] == "measure"]
    assert len(transfers) == 3


@pytest.mark.parametrize(
    ("share", "is_true"), [(0.98, True), (1.02, True), (1.0201, False)]
)
def test_a_transfer_may_be_off_by_two_percent(share: float, is_true: bool) -> None:
    here, _ = linked_world(Links(shown=(share * RATE, RATE)))
    if is_true:
        shown = links.proven(RATE, "a", "b", "host", here)
        assert shown["sent_bytes_per_s"] == share * RATE
    else:
        with pytest.raises(GateError):
            links.proven(RATE, "a", "b", "host", here)


def test_what_the_helper_says_of_its_failure_is_evidence() -> None:
    here, _ = linked_world(
        lambda name, words: completed("tc qdisc add: not permitted", exit_code=1)
    )
    with pytest.raises(GateError, match="could not be shaped or measured") as caught:
        links.asked(["a"], ("set", "5"), here)
    assert "not permitted" in caught.value.evidence


class ApartPlatform(FakePlatform):
    """No container can be in the network of another."""

    @property
    def abilities(self) -> PlatformAbilities:
        return PlatformAbilities()


def test_machines_whose_network_all_share_are_refused() -> None:
    here, _ = linked_world(Links())
    links.check(a_profile(), here)
    apart = replace(a_profile(), placing=Placing(machines=("ssh://vm1",)))
    with pytest.raises(UsageError, match="use the network of their machine"):
        links.check(apart, here)
    with pytest.raises(UsageError, match="needs a network for each node"):
        links.check(a_profile(), fake_world(platform=ApartPlatform()))


def test_a_disk_alone_has_no_network() -> None:
    cluster = replace(a_profile().cluster, network_bytes_per_s=RATE)
    alone = as_used(
        replace(a_profile(), cluster=cluster), replace(a_workload(), database="none")
    )
    assert alone.cluster.network_bytes_per_s is None
