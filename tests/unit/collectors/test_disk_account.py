"""The account that an emulated disk keeps, read where its server runs."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.collectors.disk_account import DiskAccountCollector
from orchestrator.counter_sources import DISK_ACCOUNT
from orchestrator.model import Node
from orchestrator.platforms.common.local_machine import LocalMachine
from tests.agents import Agents

ID = "7fc3631a2414fc17e88d21bc82e3c2a096a8d0ee159cfc64d226d0264f6ffead"
WHOLE = f"{7:020} {2_500_000_000:020} {4_000_000_000:020} {7:020}\n"


@pytest.fixture
def machine(tmp_path: Path) -> LocalMachine:
    group = tmp_path / "proc/42/cgroup"
    group.parent.mkdir(parents=True)
    group.write_text(f"0::/docker/{ID}\n")
    return LocalMachine(tmp_path)


def server(name: str, account: Path) -> Node:
    account.write_text(WHOLE)
    sources = {DISK_ACCOUNT: str(account)}
    return Node(name, "disk", container_id=ID, process_id=42, sources=sources)


def read(machine: LocalMachine, nodes: Iterable[Node]) -> dict[tuple[str, str], float]:
    collector = DiskAccountCollector(lambda _: machine)
    found: dict[tuple[str, str], float] = {}
    for sample in collector.read(list(nodes), 1.0):
        assert (sample.time_s, sample.unit) == (1.0, "s")
        found[sample.node, sample.metric] = sample.value
    return found


def test_an_account_is_of_the_node_whose_data_or_log_is_on_the_disk(
    machine: LocalMachine, tmp_path: Path
) -> None:
    servers = [
        server("disk-node-1", tmp_path / "data"),
        server("disk-node-1-wal", tmp_path / "log"),
        Node("node-1", "database", container_id=ID, process_id=42),
    ]
    assert read(machine, servers) == {
        ("node-1", "disk_held_back_seconds_total"): pytest.approx(2.5),
        ("node-1", "disk_served_seconds_total"): pytest.approx(4.0),
        ("node-1", "wal_disk_held_back_seconds_total"): pytest.approx(2.5),
        ("node-1", "wal_disk_served_seconds_total"): pytest.approx(4.0),
    }


def test_a_machine_elsewhere_reads_it_with_its_other_files(tmp_path: Path) -> None:
    """By the agent itself, whose root is the machine's: one question brings all of a tick."""
    group = tmp_path / "proc/42/cgroup"
    group.parent.mkdir(parents=True)
    group.write_text(f"0::/docker/{ID}\n")
    (tmp_path / "var").mkdir()
    there = server("disk-node-1", tmp_path / "var/node-1.account")
    on_machine = replace(there, sources={DISK_ACCOUNT: "/var/node-1.account"})
    with closing(Agents(tmp_path).machine()) as far:
        collector = DiskAccountCollector(lambda _: far)
        for _ in range(2):
            far.refresh()
            found = list(collector.read([on_machine], 1.0))
    assert {sample.node for sample in found} == {"node-1"}
    assert [sample.value for sample in found] == pytest.approx([2.5, 4.0])


def test_what_a_killed_server_left_is_not_read(
    machine: LocalMachine, tmp_path: Path
) -> None:
    left = server("disk-node-1", tmp_path / "data")
    (tmp_path / "proc/42/cgroup").write_text("0::/docker/another\n")
    with pytest.raises(OSError, match="no group of container"):
        read(machine, [left])


def test_one_account_that_is_just_written_leaves_the_others(
    machine: LocalMachine, tmp_path: Path
) -> None:
    servers = [
        server("disk-node-1", tmp_path / "first"),
        server("disk-node-2", tmp_path / "second"),
    ]
    (tmp_path / "first").write_text(WHOLE.replace("7 ", "8 ", 1))
    collector = DiskAccountCollector(lambda _: machine)
    found: set[str] = set()
    with pytest.raises(
        OSError, match="disk-node-1: this account of a disk is incomplete"
    ):
        for sample in collector.read(servers, 1.0):
            found.add(sample.node)
    assert found == {"node-2"}
