"""A tier for the disks of the nodes' WAL: how it is written, what it costs, what results keep.

Each test holds a profile as a person writes it against the plan that is made of it.
"""

from __future__ import annotations

import json

import pytest
from pydantic import TypeAdapter

from orchestrator.design import node_disks, purchase_prices, used_profiles
from orchestrator.errors import UsageError
from orchestrator.model import Profile
from orchestrator.planning import project_files
from orchestrator.planning.profiles import Nameable, read_profile, read_row
from orchestrator.tier import (
    ClassVolumes,
    Emulated,
    Limits,
    Snapshots,
    Tier,
    as_written,
)
from tests import ROOT
from tests.plans import CLUSTER, profile_text

DISKS = "{data: '/mnt/d{node}', wal: '/mnt/w{node}'}"


def profile(
    wal: str, disks: str = DISKS, row: str = "azure/P30", cluster: str = CLUSTER
) -> Profile:
    tier = f"{{type: {row}, enforcement: mounted, disks: {disks}, wal: {wal}}}"
    return read_profile(
        "x",
        profile_text(tier),
        Nameable({"small": cluster}, project_files.catalog(ROOT)),
        "smoke",
    )


def mistakes(wal: str, disks: str = DISKS) -> dict[str, str]:
    with pytest.raises(UsageError) as refused:
        profile(wal, disks)
    return {
        m.where.removeprefix("profiles/x.yaml: "): m.what
        for m in refused.value.mistakes
    }


@pytest.mark.parametrize("written", ["azure/P10", "{type: azure/P10}"])
def test_a_log_on_a_row_of_the_catalog(written: str) -> None:
    tier = profile(written).tier
    assert tier.wal is not None
    assert (tier.limits.iops, tier.wal.limits.iops) == (5000, 500)
    assert (tier.wal.limits.bytes_per_s, tier.wal.origin.catalog_type) == (
        100_000_000,
        "azure/premium",
    )
    assert tier.wal.disk.is_real


def test_a_log_with_limits_of_its_own() -> None:
    wal = profile("{iops: 900, throughput: 50MB/s, write_latency: 1ms}").tier.wal
    assert wal is not None
    assert (wal.limits.iops, wal.limits.bytes_per_s, wal.latency.write_s) == (
        900,
        50_000_000,
        0.001,
    )


@pytest.mark.parametrize(
    ("wal", "disks", "place", "words"),
    [
        (
            "azure/P10",
            "'/mnt/d{node}'",
            "tier.disks.node-{node}.wal",
            "has no disk for the tier's `wal`",
        ),
        ("azure/P9999", DISKS, "tier.wal.type", "unknown"),
        ("{iopses: 9}", DISKS, "tier.wal.iopses", "unknown key"),
        ("[azure/P10]", DISKS, "tier.wal", "expected a row such as azure/P30, or keys"),
        ("{iops: 9, path: /a}", DISKS, "tier.wal.path", "for both disks"),
        ("{iops: 9, size: 9GiB}", DISKS, "tier.wal.size", "does not use it"),
        ("{iops: 9, wal: azure/P10}", DISKS, "tier.wal.wal", "for both disks"),
        (
            "azure/P10",
            "{node-1: {data: /a, wal: /b}, node-2: {data: /b, wal: /c}}",
            "tier.disks.node-1.wal",
            "holds data too",
        ),
    ],
)
def test_a_log_tier_that_cannot_be(
    wal: str, disks: str, place: str, words: str
) -> None:
    found = mistakes(wal, disks)
    assert words in found.get(place, ""), found


def test_a_disk_of_which_nothing_is_declared_has_no_log_tier() -> None:
    with pytest.raises(UsageError) as refused:
        emulated("{type: azure/P15, enforcement: none, wal: azure/P30}")
    assert "`enforcement: emulated`, `mounted`, `storage-class` or `existing`" in str(
        refused.value.mistakes
    )


