"""Profiles and workloads: what is shipped reads well, and every mistake is shown with its path."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import Mistake, UsageError
from orchestrator.keys import refusals
from orchestrator.keys.schema import bucket_pct
from orchestrator.planning import named_files, project_files
from orchestrator.planning.profiles import Nameable, read_profile
from orchestrator.planning.workloads import read_workload
from orchestrator.tier import Snapshots
from tests import ROOT
from tests.plans import CLUSTER, profile_text
from tests.refused_profiles import MISTAKES


def mistakes_of(text: str, scale: str = "smoke") -> tuple[Mistake, ...]:
    with pytest.raises(UsageError) as raised:
        read_profile("x", text, Nameable({"small": CLUSTER}), scale)
    return raised.value.mistakes


@pytest.mark.parametrize(
    ("value", "pct"),
    [
        ("full", 100.0),
        ("empty", 0.0),
        ("lowest", "lowest"),
        (0, 0.0),
        ("0 %", 0.0),
        (100, 100.0),
        ("12.5%", 12.5),
    ],
)
def test_how_full_a_bucket_is(value: object, pct: object) -> None:
    assert bucket_pct(value, "lowest") == pct


@pytest.mark.parametrize("value", [-0.1, "100.1", "half", "nan", "lowest", None])
def test_what_is_no_share_of_a_bucket_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="use full, empty or a percentage"):
        bucket_pct(value)


@pytest.mark.parametrize("scale", ["smoke", "laptop", "study", "study-20"])
def test_everything_shipped_reads_at_every_scale(scale: str) -> None:
    profiles = named_files.names(ROOT / "profiles")
    workloads = named_files.names(ROOT / "workloads")
    found, loads = project_files.read(ROOT, profiles, workloads, scale)
    assert {"premium", "premium-v2", "ultra"} <= {profile.name for profile in found}
    assert {"point-select", "insert", "tpcc"} <= {workload.name for workload in loads}


def test_the_study_is_as_published() -> None:
    """Sizes and limits of the main study (docs/research/STUDY.md names it)."""
    found, loads = project_files.read(
        ROOT,
        ["premium", "premium-v2", "ultra"],
        ["point-select", "insert", "tpcc"],
        "study",
    )
    premium, v2, ultra = (profile.tier for profile in found)
    assert (premium.limits.iops, premium.limits.bytes_per_s) == (1100, 125_000_000)
    assert premium.limits.burst is not None and premium.limits.burst.iops == 3500
    assert (
        (v2.limits.iops, v2.limits.bytes_per_s)
        == (ultra.limits.iops, ultra.limits.bytes_per_s)
        == (10_000, 250_000_000)
    )
    reads, writes, mixed = loads
    assert reads.dataset.parameters == {"tables": 30, "table_size": 15_000_000}
    assert (reads.threads, writes.threads, reads.loader_threads) == (60, 24, 10)
    assert (reads.warmup_s, reads.measure_s) == (300.0, 1800.0)
    assert (mixed.dataset.parameters["warehouses"], mixed.threads) == (2000, 600)
    assert all(profile.cluster.nodes == 3 for profile in found)


def test_a_load_writes_and_is_warmed_and_does_not_settle_unless_it_says_so() -> None:
    text = (
        "title: a load\ngenerator: sysbench\nscript: oltp_insert\ndataset: sysbench\n"
        "scales:\n  smoke: {threads: 1, warmup: 1s, measure: 10s, dataset: {tables: 1}}\n"
    )
    load = read_workload("x", text, "smoke")
    assert (load.writes, load.warm, load.settle) == (True, True, False)
    other = text + "writes: false\nwarm: false\nsettle: true\n"
    load = read_workload("x", other, "smoke")
    assert (load.writes, load.warm, load.settle) == (False, False, True)


@pytest.mark.parametrize(
    ("key", "where"),
    [
        ("allow_root_disk", "enforcement: mounted, path: /mnt/b"),
        ("allow_retained_volumes", "enforcement: storage-class, storage_class: fast"),
    ],
)
def test_what_may_cost_somebody_is_not_allowed_unless_the_profile_does(
    key: str, where: str
) -> None:
    def is_allowed(more: str = "") -> bool:
        text = profile_text(f"{{iops: 500, throughput: 10MB/s, {where}{more}}}")
        profile = read_profile("x", text, Nameable({"small": CLUSTER}), "smoke")
        return bool(getattr(profile.tier.disk, key))

    assert (is_allowed(), is_allowed(f", {key}: true")) == (False, True)


def test_all_mistakes_are_shown_at_once_with_their_paths() -> None:
    found = mistakes_of(profile_text("{iops: -3, throughput: 60, fast: yes}"))
    assert {mistake.where for mistake in found} == {
        "profiles/x.yaml: tier.iops",
        "profiles/x.yaml: tier.throughput",
        "profiles/x.yaml: tier.fast",
    }
    assert "unknown key" in {mistake.what for mistake in found}


def test_a_name_in_another_case_is_the_one_that_is_meant() -> None:
    said = refusals.unknown("tier", "azure/p30", ["azure/S30", "azure/P30", "azure/P3"])
    assert "; did you mean azure/P30? known" in said


@pytest.mark.parametrize(("text", "where", "what"), MISTAKES)
def test_a_mistake_says_where_and_what(text: str, where: str, what: str) -> None:
    (first, *_) = mistakes_of(text)
    assert where in first.where
    assert what in first.what


def test_an_unknown_scale_names_the_known_ones() -> None:
    (only,) = mistakes_of(profile_text(), scale="huge")
    assert only.what == "unknown scale 'huge'; known: smoke"


def test_more_replicas_than_nodes_is_refused() -> None:
    cluster = CLUSTER.replace("replication_factor: 3", "replication_factor: 5")
    with pytest.raises(UsageError) as raised:
        read_profile("x", profile_text(), Nameable({"small": cluster}), "smoke")
    assert "above `nodes`" in raised.value.mistakes[0].what


def test_mistakes_of_several_files_come_together(tmp_path: Path) -> None:
    (tmp_path / "profiles" / "clusters").mkdir(parents=True)
    (tmp_path / "workloads").mkdir()
    (tmp_path / "profiles" / "bad.yaml").write_text("title: 1\n")
    with pytest.raises(UsageError) as raised:
        project_files.read(tmp_path, ["bad", "absent"], ["none"], "smoke")
    places = [mistake.where for mistake in raised.value.mistakes]
    assert "profiles/bad.yaml: tier" in places
    assert any("unknown profile 'absent'" in one.what for one in raised.value.mistakes)
    assert any("unknown workload 'none'" in one.what for one in raised.value.mistakes)


def test_a_workload_scale_may_override_options() -> None:
    text = """
