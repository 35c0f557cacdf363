"""Networks of a declared rate on the real engine: how true they are, what refuses them when they
are not, and that a load which fills one names it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from orchestrator.analysis.verdicts import judge
from orchestrator.errors import GateError
from orchestrator.platforms import own_images
from orchestrator.powers import World
from orchestrator.run.window import links
from orchestrator.system import store
from tests.integration.conftest import measured, tierbench

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

NETWORK = "tierbench-test-links"


@contextmanager
def two_ends(world: World) -> Iterator[tuple[list[str], str]]:
    """Two containers of one network, and the address of the first."""
    with ExitStack() as up:
        network = up.enter_context(world.platform.network(NETWORK, 1))
        (address,) = network.addresses
        names = [f"{NETWORK}-{number}" for number in (1, 2)]
        for name, own in zip(names, (address, None), strict=True):
            idle = own_images.container(
                "disk",
                name,
                ("sleep", "infinity"),
                world,
                network=NETWORK,
                address=own,
                init=True,
            )
            up.enter_context(world.platform.running(idle))
        yield names, address


def shaped(ends: Sequence[str], rate: int, world: World) -> None:
    links.require(rate, links.asked(ends, ("set", str(rate)), world))


@pytest.mark.slow
@measured
@pytest.mark.parametrize("rate", [2_500_000, 6_250_000, 25_000_000])
def test_a_link_carries_what_it_declares_within_2_percent_both_ways(
    world: World, rate: int
) -> None:
    with two_ends(world) as (ends, address):
        shaped(ends, rate, world)
        shown = links.proven(rate, ends[0], ends[1], address, world)
        assert set(shown) == {"sent_bytes_per_s", "received_bytes_per_s"}
        assert list(shown.values()) == pytest.approx([rate, rate], rel=0.02)
        for devices in links.asked(ends, ("free",), world).values():
            assert all(bucket["held_back"] > 0 for bucket in devices.values())


@pytest.mark.slow
def test_a_link_whose_limit_was_taken_away_is_refused_by_the_kernel_and_by_a_transfer(
    world: World,
) -> None:
    rate = 6_250_000
    with two_ends(world) as (ends, address):
        shaped(ends, rate, world)
        links.asked(ends[:1], ("free",), world)
        with pytest.raises(
            GateError, match="is not within 2 % of the declared 50 Mbit/s"
        ):
            links.proven(rate, ends[0], ends[1], address, world)
        with pytest.raises(GateError, match=r"is not limited to 50 Mbit/s: .*no limit"):
            links.require(rate, links.asked(ends, ("show",), world))
        with pytest.raises(
            GateError, match=r"is not limited to 100 Mbit/s: .*50 Mbit/s"
        ):
            links.require(2 * rate, links.asked(ends[1:], ("show",), world))


PROFILE = """
question: does a slow network show?
title: disk that is not the limit
tier: {{iops: 2000, throughput: 100MB/s, read_latency: 1ms, write_latency: 1ms}}
cluster:
  database: postgresql
  nodes: 1
  replication_factor: 1
  {key}
  node: {{smoke: {{cpus: 1, memory: 512MiB, disk: 2GiB}}}}
"""


@pytest.mark.slow
@measured
def test_a_load_that_fills_its_network_names_it_and_not_with_the_client_beside(
    tmp_path: Path,
) -> None:
    """Each transaction of `oltp_read_only` brings 400 rows to the client, all from memory."""
    files = {}
    for name, key in (("slow", "network: 20Mbit"), ("beside", "client: beside")):
        files[name] = tmp_path / f"{name}.yaml"
        files[name].write_text(PROFILE.format(key=key))
        code, text = tierbench(
            *["run", "--profile", str(files[name]), "--workload", "oltp_read_only"],
            *["--set", "table_size=50000"],
            *["--scale", "smoke", "--results", str(tmp_path / name)],
        )
        assert code == 0, text
    slow, beside = (store.load(tmp_path / name / "latest") for name in files)
    (run,) = slow.done
    facts = run.record.facts["network"]
    assert facts["bytes_per_s"] == 2_500_000
    ends = [node for node in run.record.nodes if node.role in ("database", "client")]
    assert set(facts["links"]) == {node.container for node in ends}
    (limited,), (free,) = (judge(campaign).bottlenecks for campaign in (slow, beside))
    assert limited.cause == "network_bound", limited.text
    assert "Mbit/s sent" in limited.text and "packets/s" in limited.text
    assert limited.evidence["network_of_rate_pct"] > 90
    assert free.cause != "network_bound", free.text
    assert "network" not in beside.done[0].record.facts