def on_class(wal: str, data: str = "type: azure/P15") -> Tier:
    """The tier of three nodes whose disks are volumes of Kubernetes."""
    tier = f"{{{data}, enforcement: storage-class, wal: {wal}}}"
    return used_profiles.on_nodes(emulated(tier), 3).tier


@pytest.mark.parametrize(
    ("wal", "class_name", "is_made", "gib"),
    [
        ("azure/P10", "x-wal-c35407", True, 128),
        ("{type: azure/P10, storage_class: fast}", "fast", False, 128),
        ("{storage_class: fast, size: 20GiB, iops: 900}", "fast", False, 20),
        # Where no size is said, a claim asks for what a node's disk needs.
        ("{storage_class: fast}", "fast", False, 2),
    ],
)
def test_a_log_on_a_volume_of_a_class_has_a_class_and_a_size_of_its_own(
    wal: str, class_name: str, is_made: bool, gib: int
) -> None:
    tier = on_class(wal)
    assert tier.disk.storage_class is not None and tier.wal is not None
    assert tier.disk.storage_class.name == "x"
    wanted = tier.wal.disk.storage_class
    assert wanted is not None
    assert (wanted.name, bool(wanted.provisioner)) == (class_name, is_made)
    assert (wanted.size_bytes, wanted.nodes) == (gib * 2**30, 3)


def test_what_holds_for_both_volumes_is_said_once() -> None:
    said = "snapshots: copy, allow_retained_volumes: true"
    log = on_class("azure/P10", f"type: azure/P15, {said}").wal
    assert log is not None and isinstance(log.disk, ClassVolumes)
    assert log.disk.allow_retained_volumes
    assert log.disk.snapshots == Snapshots("copy")


def test_a_class_has_as_many_volumes_for_logs_as_for_data() -> None:
    tier = on_class("azure/P10")
    assert node_disks.count(tier) == 6
    assert node_disks.gated(tier) == 6
    written = json.loads(json.dumps(as_written(tier)))
    assert TypeAdapter(Tier).validate_python(written) == tier


