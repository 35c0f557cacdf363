"""What a provider kept of a campaign's disks is given to `analyze` afterwards, up to the page."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.results import measured_window
from orchestrator.cli.main import exit_code
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE, EXIT_INCONCLUSIVE, EXIT_USAGE
from orchestrator.extensions.observe import observation_results
from orchestrator.extensions.observe.histories import prometheus
from orchestrator.keys import shipped_yaml
from orchestrator.model import Node, Profile, Record
from orchestrator.system import campaign_writing, store
from orchestrator.tier import (
    ClassVolumes,
    ClassWanted,
    Emulated,
    NodeDisks,
    RealDisks,
)
from tests.campaign_tables import Shape, sampled_in
from tests.campaigns import build_campaign, build_tier
from tests.documented import examples

# Well below each cap of its tier, so that nothing but the report names a limit.
BELOW_CAPS = Shape(184.0, 400.0, 100.0, await_s=0.006, cpu_pct=26.0)
NODE = "node-1"
AMOUNTS = {
    "Data Disk Read Operations/Sec": 400.0,
    "Data Disk Write Operations/Sec": 100.0,
    "Data Disk Read Bytes/sec": 3_276_800.0,
    "Data Disk Write Bytes/sec": 819_200.0,
}
IDLE = {
    "Data Disk IOPS Consumed Percentage": 46.0,
    "Data Disk Bandwidth Consumed Percentage": 20.0,
}
MACHINE = {
    "VM Uncached IOPS Consumed Percentage": 100.0,
    "VM Uncached Bandwidth Consumed Percentage": 30.0,
}


Facts = Callable[[Record], Mapping[str, Any]]
REAL = RealDisks(path="/mnt/disk")


def stored(
    results: Path,
    *profiles: str,
    disk: Emulated | RealDisks | ClassVolumes = REAL,
    count: int = 1,
    catalog_type: str = "",
    tier_facts: Facts | None = None,
    command: str = "",
    machines: Sequence[str] = (),
    devices: Sequence[str | None] = (),
) -> Path:
    """A campaign of one run of each tier, as it is stored. count: disks that are striped to one.
    tier_facts: what a record says of the disks. command: with which it was measured. machines: of
    the database nodes; empty: as the campaign's records have them. devices: of their data."""
    campaign = build_campaign(
        profiles=profiles,
        workloads=("insert",),
        repetitions=1,
        measure_s=300.0,
        shapes=dict.fromkeys([(name, "insert") for name in profiles], BELOW_CAPS),
    )

    def on_disk(profile: Profile) -> Profile:
        origin = replace(profile.tier.origin, catalog_type=catalog_type)
        tier = replace(profile.tier, disk=disk, count=count, origin=origin)
        return replace(profile, tier=tier)

    profiles_on_disk = tuple(map(on_disk, campaign.plan.profiles))
    plan = replace(campaign.plan, profiles=profiles_on_disk)
    fingerprint = dict(campaign.fingerprint)
    if command:
        fingerprint["command"] = command
    where = campaign_writing.create(results, plan, fingerprint, 1_750_000_000.0)
    for run in campaign.runs:
        record = replace(run.record, profile=on_disk(run.record.profile))
        if tier_facts is not None:
            facts = {**record.facts, "tier": tier_facts(record)}
            record = replace(record, facts=facts)
        if machines:
            placed = _on_machines(record, machines, devices)
            record = replace(record, nodes=placed)
        run_folder = campaign_writing.run_folder(where, record.run)
        transactions = run.transactions()
        campaign_writing.save_run(
            run_folder, record, run.intervals, transactions, [sampled_in(run)]
        )
    return where


def _on_machines(
    record: Record, machines: Sequence[str], devices: Sequence[str | None]
) -> tuple[Node, ...]:
    """Its nodes, with a database node on each of the machines in place of its first."""
    (first,) = [node for node in record.nodes if node.name == NODE]
    nodes = [node for node in record.nodes if node.role != first.role]
    of_all = devices or [first.device] * len(machines)
    for number, (machine, device) in enumerate(
        zip(machines, of_all, strict=True), start=1
    ):
        name = f"node-{number}"
        nodes.append(replace(first, name=name, machine=machine, device=device))
    return tuple(nodes)