title: t
generator: sysbench
script: s.lua
dataset: tpcc
options: {think: none}
scales:
  smoke: {dataset: {warehouses: 1}, threads: 1, warmup: 1s, measure: 2s, options: {think: spec}}
"""
    workload = read_workload("w", text, "smoke")
    assert workload.options == {"think": "spec"}
    assert workload.dataset.parameters == {"warehouses": 1}


SCALES = """
title: t
generator: sysbench
script: s.lua
dataset: tpcc
scales:
  smoke: &smoke {dataset: {warehouses: 1}, threads: 1, warmup: 1s, measure: 2s}
  laptop: {dataset: {warehouses: 1}, threads: 1, warmup: 1s, measure: 2s}
  study: *smoke
"""


@pytest.mark.parametrize(
    ("asked", "name"), [("smoke", "smoke"), ("laptop", "laptop"), ("study", "smoke")]
)
def test_a_scale_goes_by_anothers_name_only_if_it_is_its_alias(
    asked: str, name: str
) -> None:
    assert read_workload("w", SCALES, asked).scale == name


def test_the_nodes_disk_must_fit_on_the_one_that_is_bought() -> None:
    catalog = project_files.catalog(ROOT)
    cluster = CLUSTER.replace("2GiB", "300GiB")
    with pytest.raises(UsageError) as raised:
        read_profile(
            "x",
            profile_text("azure/P15"),
            Nameable({"small": cluster}, catalog),
            "smoke",
        )
    (mistake,) = raised.value.mistakes
    assert mistake.where == "profiles/x.yaml: cluster.node.smoke.disk"
    assert mistake.what.startswith("300 GiB do not fit on the tier's disk of 256 GiB")
    profile = read_profile(
        "x", profile_text("azure/P20"), Nameable({"small": cluster}, catalog), "smoke"
    )
    assert profile.tier.limits.iops == 2300


def test_two_files_of_one_name_are_refused_and_both_are_named(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "disk.yaml").write_text(
            (ROOT / "profiles/ultra.yaml").read_text()
        )
    one, other = (str(tmp_path / folder / "disk.yaml") for folder in ("a", "b"))
    with pytest.raises(
        UsageError, match="'disk' is the name of two profiles"
    ) as raised:
        project_files.read(ROOT, [one, other], ["insert"], "smoke")
    assert one in raised.value.what
    assert other in raised.value.what


def test_a_profile_and_a_file_of_its_name_are_refused(tmp_path: Path) -> None:
    copy = tmp_path / "ultra.yaml"
    copy.write_text((ROOT / "profiles/premium.yaml").read_text())
    with pytest.raises(UsageError, match="two profiles") as raised:
        project_files.read(ROOT, ["ultra", str(copy)], ["insert"], "smoke")
    assert str(ROOT / "profiles/ultra.yaml") in raised.value.what
    assert str(copy) in raised.value.what


def test_two_workload_files_of_one_name_are_refused(tmp_path: Path) -> None:
    copy = tmp_path / "insert.yaml"
    copy.write_text((ROOT / "workloads/point-select.yaml").read_text())
    with pytest.raises(UsageError, match="two workloads") as raised:
        project_files.read(ROOT, ["ultra"], ["insert", str(copy)], "smoke")
    assert str(copy) in raised.value.what


@pytest.mark.parametrize(
    ("profiles", "workloads", "what"),
    [
        (["ultra", "premium", "ultra"], ["insert"], "profile 'ultra' is named twice"),
        (["ultra"], ["insert", "insert"], "workload 'insert' is named twice"),
    ],
)
def test_a_name_given_twice_is_refused(
    profiles: list[str], workloads: list[str], what: str
) -> None:
    with pytest.raises(UsageError, match=what) as raised:
        project_files.read(ROOT, profiles, workloads, "smoke")
    assert "--repeats" in raised.value.advice


@pytest.mark.parametrize(
    ("written", "snapshots"),
    [
        ("copy", Snapshots("copy")),
        ("none", Snapshots("none")),
        ("{path: /mnt/other}", Snapshots("elsewhere", path="/mnt/other")),
        ("{save: a | b, restore: c}", Snapshots("command", save="a | b", restore="c")),
    ],
)
def test_how_snapshots_are_kept(written: str, snapshots: Snapshots) -> None:
    """Of a tier of its own numbers, and of one that names a row of the catalog."""
    real = f"enforcement: mounted, path: /mnt/x, snapshots: {written}"
    for tier in (f"{{{real}}}", f"{{type: aws/i4i.large-nvme, {real}}}"):
        text = profile_text(tier)
        read = read_profile(
            "x",
            text,
            Nameable({"small": CLUSTER}, project_files.catalog(ROOT)),
            "smoke",
        )
        assert read.tier.disk.snapshots == snapshots


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("sometimes", "'copy' or 'none'"),
        ("reflink", "write `copy`"),
        ("{way: reflink}", "write `copy`"),
        ("{save: a}", "`save` and `restore` belong together"),
        ("{path: /mnt/other, save: a, restore: b}", "give `copy`"),
        ("{}", "give `copy`"),
        ("{paths: /mnt/other}", "unknown key"),
    ],
)
def test_snapshots_that_cannot_be_meant(written: str, words: str) -> None:
    found = mistakes_of(
        profile_text(f"{{enforcement: mounted, path: /mnt/x, snapshots: {written}}}")
    )
    assert "tier.snapshots" in found[0].where and words in found[0].what
    (mistake,) = mistakes_of(
        profile_text("{iops: 9, throughput: 1MB/s, snapshots: copy}")
    )
    assert (
        mistake.where.endswith("snapshots")
        and "belongs to `enforcement: mounted`" in mistake.what
    )


@pytest.mark.parametrize("key", ["network: 100Mbit", "client: beside"])
def test_a_key_of_nodes_that_are_started_is_refused_on_those_of_others(
    key: str,
) -> None:
    others = (
        "database: existing\nreplication_factor: 1\nexisting: {hosts: db.example}\n"
    )
    text = profile_text("{enforcement: existing}", "{}")
    words = f"`{key.partition(':')[0]}` applies to nodes that tierbench starts"
    for cluster, refused in ((others + key, True), (others, False)):
        try:
            read_profile(
                "x",
                text.replace("cluster: {}", "cluster: of"),
                Nameable({"of": cluster}),
                "smoke",
            )
            found = ""
        except UsageError as error:
            found = repr(error.mistakes)
        assert (words in found) == refused, found


def test_a_misspelt_key_hides_no_key_that_is_missing_elsewhere() -> None:
    text = profile_text("{iops: 5, throughput: 60MB/s, titel: x}").replace(
        "title:", "heading:"
    )
    said = {
        mistake.where.partition(": ")[2]: mistake.what for mistake in mistakes_of(text)
    }
    assert said["title"] == "this key is missing"
    assert said["tier.titel"] == "unknown key"
