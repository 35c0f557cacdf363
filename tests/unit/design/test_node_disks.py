"""Where the real disks of a profile are: all ways to write it, every mistake with its place."""

from __future__ import annotations

import pytest

from orchestrator import tier_catalog
from orchestrator.design import node_disks, used_profiles
from orchestrator.errors import UsageError
from orchestrator.model import Profile
from orchestrator.planning import plan, project_files
from orchestrator.planning.profiles import Nameable, read_profile
from orchestrator.tier import NodeDisks, RealDisks
from tests import ROOT
from tests.plans import CLUSTER, profile_text
from tests.tiers import changed

EACH = "{node-1: /a, node-2: {data: /b, wal: /wal}, node-3: /c}"
THREE = {
    "node-1": NodeDisks("/a"),
    "node-2": NodeDisks("/b", "/wal"),
    "node-3": NodeDisks("/c"),
}


def profile(keys: str, row: str = "enforcement: mounted") -> Profile:
    return read_profile(
        "x", profile_text(f"{{{row}, {keys}}}"), Nameable({"small": CLUSTER}), "smoke"
    )


def mistakes(keys: str, row: str = "enforcement: mounted") -> dict[str, str]:
    with pytest.raises(UsageError) as refused:
        profile(keys, row)
    return {
        m.where.removeprefix("profiles/x.yaml: "): m.what
        for m in refused.value.mistakes
    }


def on(profile: Profile, nodes: int) -> dict[str, NodeDisks]:
    return dict(used_profiles.on_nodes(profile, nodes).tier.disk.of_nodes)


def test_each_node_by_its_name() -> None:
    found = profile(f"disks: {EACH}")
    assert on(found, 3) == THREE
    assert on(found, 1) == {"node-1": NodeDisks("/a")}, (
        "others are neither used nor measured"
    )
    with pytest.raises(UsageError, match="no disk for node-4, node-5") as refused:
        on(found, 5)
    assert "--nodes 3" in refused.value.advice


@pytest.mark.parametrize(
    ("written", "second"),
    [
        ("'/mnt/p15-{node}'", NodeDisks("/mnt/p15-2")),
        ("{data: '/mnt/p15-{node}'}", NodeDisks("/mnt/p15-2")),
        (
            "{data: '/mnt/p15-{node}', wal: '/mnt/w{node}'}",
            NodeDisks("/mnt/p15-2", "/mnt/w2"),
        ),
    ],
)
def test_one_pattern_for_as_many_nodes_as_are_started(
    written: str, second: NodeDisks
) -> None:
    found = profile(f"disks: {written}")
    for nodes in (2, 3, 5):
        assert list(on(found, nodes)) == [f"node-{k}" for k in range(1, nodes + 1)]
        assert on(found, nodes)["node-2"] == second


def test_the_number_of_nodes_is_known_when_they_are_fitted_to_the_machine() -> None:
    (fitted,), _ = plan.fit_to_machines([profile("disks: '/mnt/{node}'")], 2, cores=[8])
    assert fitted.tier.disk.of_nodes == {
        "node-1": NodeDisks("/mnt/1"),
        "node-2": NodeDisks("/mnt/2"),
    }
    (fitted,), _ = plan.fit_to_machines([profile(f"disks: {EACH}")], None, cores=[2])
    assert fitted.tier.disk.of_nodes == {"node-1": NodeDisks("/a")}


def test_what_must_be_found_there() -> None:
    keys = "path: /a, file_system: xfs, mount_options: 'noatime,discard', cloud: azure"
    wanted = RealDisks(
        path="/a",
        file_system="xfs",
        mount_options=("noatime", "discard"),
        cloud="azure",
    )
    assert profile(keys).tier.disk == wanted
    one_option = RealDisks(path="/a", mount_options=("noatime",))
    assert profile("path: /a, mount_options: [noatime]").tier.disk == one_option


def test_a_row_of_the_catalog_on_disks_of_the_nodes() -> None:
    tier = {"type": "azure/P15", "enforcement": "mounted", "disks": {"node-1": "/a"}}
    texts = {f.name: f.read_text() for f in (ROOT / "profiles/catalog").glob("*.yaml")}
    chosen = tier_catalog.choose(tier_catalog.read(texts), tier, "p15").tier
    assert chosen.disk.of_nodes == {"node-1": NodeDisks("/a")}
    assert chosen.origin.catalog_type == "azure/premium"