@pytest.fixture(scope="module")
def as_stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of one tier. Tests change copies of it alone."""
    return stored(tmp_path_factory.mktemp("results"), "premium")


@pytest.fixture
def folder(as_stored: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(as_stored, tmp_path / "results" / as_stored.name))


def minutes_of(folder: Path) -> pd.DatetimeIndex:
    """Each minute around the measured window."""
    windows = [measured_window(run.record) for run in store.load(folder).runs]
    begin_s = min(window[0] for window in windows if window is not None)
    end_s = max(window[1] for window in windows if window is not None)
    begin = pd.Timestamp(begin_s - 120, unit="s", tz="UTC").floor("min")
    end = pd.Timestamp(end_s + 120, unit="s", tz="UTC")
    return pd.date_range(begin, end, freq="min")


def of_azure(
    folder: Path,
    values: Mapping[str, float],
    luns: Sequence[str] = ("0",),
    machine: str = NODE,
    shift: str = "0s",
) -> Path:
    """An answer of `az monitor metrics list`; without `luns` one of a machine."""
    dimensions: list[list[Any]] = []
    for lun in luns:
        dimensions.append([{"name": {"value": "lun"}, "value": lun}])
    moments = minutes_of(folder) + pd.Timedelta(shift)
    metrics = []
    for name, value in values.items():
        data = []
        for moment in moments:
            data.append({"timeStamp": moment.isoformat(), "average": value})
        series = [
            {"metadatavalues": dimension, "data": data}
            for dimension in dimensions or [[]]
        ]
        resource = f"Microsoft.Compute/virtualMachines/{machine}"
        metric_id = f"/subscriptions/0/providers/{resource}/providers/x/metrics/{name}"
        metrics.append({"id": metric_id, "name": {"value": name}, "timeseries": series})
    file = folder.parent / f"{machine}-{len(values)}-{'-'.join(luns)}.json"
    file.write_text(json.dumps({"interval": "PT1M", "value": metrics}))
    return file


def analyzed(folder: Path, *words: str) -> int:
    return exit_code(["analyze", str(folder), *words], CampaignApp())


def given(*files: Path) -> list[str]:
    words = []
    for file in files:
        words += ["--disk-metrics", str(file)]
    return words


def text_of(folder: Path) -> str:
    return (folder / "report.md").read_text().replace("\xa0", " ")


def test_what_azure_monitor_kept_of_a_machine_is_the_cause_on_the_page(
    folder: Path,
) -> None:
    """As docs/SOURCES.md has it: the disks in one file, their machine in another."""
    assert "tierbench analyze" in "".join(examples("SOURCES.md", "In a campaign", "sh"))
    assert analyzed(folder) == EXIT_DONE
    assert "by its provider's report" not in text_of(folder)
    disks = of_azure(folder, {**AMOUNTS, **IDLE})
    machine = of_azure(folder, MACHINE, luns=())
    assert analyzed(folder, *given(disks, machine)) == EXIT_DONE
    text = text_of(folder)
    assert (
        "The machine of node-1 held its disk back: by its provider's report its IOPS limit was "
        "exceeded 100 % of the time" in text
    )
    verdict = json.loads((folder / "verdict.json").read_text())
    (bottleneck,) = verdict["bottlenecks"]
    assert bottleneck["evidence"]["disk_iops_limit_reached_pct"] == 0
    assert bottleneck["evidence"]["machine_iops_limit_reached_pct"] == 100
    # It is kept, with the files as they were given.
    kept = sorted((folder / "disk-metrics" / "given").iterdir())
    assert [file.read_bytes() for file in kept] == [
        disks.read_bytes(),
        machine.read_bytes(),
    ]
    assert analyzed(folder) == EXIT_DONE
    assert text_of(folder) == text


def test_what_was_given_before_is_replaced(folder: Path) -> None:
    machine = of_azure(folder, MACHINE, luns=())
    assert (
        analyzed(folder, *given(of_azure(folder, {**AMOUNTS, **IDLE}), machine))
        == EXIT_DONE
    )
    idle = of_azure(folder, {**AMOUNTS, **IDLE})
    assert analyzed(folder, *given(idle)) == EXIT_DONE
    assert "held its disk back" not in text_of(folder)
    assert len(list((folder / "disk-metrics" / "given").iterdir())) == 1


# Growth a second of each metric of the EBS CSI driver, by its column.
DRIVER_RATES = {
    "reads": 400.0,
    "writes": 100.0,
    "read_bytes": 3_276_800.0,
    "written_bytes": 819_200.0,
    "iops_over_s": 0.0,
    "bandwidth_over_s": 0.0,
    "machine_iops_over_s": 0.8,
    "machine_bandwidth_over_s": 0.0,
}
VOLUME = "vol-0123456789abcdef0"


def prometheus_with_driver(
    url: str, timeout_s: float, question: Mapping[str, Any]
) -> Any:
    """A server that scrapes the driver every 15 s, at any time that is asked for."""
    metric, _, rest = question["query"].partition("{")
    column = shipped_yaml.shipped(prometheus.__package__, "names.yaml")["ebs_driver"][
        metric
    ]
    length_s = float(rest.rpartition("[")[2].removesuffix("s]"))
    end_s = question["time"]
    values = []
    for scraped_s in np.arange(end_s - length_s, end_s, 15.0).tolist():
        values.append([scraped_s, str(DRIVER_RATES[column] * scraped_s)])
    labels = {"__name__": metric, "volume_id": VOLUME, "instance_id": "i-1"}
    return {
        "status": "success",
        "data": {"result": [{"metric": labels, "values": values}]},
    }


def test_what_the_driver_of_ebs_volumes_counted_is_the_cause_on_the_page(
    folder: Path,
) -> None:
    """By the readings that `tierbench observe --prometheus` keeps of it."""
    moments = minutes_of(folder)
    begin_s = moments[0].timestamp()
    end_s = moments[-1].timestamp()
    read = prometheus.read(
        "http://prom:9090", "", VOLUME, begin_s, end_s, prometheus_with_driver
    )
    observation = folder.parent / "observed"
    observation_results.keep_readings(observation, read)
    named = ("--disk", f"node-1={VOLUME}")
    assert analyzed(folder, *given(observation), *named) == EXIT_DONE
    assert (
        "The machine of node-1 held its disk back: by its provider's report its IOPS limit was "
        "exceeded 80 % of the time" in text_of(folder)
    )


def test_files_that_are_kept_already_may_be_given_again(folder: Path) -> None:
    """As with other words for --disk."""
    disks = of_azure(folder, {**AMOUNTS, **IDLE})
    assert analyzed(folder, *given(disks)) == EXIT_DONE
    kept = folder / "disk-metrics" / "given"
    assert analyzed(folder, *given(kept), "--disk", "node-1=lun0") == EXIT_DONE
    (file,) = kept.iterdir()
    assert file.read_bytes() == disks.read_bytes()


@pytest.mark.parametrize(
    ("luns", "machine", "shift", "words", "what"),
    [
        (("0",), "db-9", "0s", (), "which disk is whose is not known of db-9/lun0"),
        (
            ("0", "1"),
            NODE,
            "0s",
            (),
            "premium/node-1 may be node-1/lun0 and node-1/lun1",
        ),
        (("0",), NODE, "1h", (), "when no run was made"),
        (("0",), NODE, "0s", ("--disk", "node-1=lun7"), "the files have no disk lun7"),
        (("0",), NODE, "0s", ("--disk", "db-1=lun0"), "has no node premium/db-1"),
        (("0",), NODE, "0s", ("--disk", "lun0"), "does not name a disk"),
    ],
)
def test_what_is_of_no_node_or_no_run_is_refused(
    folder: Path,
    luns: Sequence[str],
    machine: str,
    shift: str,
    words: Sequence[str],
    what: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = of_azure(folder, {**AMOUNTS, **IDLE}, luns, machine, shift)
    assert analyzed(folder, *given(file), *words) == EXIT_USAGE
    assert what in " ".join(capsys.readouterr().err.split())
    assert not (folder / "disk-metrics").exists()


def test_files_without_limits_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert analyzed(folder, *given(of_azure(folder, AMOUNTS))) == EXIT_USAGE
    assert "report of no limit" in capsys.readouterr().err


def test_a_disk_without_files_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert analyzed(folder, "--disk", "node-1=lun0") == EXIT_USAGE
    assert "--disk-metrics" in capsys.readouterr().err


def test_a_disk_of_two_is_named(folder: Path) -> None:
    disks = of_azure(folder, {**AMOUNTS, **IDLE}, ("0", "1"))
    machine = of_azure(folder, MACHINE, luns=())
    named = ("--disk", "node-1=node-1/lun1")
    assert analyzed(folder, *given(disks, machine), *named) == EXIT_DONE
    assert "held its disk back" in text_of(folder)


def test_a_machine_is_its_node_in_letters_of_either_size(folder: Path) -> None:
    """As Azure takes names."""
    disks = of_azure(folder, {**AMOUNTS, **IDLE}, machine="NODE-1")
    assert analyzed(folder, *given(disks)) == EXIT_DONE
    assert (folder / "disk-metrics" / "given").exists()


# ------------------------------------------------------------------ several tiers, several volumes


def with_reports(folder: Path) -> list[str]:
    """Runs of which something is reported."""
    return sorted(file.stem for file in (folder / "disk-metrics").glob("*.parquet"))


def test_a_disk_is_not_taken_for_that_of_another_tier(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both tiers' disks are beside one another on the same machines."""
    folder = stored(tmp_path / "results", "premium", "ultra")
    disks = of_azure(folder, {**AMOUNTS, **IDLE})
    files = given(disks, of_azure(folder, MACHINE, luns=()))
    assert analyzed(folder, *files) == EXIT_USAGE
    assert "--disk premium/node-1=" in capsys.readouterr().err
    assert analyzed(folder, *files, "--disk", "node-1=lun0") == EXIT_USAGE
    assert "--disk premium/node-1=lun0" in capsys.readouterr().err
    assert analyzed(folder, *files, "--disk", "premium/node-1=lun0") == EXIT_DONE
    assert with_reports(folder) == ["01-premium-insert-r1"]


