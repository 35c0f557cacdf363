"""Each load generator on each platform and kind of tier: it is planned, or refused before it costs.

Method: the table has a letter for each combination, which is planned from a profile of its own and
looked ahead, as a dry run does, without an engine. RUNS: nothing that is found refuses it. REFUSED:
an error says what does not go together, before anything is started.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.common.options import Request
from orchestrator.errors import UsageError
from orchestrator.load_generators import load_generators
from orchestrator.tier import DISKS
from tests.option_kinds import OURS, THEIRS, problems, told

pytestmark = pytest.mark.usefixtures("profile_files")
RUNS = "R"
REFUSED = "-"
# What these lack is a cluster or a disk, which no test without them has; not a combination.
NOT_HERE = ("mounted", "existing")
TIERS = ("emulated", "mounted", "storage-class", "none", "existing")
# Generator, platform → a letter for each of TIERS.
# `machines` are several engines, of which each node has one.
TABLE = {
    ("sysbench", "docker"): "RR-RR",
    ("sysbench", "kubernetes"): "RRRRR",
    ("sysbench", "machines"): "RR-R-",
    ("sysbench-stock", "docker"): "RR-RR",
    ("sysbench-stock", "kubernetes"): "RRRRR",
    ("sysbench-stock", "machines"): "RR-R-",
    ("benchbase", "docker"): "RR-RR",
    ("benchbase", "kubernetes"): "RRRRR",
    ("benchbase", "machines"): "RR-R-",
    ("fio", "docker"): "RR-R-",
    ("fio", "kubernetes"): "RRRR-",
    ("fio", "machines"): "RR-R-",
    ("tera", "docker"): "RR-R-",
    ("tera", "kubernetes"): "RRRR-",
    ("tera", "machines"): "-----",
}
# Words of a refusal that says what does not go together; another would be a mistake of this test.
UNFIT = re.compile(
    "StorageClass, which docker does not have"
    "|disks of several machines are|others run this cluster|measures a disk by itself"
    "|is an existing cluster|hdfs runs on one Docker engine or on Kubernetes"
)
GENERATORS: dict[str, dict[str, Any]] = {
    "sysbench": {"workloads": ("tpcc",)},
    "sysbench-stock": {"workloads": ("oltp_read_write",)},
    "benchbase": {"workloads": ("tpcc",), "generator": "benchbase"},
    "fio": {"workloads": ("disk-matrix",)},
    "tera": {"workloads": ("hdfs-gen",), "database": "hdfs"},
}
MACHINES = "machines: [tcp://vm1:2376, tcp://vm2:2376, tcp://vm3:2376]\n"
PLATFORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "docker": ("", {"platform": "docker"}),
    "kubernetes": ("", {"platform": "kubernetes"}),
    "machines": (MACHINES, {}),
}


@pytest.fixture
def mounted(tmp_path: Path) -> str:
    """Where the disks of three nodes are mounted here: folders, which a dry run takes."""
    for number in (1, 2, 3):
        (tmp_path / f"disk-{number}").mkdir()
    return f"{tmp_path}/disk-{{node}}"


def refusal(generator: str, platform: str, tier: str, mounted: str) -> str:
    """What ends the campaign before anything is started; "" if nothing does."""
    keys, options = PLATFORMS[platform]
    declared = f"type: azure/P15, enforcement: {tier}"
    cluster = OURS
    if tier == "mounted":
        declared += f", {mounted_at(platform, mounted)}"
    elif tier == "none":
        declared = "enforcement: none"
    elif tier == "existing":
        cluster = THEIRS
    text = f"question: q\ntitle: A disk\ntier: {{{declared}}}\ncluster: {cluster}\n"
    Path("one.yaml").write_text(f"{text}{keys}")
    given = {**GENERATORS[generator], **options}
    try:
        request = Request(profiles=("one.yaml",), scale="smoke", **given)
        return " ".join(problems(request))
    except UsageError as error:
        return told(error)


def mounted_at(platform: str, mounted: str) -> str:
    if platform == "machines":
        return "path: /mnt/a"
    return f'disks: "{mounted}"'


def test_every_combination_has_a_letter() -> None:
    members = set(load_generators()) - {"dry"}
    assert set(GENERATORS) == members
    assert set(TIERS) == set(DISKS) - {"dry"}
    pairs = {(generator, name) for generator in GENERATORS for name in PLATFORMS}
    assert set(TABLE) == pairs
    assert {len(letters) for letters in TABLE.values()} == {len(TIERS)}


@pytest.mark.parametrize(("generator", "platform"), TABLE)
def test_what_does_not_go_together_is_refused_before_it_costs(
    generator: str, platform: str, mounted: str
) -> None:
    found = ""
    for tier in TIERS:
        why = refusal(generator, platform, tier, mounted)
        if UNFIT.search(why):
            found += REFUSED
        else:
            found += RUNS
            assert why == "" or tier in NOT_HERE, why
    assert found == TABLE[generator, platform]
