"""Which keys of a tier belong to which enforcement: each takes effect, or is refused at its place.

Goal: nothing that a person writes about a disk is ignored.
Method: every key of both forms of a tier × every enforcement, written in the file and given over
it. A key has effect if the tier is another than without it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import pytest

from orchestrator import tier_catalog
from orchestrator.errors import UsageError
from orchestrator.keys.schema import TierYaml
from orchestrator.keys.tier_keys import RealDiskYaml
from orchestrator.model import Note
from orchestrator.planning import notes
from orchestrator.planning.profiles import Nameable, read_profile
from orchestrator.tier import DiskKind, NodeDisks, RealDisks, Tier
from orchestrator.tier_catalog.asked_rows import Reference
from tests import ROOT
from tests.plans import CLUSTER, a_profile
from tests.tiers import a_tier

CATALOG = tier_catalog.read(
    {file.name: file.read_text() for file in (ROOT / "profiles/catalog").glob("*.yaml")}
)
THEIRS = "{database: existing, replication_factor: 1, existing: {hosts: a}}"
KINDS = ("emulated", "mounted", "storage-class", "existing", "none")
PRICE = {
    "monthly": 9,
    "currency": "USD",
    "region": "x",
    "as_of": "2026",
    "source": "a list",
}
LIMITS: dict[str, Any] = {"iops": 500, "throughput": "60MB/s"}
BURST = {"iops": 900, "duration": "5min"}

# What makes a whole tier of each kind.
LEAST: dict[str, dict[str, Any]] = {
    "emulated": LIMITS,
    "mounted": {"disks": {"data": "/mnt/{node}", "wal": "/wal/{node}"}},
    "storage-class": {"storage_class": "fast"},
    "existing": {},
    "none": {},
}
DECLARED = ("emulated", "mounted", "storage-class", "existing")

# key → a value, and the kinds that use it.
OWN: dict[str, tuple[Any, tuple[str, ...]]] = {
    "iops": (800, DECLARED),
    "throughput": ("80MB/s", DECLARED),
    "read_latency": ("2ms", DECLARED),
    "write_latency": ("2ms", DECLARED),
    "burst": (BURST, DECLARED),
    "count": (2, ("emulated", "mounted", "existing")),
    "shared_limit": ({"iops": 900}, ("emulated",)),
    "burst_time_scale": (60, ("emulated",)),
    "recorded": ("disk.json", ("emulated",)),
    "io_unit": ("64KiB", DECLARED),
    "storage_class": ("other", ("storage-class",)),
    "size": ("100GiB", ("storage-class",)),
    "allow_retained_volumes": (True, ("storage-class",)),
    "path": ("/mnt/p15", ("mounted",)),
    "disks": ("/data/{node}", ("mounted",)),
    "file_system": ("xfs", ("mounted",)),
    "mount_options": ("noatime", ("mounted",)),
    "cloud": ("azure", ("mounted",)),
    "wal": ("azure/P10", DECLARED),
    "allow_root_disk": (True, ("mounted",)),
    "snapshots": ("copy", ("mounted", "storage-class")),
    "price": (PRICE, KINDS),
    "source": ("a page", KINDS),
    "as_of": ("2026-01", KINDS),
    "notes": ("it is old", KINDS),
}
ROWS: dict[str, tuple[Any, tuple[str, ...]]] = {
    **{key: one for key, one in OWN.items() if key in Reference.model_fields},
    "iops": (4000, DECLARED),
    "throughput": ("200MB/s", DECLARED),
    "read_latency": ("2ms", DECLARED),
    "write_latency": ("2ms", DECLARED),
    "burst": ("full", DECLARED),
    "size": ("128GiB", DECLARED),
    "performance_plus": (True, DECLARED),
    "region": ("westus", DECLARED),
    "operations_per_month": (1e6, DECLARED),
    "price": (PRICE, DECLARED),
}
# The row on which a key has a meaning; else P15.
ROW_OF = {
    "size": "azure/premium-v2",
    "iops": "azure/premium-v2",
    "throughput": "azure/premium-v2",
    "performance_plus": "azure/P30",
    "operations_per_month": "azure/S4",
    "region": "azure/P10",
}
TABLE = {"0": 0.001, "1": 0.003}
RECORDED = json.dumps(
    {
        "schema_version": 1,
        "source": "a disk",
        "as_of": "2026-01",
        "latency": {"read_quantiles_s": TABLE, "write_quantiles_s": TABLE},
    }
)


def yaml_keys(record: type[RealDiskYaml]) -> set[str]:
    return {field.alias or name for name, field in record.model_fields.items()}


def test_every_key_is_in_the_tables() -> None:
    assert set(OWN) == yaml_keys(TierYaml) - {"enforcement"}
    assert set(ROWS) == yaml_keys(Reference) - {"enforcement", "type"}
    assert set(KINDS) == set(get_args(DiskKind)) - {"dry"}


def read(tier: dict[str, Any], kind: str, over: bool) -> Tier:
    """`over`: the enforcement is given over the file, which says another."""
    wanted = {"enforcement": kind}
    other = {"enforcement": "emulated" if kind == "mounted" else "mounted"}
    content = {**tier, **(other if over else wanted)}
    cluster = THEIRS if kind == "existing" else "small"
    text = f"question: q\ntitle: t\ntier: {json.dumps(content)}\ncluster: {cluster}\n"
    changes = wanted if over else None
    return read_profile(
        "x",
        text,
        Nameable({"small": CLUSTER}, CATALOG, beside=lambda _: RECORDED),
        "smoke",
        changes=changes,
    ).tier


def base(form: str, key: str, kind: str) -> dict[str, Any]:
    """The least tier to which the key can be added."""
    if form == "row":
        least = {} if kind == "storage-class" else LEAST[kind]
        row = {name: value for name, value in least.items() if name not in LIMITS}
        sized = (
            {"size": "64GiB", "iops": 3500}
            if ROW_OF.get(key, "").endswith("-v2")
            else {}
        )
        return {"type": ROW_OF.get(key, "azure/P15"), **sized, **row}
    least = dict(LEAST[kind])
    if key == "burst_time_scale" and kind in DECLARED:
        least |= {**LIMITS, "burst": BURST}
    return least


KEYS = [
    (form, key, value, used)
    for form, table in (("numbers", OWN), ("row", ROWS))
    for key, (value, used) in table.items()
]


@pytest.mark.parametrize(
    ("form", "key", "value", "used"), KEYS, ids=[f"{c[0]}-{c[1]}" for c in KEYS]
)
def test_each_key_takes_effect_or_is_refused_at_its_place(
    form: str, key: str, value: Any, used: tuple[str, ...]
) -> None:
    """On each kind of disk, in the profile or over it."""
    for kind in KINDS:
        for over in (False, True):
            least = base(form, key, kind)
            given = {**least, key: value}
            if kind not in used:
                _is_refused(form, key, given, kind, over)
                continue
            if key == "path":
                given.pop("disks", None)
            assert read(given, kind, over) != read(least, kind, over), (kind, over)


def _is_refused(
    form: str, key: str, given: dict[str, Any], kind: str, over: bool
) -> None:
    with pytest.raises(UsageError) as refused:
        read(given, kind, over)
    place = "tier.type" if form == "row" and kind == "none" else f"tier.{key}"
    said = {
        one.where.removeprefix("profiles/x.yaml: "): one.what
        for one in refused.value.mistakes
    }
    assert place in said, (kind, over)
    assert f"here it is `{kind}`" in said[place], (kind, over)


@pytest.mark.parametrize("way", ["", ", enforcement: emulated"])
def test_the_disk_at_a_path_is_not_replaced_by_one_of_ours(way: str) -> None:
    """What `tier: {type: azure/P15, path: …}` says, with the line that is missing."""
    text = (
        f"question: q\ntier: {{type: azure/P15, path: /mnt/p15{way}}}\ncluster: small\n"
    )
    with pytest.raises(UsageError) as refused:
        read_profile("x", text, Nameable({"small": CLUSTER}, CATALOG), "smoke")
    (mistake,) = refused.value.mistakes
    assert mistake.where == "profiles/x.yaml: tier.path"
    assert "write `enforcement: mounted`" in mistake.what


@pytest.mark.parametrize(
    ("kind", "places", "real"),
    [
        ("mounted", {"path": "/a"}, True),
        ("mounted", {"disks": {"node-1": NodeDisks("/a")}}, True),
        ("storage-class", {}, True),
        ("existing", {}, True),
        ("emulated", {}, False),
        ("none", {}, False),
        ("dry", {}, False),
    ],
)
def test_disks_are_real_that_tierbench_does_not_make(
    kind: DiskKind, places: dict[str, Any], real: bool
) -> None:
    tier = a_tier("a", "a", kind, 1, 1, **places)
    assert tier.disk.is_real is real


# ------------------------------------------------------------------ bursts, caps and real disks


PROFILE = """\
question: q
title: t
tier: {TIER}
cluster:
  nodes: 1
  replication_factor: 1
  node: {smoke: {cpus: 1, memory: 1GiB, disk: 1GiB}}