def of_lun(record: Record) -> Mapping[str, Any]:
    """As Azure's metadata service tells of mounted disks."""
    lun = {"premium": 0, "ultra": 1}[record.run.profile]
    disk = {"used_by": [NODE], "device": "sdc"}
    answers = {"/mnt/disk": {"sdc": {"lun": lun, "type": "Premium_LRS"}}}
    return {"disks": {"/mnt/disk": disk}, "cloud": {"disks": answers}}


def of_rented(record: Record) -> Mapping[str, Any]:
    """As a PersistentVolume names the volume that a run has rented."""
    handle = f"vol-{record.run.number}"
    return {"disks": {NODE: {"used_by": [NODE], "made_of": handle}}}


def of_serial(record: Record) -> Mapping[str, Any]:
    """As the device of an EBS volume has its name."""
    answers = {"/mnt/disk": {"nvme1n1": {"volume": f"vol{record.run.number}"}}}
    disk = {"used_by": ["all nodes"], "device": "nvme1n1"}
    return {"disks": {"/mnt/disk": disk}, "cloud": {"disks": answers}}


def test_a_lun_that_is_recorded_is_found_by_itself(tmp_path: Path) -> None:
    folder = stored(tmp_path / "results", "premium", "ultra", tier_facts=of_lun)
    disks = of_azure(folder, {**AMOUNTS, **IDLE}, luns=("1", "2"))
    machine = of_azure(folder, MACHINE, luns=())
    assert analyzed(folder, *given(disks, machine)) == EXIT_DONE
    assert with_reports(folder) == ["02-ultra-insert-r1"]


