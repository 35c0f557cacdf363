"""The disks of a tier as the report shows them: real ones as found, the way to emulated ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.measure import concluding
from orchestrator.planning import project_files
from orchestrator.planning.profiles import Nameable, read_profile
from orchestrator.report.sections.disks import HELD_BY
from orchestrator.tier import BOTH_DISKS, DiskKind, Gate, GateCheck, Limits
from tests import ROOT
from tests.campaigns import build_campaign, with_tier
from tests.plans import profile_text

DISKS = {
    "/mnt/p15-a": {
        "used_by": ["node-1"],
        "device": "dm-0",
        "made_of": "LVM volume vg-data of sdc, sdd",
        "size_bytes": 2**38,
        "file_system": "xfs",
        "mount_options": "rw,noatime",
        "scheduler": "none",
        "read_ahead_bytes": 4 * 2**20,
        "rotational": False,
        "model": "Virtual Disk",
        "serial": "600224",
    },
    "/mnt/wal": {"used_by": ["node-1's WAL"], "device": "sde", "size_bytes": 2**35},
}
CLOUD = {
    "disks": {"/mnt/p15-a": {"sdc": {"type": "Premium_LRS", "caching": "ReadOnly"}}}
}


def shown(campaign: Results, folder: Path) -> str:
    text = concluding.write_report(
        campaign, judge(campaign), folder
    ).markdown.read_text(encoding="utf-8")
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\\_", "_")


def test_each_kind_of_disk_has_its_words() -> None:
    """A kind without them would be met when a report is made."""
    assert HELD_BY.keys() == set(get_args(DiskKind))


def test_disks_as_found_and_the_gate_of_each(tmp_path: Path) -> None:
    campaign = build_campaign(workloads=["point-select"], frames=False)
    (first, *others) = campaign.runs
    checks = tuple(
        GateCheck("IOPS", "1/s", 1100, 1100, 5.0, "ok", disk=disk)
        for disk in ("node-1 (/mnt/p15-a)", "node-1's WAL (/mnt/wal)")
    )
    device = {"disks": {"/mnt/p15-a": {"host_cache": "shows"}}}
    gate = Gate(first.record.profile.tier.name, 4e9, checks, device)  # the newest
    facts = {**first.record.facts, "tier": {"disks": DISKS, "cloud": CLOUD}}
    runs = (
        replace(first, record=replace(first.record, facts=facts, gate=gate)),
        *others,
    )
    text = shown(replace(campaign, runs=runs), tmp_path)
    (row,) = [
        line for line in text.splitlines() if "LVM volume" in line and "|" in line
    ]
    for part in ("node-1", "/mnt/p15-a", "dm-0", "256 GiB", "xfs", "rw,noatime", "4 MiB", "no",
                 "Virtual Disk", "600224", "shows", "Premium_LRS", "ReadOnly"):  # fmt: skip
        assert part in row, part
    assert "node-1's WAL" in text and "node-1 (/mnt/p15-a)" in text


def test_no_table_without_real_disks(tmp_path: Path) -> None:
    assert "As found" not in shown(build_campaign(frames=False), tmp_path)


def test_what_the_way_to_emulated_disks_cost(tmp_path: Path) -> None:
    campaign = build_campaign(workloads=["point-select"], frames=False)
    (first, *others) = campaign.runs
    read = {"ios": 9_000, "device_us": 330.0, "served_us": 230.0, "overhead_us": 100.0}
    disks = {
        f"disk-node-{number}": {
            "overhead": {
                "queue_depth": number / 2,
                "read": {**read, "overhead_us": cost_us},
            }
        }
        for number, cost_us in ((1, 79.0), (2, 100.0))
    }
    taken_off = {"disk-node-1": {"read": 70.0}, "disk-node-2": {"read": 72.5}}
    facts = {**first.record.facts, "tier": {"overhead_us": taken_off}, "disks": disks}
    runs = (replace(first, record=replace(first.record, facts=facts)), *others)
    lines = shown(replace(campaign, runs=runs), tmp_path).splitlines()
    (row,) = [line for line in lines if "70 to 72.5" in line]
    assert (
        "reads" in row
        and "79 to 100" in row
        and "+9.1 %" in row
        and "0.500 to 1" in row
    )


def test_no_table_of_overheads_without_disks_of_ours(tmp_path: Path) -> None:
    assert "Overhead of emulation" not in shown(build_campaign(frames=False), tmp_path)


def test_an_emulated_log_is_no_real_disk(tmp_path: Path) -> None:
    campaign = build_campaign(workloads=["point-select"], frames=False)
    profiles = []
    for profile in campaign.plan.profiles:
        log = replace(profile.tier, title="a log's disk")
        profiles.append(replace(profile, tier=replace(profile.tier, wal=log)))
    plan = replace(campaign.plan, profiles=tuple(profiles))
    text = shown(replace(campaign, plan=plan), tmp_path)
    assert text.count("for WAL: emulated block device |") == len(profiles)
    assert "for WAL: real disk" not in text


def test_a_limit_that_all_disks_share_is_declared_beside_that_of_each(
    tmp_path: Path,
) -> None:
    campaign = build_campaign(workloads=["point-select"], frames=False)
    shared = Limits(2_000, 40_000_000)
    profiles = tuple(
        replace(profile, tier=replace(profile.tier, shared=shared))
        if profile.name == "ultra"
        else profile
        for profile in campaign.plan.profiles
    )
    text = shown(
        replace(campaign, plan=replace(campaign.plan, profiles=profiles)), tmp_path
    )
    (row,) = [line for line in text.splitlines() if "all disks together" in line]
    assert "| 2,000 | 40 MB/s |" in row


def test_what_a_machine_lets_through_of_data_and_log_is_declared_and_checked(
    tmp_path: Path,
) -> None:
    """From a profile with `wal` and `vm`, as a DBA writes it, to the page."""
    cluster = (ROOT / "profiles/clusters/azure-d8s-v5.yaml").read_text()
    catalog = project_files.catalog(ROOT)
    written = profile_text("{type: azure/P15, wal: azure/P30}")
    tier = read_profile(
        "x", written, Nameable({"small": cluster}, catalog), "smoke"
    ).tier
    campaign = build_campaign(
        profiles=["premium"], workloads=["point-select"], frames=False
    )
    (first, *others) = campaign.runs
    check = GateCheck(
        "bandwidth, 256 KiB random read, 2 disks at once",
        "bytes/s",
        290e6,
        289e6,
        5.0,
        "ok",
        "shared_bandwidth",
        disk=BOTH_DISKS,
    )
    gate = Gate("premium", 4e9, (check,))
    runs = (replace(first, record=replace(first.record, gate=gate)), *others)
    campaign = with_tier(
        replace(campaign, runs=runs), wal=tier.wal, machine=tier.machine
    )
    text = shown(campaign, tmp_path)
    (row,) = [line for line in text.splitlines() if "of both disks together" in line]
    assert "| 290 MB/s |" in row and "azure/Standard_D8s_v5" in row
    assert BOTH_DISKS in text and "2 disks at once" in text