"""
BURSTING = "{iops: 1100, throughput: 125MB/s, burst: {iops: 3500, duration: 30min, start: 50 %}"


def profile_tier(text: str) -> Tier:
    return read_profile("p", PROFILE.replace("{TIER}", text), Nameable(), "smoke").tier


def test_a_bucket_is_scaled_down_with_the_run() -> None:
    tier = profile_tier(BURSTING + ", burst_time_scale: 60}")
    assert tier.limits.burst is not None
    assert (
        tier.limits.burst.duration_s,
        tier.limits.burst.start_pct,
        tier.limits.burst.iops,
    ) == (
        30.0,
        50.0,
        3500,
    )
    assert tier.disk.burst_time_scale == 60
    assert "a full bucket lasts 30 s here" in tier.origin.notes
    profile = replace(a_profile(), tier=tier)
    assert tuple(notes.of_tiers([profile])) == (
        Note("burst scaled", "burst times are divided by 60", "premium"),
    )
    whole = profile_tier(BURSTING + "}")
    assert whole.limits.burst is not None and whole.limits.burst.duration_s == 1800
    assert not list(notes.of_tiers([replace(profile, tier=whole)]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "{iops: 1100, throughput: 125MB/s, burst_time_scale: 60}",
            "no burst whose time",
        ),
        (BURSTING + ", burst_time_scale: 0.5}", "burst_time_scale"),
        ("{iops: -5, throughput: 125MB/s}", "tier.iops"),
        ("{iops: .inf, throughput: 125MB/s}", "no key takes this number"),
        ("{iops: 500, throughput: 0MB/s}", "tier.throughput"),
        ("{iops: 500, throughput: 1MB/s, read_latency: -1ms}", "tier.read_latency"),
        ("{iops: 500, throughput: 1MB/s, io_unit: 512B}", "4 KiB to 1 MiB"),
        (BURSTING.replace("3500", "1100") + "}", "`burst.iops` is not above `iops`"),
        (BURSTING.replace("30min", "0s") + "}", "tier.burst.duration"),
        ("{iops: 500, throughput: -1MB/s}", "tier.throughput"),
        ("{enforcement: cgroup, iops: 500}", "`cgroup` was removed, because"),
        ("{enforcement: mounted}", "needs `disks`"),
        (BURSTING.replace("50 %", "150 %") + "}", "tier.burst.start"),
        ("{enforcement: mounted, path: /a, disks: {node-1: /mnt/b}}", "not both"),
        (
            "{iops: 500, throughput: 60MB/s, disks: {node-1: /b}}",
            "here it is `emulated`",
        ),
    ],
)
def test_impossible_tiers_are_refused_with_their_place(text: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        profile_tier(text)
    mistakes = [
        f"{mistake.where}: {mistake.what}" for mistake in refused.value.mistakes
    ]
    assert any(words in mistake for mistake in mistakes), mistakes


def test_where_a_real_disk_is() -> None:
    """Each node may have one of its own; one may be the root disk if told so."""
    tier = profile_tier("{enforcement: mounted, disks: {node-1: /mnt/a}}")
    assert (tier.disk.path, tier.disk.of_nodes) == (
        None,
        {"node-1": NodeDisks("/mnt/a")},
    )
    tier = profile_tier(
        "{enforcement: mounted, path: /mnt/disk, allow_root_disk: true}"
    )
    assert tier.disk == RealDisks(path="/mnt/disk", allow_root_disk=True)


@pytest.mark.parametrize(("size", "size_bytes"), [("4KiB", 4_096), ("1MiB", 1_048_576)])
def test_an_io_of_the_least_and_of_the_largest_unit_is_taken(
    size: str, size_bytes: int
) -> None:
    tier = profile_tier(f"{{iops: 500, throughput: 1MB/s, io_unit: {size}}}")
    assert tier.limits.io_unit_bytes == size_bytes


@pytest.mark.parametrize("size", ["4095B", "1048577B"])
def test_an_io_unit_beside_the_least_and_the_largest_is_refused(size: str) -> None:
    with pytest.raises(UsageError) as refused:
        profile_tier(f"{{iops: 500, throughput: 1MB/s, io_unit: {size}}}")
    assert any("4 KiB to 1 MiB" in one.what for one in refused.value.mistakes)