def of_volumes(folder: Path, *volumes: str) -> Path:
    """A CSV of volumes, all on one machine whose limit is reached."""
    lines = [
        "begin,end,node,device,reads,writes,read_bytes,written_bytes,iops_over_s,"
        "bandwidth_over_s,machine_iops_over_s,machine_bandwidth_over_s"
    ]
    for moment in minutes_of(folder):
        begin_s = moment.timestamp()
        place = f"{begin_s:.0f},{begin_s + 60:.0f},i-1"
        for volume in volumes:
            lines.append(f"{place},{volume},24000,6000,200000000,50000000,0,0,48,0")
    file = folder.parent / "volumes.csv"
    file.write_text("\n".join(lines))
    return file


@pytest.mark.parametrize("tier_facts", [of_rented, of_serial])
def test_a_volume_that_is_recorded_is_found_by_itself(
    tmp_path: Path, tier_facts: Facts
) -> None:
    """On Kubernetes each run rents its own."""
    folder = stored(tmp_path / "results", "premium", "ultra", tier_facts=tier_facts)
    file = of_volumes(folder, "vol-2", "vol-3")
    assert analyzed(folder, *given(file)) == EXIT_DONE
    assert with_reports(folder) == ["02-ultra-insert-r1"]


def test_what_is_below_an_emulated_disk_is_not_its_tiers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    emulated = build_tier("premium").disk
    assert isinstance(emulated, Emulated)
    folder = stored(tmp_path / "results", "premium", disk=emulated)
    file = of_azure(folder, {**AMOUNTS, **IDLE})
    assert analyzed(folder, *given(file)) == EXIT_USAGE
    assert "has no run on disks of a provider" in capsys.readouterr().err