def test_every_mistake_at_once_and_in_its_place() -> None:
    wrong = "{node-1: mnt/a, node-2: {wal: /b}, node-3: {data: /c, log: /d}}"
    assert mistakes(f"disks: {wrong}, cloud: ovh") == {
        "tier.disks.node-1.data": "give the directory in full, from / (given: 'mnt/a')",
        "tier.disks.node-2.data": "this key is missing",
        "tier.disks.node-3.log": "unknown key",
        "tier.cloud": "expected 'azure', 'aws' or 'gcp' (given: 'ovh')",
    }
    assert mistakes("disks: {node-1: /a, node-2: {data: /b, wal: /b}, node-7: /c}") == {
        "tier.disks.node-2.wal": "the data are on this disk: leave it out, or name another",
        "tier.disks.node-7": "no such node; the nodes are node-1, node-2, node-3",
        "tier.disks.node-3": "this node has no disk: name it",
    }
    found = mistakes("disks: {data: /a, wal: '/w{node}'}")
    assert (
        list(found) == ["tier.disks.data"]
        and "all nodes would share it" in found["tier.disks.data"]
    )


@pytest.mark.parametrize(
    ("row", "keys", "place", "words"),
    [
        (
            "enforcement: mounted",
            "path: /a, disks: {node-1: /b}",
            "tier.disks",
            "not both",
        ),
        (
            "iops: 9, throughput: 1MB/s",
            f"disks: {EACH}",
            "tier.disks",
            "here it is `emulated`",
        ),
        (
            "iops: 9, throughput: 1MB/s",
            "cloud: gcp",
            "tier.cloud",
            "`enforcement: mounted`",
        ),
        (
            "enforcement: none",
            "file_system: xfs",
            "tier.file_system",
            "belongs to `enforcement: mounted`",
        ),
        ("enforcement: mounted", f"paths: {EACH}", "tier.paths", "unknown key"),
    ],
)
def test_keys_that_do_not_fit(row: str, keys: str, place: str, words: str) -> None:
    assert words in mistakes(keys, row)[place]


def test_only_who_names_disks_is_told_how_they_are_measured() -> None:
    found = mistakes(f"disks: {EACH}, cloud: gcp", "iops: 9, throughput: 1MB/s")
    assert found["tier.disks"].endswith(
        "write `enforcement: mounted` to measure the disk there, or leave it out"
    )
    assert found["tier.cloud"].endswith("which does not use it: leave it out")


def test_a_tier_without_disks_stays_as_it_is() -> None:
    tier = profile("path: /a").tier
    assert node_disks.of_nodes(tier, 3) is tier
    assert not list(node_disks.mistakes(changed(tier, path="/b"), 3, shared=True))


@pytest.mark.parametrize(
    ("wal", "caps"), [("", ()), (", wal: '/mnt/w{node}'", ("throughput",))]
)
def test_the_disk_of_the_wal_has_its_part_in_the_vm_s_cap(
    wal: str, caps: tuple[str, ...]
) -> None:
    """A D8s_v5 lets 290 MB/s through: enough for a P30 of 200, and not for two."""
    disks = f"{{data: '/mnt/d{{node}}'{wal}}}"
    row = f"{{type: azure/P30, enforcement: mounted, disks: {disks}}}"
    cluster = (ROOT / "profiles/clusters/azure-d8s-v5.yaml").read_text()
    tier = read_profile(
        "x",
        profile_text(row, cluster="d8s"),
        Nameable({"d8s": cluster}, project_files.catalog(ROOT)),
        "smoke",
    ).tier
    assert tier.limits.bytes_per_s == 200_000_000
    assert len(tier.origin.vm_caps) == len(caps)
    for cap, words in zip(tier.origin.vm_caps, caps, strict=True):
        # Both disks have the limit together, so it is none of the data's disk alone.
        assert cap.limit is None and words in cap.text