@pytest.mark.parametrize(
    ("wal", "place", "words"),
    [
        ("{iops: 900}", "tier.wal", "needs a `storage_class`"),
        ("{type: azure/P10, snapshots: copy}", "tier.wal.snapshots", "for both disks"),
    ],
)
def test_a_log_on_a_volume_that_cannot_be(wal: str, place: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        on_class(wal)
    found = {mistake.where: mistake.what for mistake in refused.value.mistakes}
    assert words in found.get(f"profiles/x.yaml: {place}", ""), found


THEIRS = """
database: existing
nodes: 3
replication_factor: 3
vm: azure/Standard_D8s_v5
existing: {hosts: "a b c", user: bench, tls: off}
"""


def test_a_cluster_that_others_run_has_a_disk_for_the_log_of_each_node() -> None:
    """Where they are nobody says: the disks are found, or named in `existing`."""
    fitted = emulated(
        "{type: azure/P15, enforcement: existing, wal: azure/P30}", THEIRS
    )
    data = fitted.tier
    log = data.wal
    assert log is not None and log.limits.iops == 5_000
    assert (data.disk.kind, log.disk.kind) == ("existing", "existing")
    assert purchase_prices.bought_disks(fitted) == 6
    assert data.price is not None and log.price is not None
    both = data.price.monthly + log.price.monthly
    assert purchase_prices.disks_monthly(fitted) == pytest.approx(3 * both)
    # Both lead through the one machine, whose 290 MB/s are less than 125 and 200.
    assert data.machine is not None
    assert data.machine.limits == Limits(bytes_per_s=290_000_000)


def emulated(tier: str, cluster: str = CLUSTER) -> Profile:
    catalog = project_files.catalog(ROOT)
    return read_profile(
        "x", profile_text(tier), Nameable({"small": cluster}, catalog), "smoke"
    )


@pytest.mark.parametrize(
    ("written", "iops", "bytes_per_s"),
    [
        ("azure/P30", 5_000, 200_000_000),
        ("{type: azure/P30}", 5_000, 200_000_000),
        ("{iops: 900, throughput: 50MB/s}", 900, 50_000_000),
    ],
)
def test_an_emulated_log_has_limits_and_a_price_of_its_own(
    written: str, iops: int, bytes_per_s: int
) -> None:
    fitted = emulated(f"{{type: azure/P15, wal: {written}}}")
    data = fitted.tier
    log = data.wal
    assert log is not None and isinstance(log.disk, Emulated)
    assert (data.limits.iops, log.limits.iops) == (1_100, iops)
    assert log.limits.bytes_per_s == bytes_per_s
    assert purchase_prices.bought_disks(fitted) == 6
    if log.price is None:
        assert purchase_prices.disks_monthly(fitted) is None
    else:
        assert data.price is not None
        both = data.price.monthly + log.price.monthly
        assert purchase_prices.disks_monthly(fitted) == pytest.approx(3 * both)


def test_results_keep_an_emulated_log() -> None:
    tier = emulated("{type: azure/P15, count: 2, wal: azure/P30}").tier
    written = json.loads(json.dumps(as_written(tier)))
    assert TypeAdapter(Tier).validate_python(written) == tier


@pytest.mark.parametrize(
    ("tier", "place", "words"),
    [
        ("{type: azure/P15, wal: {iops: 9}}", "tier.wal", "needs `iops`"),
        ("{type: azure/P15, wal: aws/io2}", "tier.wal.size", "is missing"),
        (
            "{type: azure/P15, wal: {type: aws/gp3, size: 32GiB}}",
            "tier.wal.type",
            "no machine has a disk of aws/gp3 beside one of azure/premium",
        ),
        (
            "{type: azure/P15, wal: azure/P30, shared_limit: {iops: 900}}",
            "tier.shared_limit",
            "the disks of data alone",
        ),
        (
            "{type: azure/P15, burst: full, burst_time_scale: 60, "
            "wal: {type: azure/P15, burst: full}}",
            "tier.burst_time_scale",
            "of the data's disk alone",
        ),
    ],
)
def test_an_emulated_log_that_cannot_be(tier: str, place: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        emulated(tier)
    found = {mistake.where: mistake.what for mistake in refused.value.mistakes}
    assert words in found.get(f"profiles/x.yaml: {place}", ""), found


def test_the_burst_of_data_is_shortened_beside_a_log_without_credit() -> None:
    wal = "{type: azure/P15, burst: empty}"
    data = emulated(
        f"{{type: azure/P15, burst: full, burst_time_scale: 60, wal: {wal}}}"
    ).tier
    assert data.wal is not None and data.wal.limits.burst is not None
    assert data.wal.limits.burst.start_pct == 0


D8S_V5 = (ROOT / "profiles/clusters/azure-d8s-v5.yaml").read_text()


def test_both_emulated_disks_share_what_their_machine_lets_through() -> None:
    """A D8s_v5 lets 290 MB/s through: they could do 125 and 200."""
    tier = emulated("{type: azure/P15, wal: azure/P30}", D8S_V5).tier
    assert tier.wal is not None and tier.machine is not None
    alone = (tier.limits.bytes_per_s, tier.wal.limits.bytes_per_s)
    assert alone == (125_000_000, 200_000_000)
    assert tier.machine.vm == "azure/Standard_D8s_v5"
    # Its IOPS are enough for both, so nothing holds those.
    assert tier.machine.limits == Limits(bytes_per_s=290_000_000)
    (told,) = tier.origin.vm_caps
    # The check reads from each by itself, and then from both at once.
    assert node_disks.gated(tier) == 3
    # The data's disk alone is far from the machine's limit, so that is not said of it.
    assert told.limit is None
    assert told.text.startswith("data's and WAL's disk together, throughput: ")
    written = json.loads(json.dumps(as_written(tier)))
    assert TypeAdapter(Tier).validate_python(written) == tier


def test_disks_whose_sum_a_machine_lets_through_share_nothing() -> None:
    tier = emulated("{type: azure/P15, wal: azure/P15}", D8S_V5).tier
    assert tier.machine is None and tier.origin.vm_caps == ()


def test_a_burst_of_both_is_not_held_to_the_machine_s_base() -> None:
    """Where a window begins with credit, and the machine bursts too: its base would be too slow."""
    text = "{type: azure/P15, burst: full, wal: azure/P30}"
    assert emulated(text, D8S_V5).tier.machine is None


@pytest.mark.parametrize(("burst", "is_shared"), [("0.5%", False), ("empty", True)])
def test_a_machine_s_base_holds_both_disks_where_neither_has_any_credit(
    burst: str, is_shared: bool
) -> None:
    text = f"{{type: azure/P15, burst: {burst}, wal: azure/P30}}"
    assert (emulated(text, D8S_V5).tier.machine is not None) is is_shared


def test_a_row_alone_has_no_log() -> None:
    with pytest.raises(UsageError) as refused:
        read_row("azure/P15", {"wal": "azure/P30"}, project_files.catalog(ROOT))
    assert "a disk alone has none" in str(refused.value.mistakes)


def test_each_disk_costs_the_price_of_its_own_tier() -> None:
    fitted = used_profiles.on_nodes(profile("azure/P10"), 3)
    data, wal = fitted.tier.price, fitted.tier.wal and fitted.tier.wal.price
    assert data and wal and wal.monthly < data.monthly
    assert purchase_prices.disks_monthly(fitted) == pytest.approx(
        3 * data.monthly + 3 * wal.monthly
    )
    assert purchase_prices.bought_disks(fitted) == 6


def test_without_a_price_of_the_log_tiers_are_not_compared_by_price() -> None:
    fitted = used_profiles.on_nodes(profile("{iops: 900}"), 3)
    assert purchase_prices.disks_monthly(fitted) is None
    assert "x's WAL" in purchase_prices.compare_prices([fitted])[1]


def test_results_keep_the_log_tier_and_others_have_no_such_key() -> None:
    tier = profile("azure/P10").tier
    written = json.loads(json.dumps(as_written(tier)))
    assert written["wal"]["iops"] == 500 and "wal" not in written["wal"]
    assert TypeAdapter(Tier).validate_python(written) == tier


def test_the_vm_s_cap_is_of_both_disks_together() -> None:
    """A D8s_v5 lets 290 MB/s through: enough for a P30 of 200 and a log of 50, not of 100."""
    cluster = (ROOT / "profiles/clusters/azure-d8s-v5.yaml").read_text()
    for log, told in (
        ("{iops: 9, throughput: 50MB/s}", []),
        ("azure/P10", ["data's and WAL's disk together, throughput"]),
    ):
        tier = profile(log, cluster=cluster).tier
        assert [told_of(cap.text) for cap in tier.origin.vm_caps] == told


def told_of(cap: str) -> str:
    """What a sentence of a machine's limit is of."""
    return cap.split(":")[0]


def test_a_row_of_ones_own_may_stand_beside_a_providers() -> None:
    """A provider that sells no machine in the catalog may have disks for machines of others."""
    catalog = project_files.catalog(ROOT)
    assert catalog.are_never_together("azure/premium", "aws/gp3")
    assert not catalog.are_never_together("azure/premium", "azure/ultra")
    assert not catalog.are_never_together("azure/premium", "mine/nvme")
    assert not catalog.are_never_together("mine/nvme", "azure/premium")


def test_a_class_that_kubernetes_would_refuse_is_told_in_words() -> None:
    with pytest.raises(UsageError) as refused:
        on_class("{type: azure/P10, storage_class: My_Class}")
    (mistake,) = refused.value.mistakes
    assert mistake.where.endswith("tier.wal.storage_class")
    assert mistake.what == (
        "expected small letters, digits, `-` and `.`, at most 253 (given: 'My_Class')"
    )


def test_a_class_has_a_name_of_at_most_253_letters() -> None:
    text = "{type: azure/P10, storage_class: %s}"
    on_class(text % ("c" * 253))
    with pytest.raises(UsageError):
        on_class(text % ("c" * 254))