def test_runs_without_nodes_have_no_disk(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of them failed before their databases had started."""
    file = of_azure(folder, {**AMOUNTS, **IDLE})
    for record in folder.glob("runs/*/record.json"):
        content = json.loads(record.read_text())
        record.write_text(json.dumps({**content, "nodes": []}))
    assert analyzed(folder, *given(file)) == EXIT_USAGE
    assert "came as far as its database's nodes" in capsys.readouterr().err


def test_of_a_disk_without_a_report_of_limits_nothing_is_kept(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Metrics of limits were asked for of one machine alone, and of the other its I/Os."""
    with_limits = of_azure(folder, {**AMOUNTS, **IDLE})
    without = of_azure(folder, AMOUNTS, machine="node-2")
    assert analyzed(folder, *given(with_limits, without)) == EXIT_DONE
    (samples,) = (folder / "disk-metrics").glob("*.parquet")
    assert set(pd.read_parquet(samples)["node"]) == {f"{NODE}/lun0"}
    warned = " ".join(capfd.readouterr().err.split())
    assert "the files report of no limit of node-2/lun0: ask for the metrics" in warned


# ------------------------------------------------------------------ several disks of a node

AT_LIMIT = {**IDLE, "Data Disk IOPS Consumed Percentage": 100.0}
WITH_LOG = RealDisks(disks={"node-{n}": NodeDisks("/mnt/data{n}", wal="/mnt/log{n}")})


def evidence_of(folder: Path) -> Mapping[str, float]:
    (bottleneck,) = json.loads((folder / "verdict.json").read_text())["bottlenecks"]
    return dict(bottleneck["evidence"])


def given_as_documented(folder: Path, *files: Path) -> int:
    """The command of docs/SOURCES.md for several disks, with these files."""
    (command,) = [
        line
        for line in "".join(examples("SOURCES.md", "In a campaign", "sh")).splitlines()
        if ".wal=" in line
    ]
    words = command.replace("\\", "").split()
    named = [word for word in words if "=" in word]
    disks: list[str] = []
    for name in named:
        disks += ["--disk", name]
    return analyzed(folder, *given(*files), *disks)


def test_of_striped_disks_the_one_at_its_limit_holds_back_the_other(
    tmp_path: Path,
) -> None:
    folder = stored(tmp_path / "results", "premium", count=2)
    idle = of_azure(folder, {**AMOUNTS, **IDLE}, ("0",))
    full = of_azure(folder, {**AMOUNTS, **AT_LIMIT}, ("1",))
    machine = of_azure(folder, MACHINE, luns=())
    assert analyzed(folder, *given(idle, full, machine)) == EXIT_DONE
    evidence = evidence_of(folder)
    assert evidence["disk_iops_limit_reached_pct"] == 100
    # The machine has one limit for both, which is not the sum of two reports.
    assert evidence["machine_iops_limit_reached_pct"] == 100
    assert evidence["machine_bandwidth_limit_reached_pct"] == 0
    rows = [line for line in text_of(folder).splitlines() if "node-1/lun" in line]
    assert [row.split(" | ")[2:4] for row in rows] == [
        ["node-1/lun0", "0 %"],
        ["node-1/lun1", "100 %"],
    ]


def test_a_stripe_of_which_a_disk_is_missing_is_told_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = stored(tmp_path / "results", "premium", count=2)
    assert analyzed(folder, *given(of_azure(folder, {**AMOUNTS, **IDLE}))) == EXIT_DONE
    warned = " ".join(capfd.readouterr().err.split())
    assert "the files have 1 of the 2 disks of premium/node-1" in warned


def test_a_disk_that_is_named_in_two_ways_is_one(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = stored(tmp_path / "results", "premium", count=2)
    file = of_azure(folder, {**AMOUNTS, **AT_LIMIT})
    named = ("--disk", "node-1=lun0", "--disk", "node-1=node-1/lun0")
    assert analyzed(folder, *given(file), *named) == EXIT_DONE
    warned = " ".join(capfd.readouterr().err.split())
    assert "the files have 1 of the 2 disks of premium/node-1" in warned
    assert evidence_of(folder)["disk_iops_limit_reached_pct"] == 100


def test_the_disks_of_data_and_log_are_named_as_documented(tmp_path: Path) -> None:
    folder = stored(tmp_path / "results", "premium", disk=WITH_LOG)
    data = of_azure(folder, {**AMOUNTS, **IDLE}, ("0", "1"))
    log = of_azure(folder, {**AMOUNTS, **AT_LIMIT}, ("2",))
    assert given_as_documented(folder, data, log) == EXIT_DONE
    evidence = evidence_of(folder)
    assert evidence["disk_iops_limit_reached_pct"] == 0
    assert evidence["wal_iops_limit_reached_pct"] == 100
    text = text_of(folder)
    assert (
        "The WAL's own disk of node-1 was at a limit, as its provider reports" in text
    )
    assert (
        "By its provider's report demand on the WAL's own disk was above its IOPS for 100 % of "
        "the time." in text
    )
    assert "node-1.wal/lun2" in text


def test_a_data_disk_at_its_reported_limit_is_the_cause_and_its_declared_cap_a_question(
    folder: Path,
) -> None:
    """The provider measured it, and the cap is only what the profile claims."""
    data = of_azure(folder, {**AMOUNTS, **AT_LIMIT})
    assert analyzed(folder, *given(data)) == EXIT_DONE
    text = text_of(folder)
    assert (
        "The disk of node-1 was at its IOPS limit 100 % of the time, as its provider reports"
        in text
    )
    assert "I/Os came in bursts, or the limit is below the one declared." in text


def test_a_log_s_disk_is_not_blamed_where_the_data_s_was_at_its_limit_as_long(
    tmp_path: Path,
) -> None:
    folder = stored(tmp_path / "results", "premium", disk=WITH_LOG)
    both = of_azure(folder, {**AMOUNTS, **AT_LIMIT}, ("0", "2"))
    named = ("--disk", "node-1=lun0", "--disk", "node-1.wal=lun2")
    assert analyzed(folder, *given(both), *named) == EXIT_DONE
    evidence = evidence_of(folder)
    assert evidence["disk_iops_limit_reached_pct"] == 100
    assert evidence["wal_iops_limit_reached_pct"] == 100
    text = text_of(folder)
    assert "A larger disk for the WAL would help" not in text
    assert "demand on the WAL's own disk was above its IOPS for 100 %" in text


def test_the_disk_of_the_data_is_not_that_of_the_log_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(tmp_path / "results", "premium", disk=WITH_LOG)
    file = of_azure(folder, {**AMOUNTS, **AT_LIMIT})
    named = ("--disk", "node-1=lun0", "--disk", "node-1.wal=lun0")
    assert analyzed(folder, *given(file), *named) == EXIT_USAGE
    refusal = " ".join(capsys.readouterr().err.split())
    assert "node-1/lun0 is named for the log of premium/node-1" in refusal


@pytest.mark.parametrize("of_second", ["node-2", "node-2.wal"])
@pytest.mark.parametrize(
    ("machines", "is_refused"),
    [(("vm1", "vm2"), True), (("vm1", "vm1"), False), (("", ""), False)],
)
def test_one_volume_is_not_that_of_nodes_on_two_machines(
    of_second: str,
    machines: tuple[str, str],
    is_refused: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On one machine a path may be the disk of all nodes."""
    folder = stored(tmp_path / "results", "premium", disk=WITH_LOG, machines=machines)
    file = of_volumes(folder, "vol-1", "vol-2")
    named = ("--disk", "node-1=vol-1", "--disk", f"{of_second}=vol-1")
    code = analyzed(folder, *given(file), *named)
    if not is_refused:
        assert code == EXIT_DONE
        return
    assert code == EXIT_USAGE
    told = " ".join(capsys.readouterr().err.split())
    assert f"/vol-1 is named for premium/node-1 and premium/{of_second}" in told
    assert f"name another disk: --disk premium/{of_second}=DISK" in told


def test_one_volume_is_not_that_of_two_pods_on_one_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each pod has its own claim, so that one volume's limits would count for both."""
    folder = stored(
        tmp_path / "results",
        "premium",
        disk=ClassVolumes(storage_class=ClassWanted("fast", nodes=2)),
        machines=("vm1", "vm1"),
    )
    file = of_volumes(folder, "vol-1", "vol-2")
    both = ("--disk", "node-1=vol-1", "--disk", "node-2=vol-1")
    assert analyzed(folder, *given(file), *both) == EXIT_USAGE
    refusal = " ".join(capsys.readouterr().err.split())
    assert "which have a volume of their own each" in refusal
    assert "name another disk: --disk premium/node-2=DISK" in refusal
    apart = ("--disk", "node-1=vol-1", "--disk", "node-2=vol-2")
    assert analyzed(folder, *given(file), *apart) == EXIT_DONE


@pytest.mark.parametrize(
    ("devices", "is_refused"),
    [
        (("sdc", "sdd"), True),
        (("sdc", "sdc"), False),
        (("sdc", None), False),
        # Two partitions of a disk, and two volumes that may lie on one.
        (("nvme1n1p1", "nvme1n1p2"), False),
        (("dm-0", "dm-1"), False),
    ],
)
def test_one_disk_is_not_that_of_nodes_whose_devices_are_unlike(
    devices: tuple[str, str | None],
    is_refused: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = stored(
        tmp_path / "results", "premium", machines=("vm1", "vm1"), devices=devices
    )
    file = of_volumes(folder, "vol-1", "vol-2")
    both = ("--disk", "node-1=vol-1", "--disk", "node-2=vol-1")
    code = analyzed(folder, *given(file), *both)
    assert code == (EXIT_USAGE if is_refused else EXIT_DONE)
    assert ("which are on sdc and sdd" in capsys.readouterr().err) is is_refused


def test_which_of_two_disks_is_the_log_s_is_not_guessed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored(tmp_path / "results", "premium", disk=WITH_LOG)
    file = of_azure(folder, {**AMOUNTS, **IDLE})
    assert analyzed(folder, *given(file)) == EXIT_USAGE
    assert "premium/node-1 may be node-1/lun0" in capsys.readouterr().err


def test_a_log_s_disk_that_no_node_has_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = of_azure(folder, {**AMOUNTS, **IDLE})
    assert analyzed(folder, *given(file), "--disk", "node-1.wal=lun0") == EXIT_USAGE
    said = " ".join(capsys.readouterr().err.split())
    assert "premium/node-1 has no disk of its own for the WAL" in said


def of_claims(record: Record) -> Mapping[str, Any]:
    """As Kubernetes' claims of a node's data and log are recorded."""
    return {
        "disks": {
            "data": {"used_by": [NODE], "made_of": "vol-2"},
            "log": {"used_by": [f"{NODE}.wal"], "made_of": "vol-3"},
        }
    }


def of_paths(record: Record) -> Mapping[str, Any]:
    """As paths of a node are recorded, of which one is an array."""
    return {
        "disks": {
            "/mnt/data1": {"used_by": [NODE], "made_of": "raid0 of nvme1n1, nvme2n1"},
            "/mnt/log1": {"used_by": [f"{NODE}'s WAL"]},
        },
        "cloud": {
            "disks": {
                "/mnt/data1": {
                    "nvme1n1": {"volume": "vol1"},
                    "nvme2n1": {"volume": "vol2"},
                },
                "/mnt/log1": {"nvme3n1": {"volume": "vol3"}},
            }
        },
    }


@pytest.mark.parametrize(
    ("tier_facts", "series"),
    [
        (of_claims, {"node-1/vol-2", "node-1.wal/vol-3"}),
        (of_paths, {"node-1/vol-1", "node-1/vol-2", "node-1.wal/vol-3"}),
    ],
)
def test_recorded_disks_of_data_and_log_are_found_by_themselves(
    tmp_path: Path, tier_facts: Facts, series: set[str]
) -> None:
    folder = stored(
        tmp_path / "results", "premium", disk=WITH_LOG, tier_facts=tier_facts
    )
    assert analyzed(folder, *given(of_volumes(folder, "vol-1", "vol-2", "vol-3"))) == (
        EXIT_DONE
    )
    (samples,) = (folder / "disk-metrics").glob("*.parquet")
    assert set(pd.read_parquet(samples)["node"]) == series


# ------------------------------------------------------------------ the next step


def command_of(folder: Path) -> list[str]:
    """The words of the command on the page; none if it has none."""
    for part in text_of(folder).split("`"):
        if "--disk-metrics" in part:
            return shlex.split(part)
    return []


def test_the_page_names_the_command_for_what_azure_kept(tmp_path: Path) -> None:
    """From the page to the page that follows, which does not ask again."""
    folder = stored(tmp_path / "results", "premium", catalog_type="azure/premium-ssd")
    assert analyzed(folder) == EXIT_DONE
    assert "Azure reports of limits. Ask it for the disks' metrics from" in text_of(
        folder
    )
    documented = ["tierbench", "analyze", folder.name, "--disk-metrics", "FILE"]
    assert command_of(folder) == documented
    disks = of_azure(folder, {**AMOUNTS, **IDLE})
    machine = of_azure(folder, MACHINE, luns=())
    assert analyzed(folder, *given(disks, machine)) == EXIT_DONE
    assert command_of(folder) == []


@pytest.mark.parametrize(
    ("given_words", "results"),
    [
        ("--results trial", "/home/dba/trial"),
        ("'--results=/srv/of us'", "/srv/of us"),
        ("--results trial --results /srv/last", "/srv/last"),
    ],
)
def test_the_command_finds_results_that_lie_elsewhere(
    tmp_path: Path, given_words: str, results: str
) -> None:
    """From any folder: a relative one begins where the campaign was begun."""
    folder = stored(
        tmp_path / "results",
        "premium",
        catalog_type="azure/premium-ssd",
        command=f"tierbench run premium insert {given_words} --repeats 1",
    )
    folder = folder.rename(folder.with_name("our tiers"))
    assert analyzed(folder) == EXIT_DONE
    documented = ["tierbench", "analyze", "our tiers", "--results", results]
    assert command_of(folder) == [*documented, "--disk-metrics", "FILE"]


def test_disks_that_nobody_has_recorded_are_to_be_named(tmp_path: Path) -> None:
    folder = stored(
        tmp_path / "results", "premium", "ultra", catalog_type="azure/premium-ssd"
    )
    assert analyzed(folder) in (EXIT_DONE, EXIT_INCONCLUSIVE)
    assert command_of(folder)[-2:] == ["--disk", "premium/node-1=DISK"]
    assert "`, with `--disk` for each of 6 disks." in text_of(folder)


def test_each_disk_of_a_stripe_is_to_be_named(tmp_path: Path) -> None:
    row = "azure/premium-ssd"
    folder = stored(tmp_path / "results", "premium", "ultra", catalog_type=row, count=2)
    assert analyzed(folder) in (EXIT_DONE, EXIT_INCONCLUSIVE)
    assert "`, with `--disk` for each of 12 disks." in text_of(folder)


def test_recorded_volumes_of_ebs_need_no_name(tmp_path: Path) -> None:
    folder = stored(tmp_path / "results", "premium", tier_facts=of_rented)
    assert analyzed(folder) == EXIT_DONE
    assert "AWS reports of limits" in text_of(folder)
    assert "--disk" not in command_of(folder)


@pytest.mark.parametrize(
    ("disk", "catalog_type"),
    [
        (REAL, ""),
        (REAL, "gcp/pd-ssd"),
        (build_tier("premium").disk, "azure/premium-ssd"),
    ],
)
def test_where_no_provider_counts_nothing_is_asked_for(
    tmp_path: Path, disk: Any, catalog_type: str
) -> None:
    folder = stored(
        tmp_path / "results", "premium", disk=disk, catalog_type=catalog_type
    )
    assert analyzed(folder) == EXIT_DONE
    assert command_of(folder) == []
