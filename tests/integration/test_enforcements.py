"""A database measured on each way to make a tier true that is not the emulated disk.

Goal: profile to verdict on `mounted`. The emulated disk has every other test.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from orchestrator.analysis.conclusions import Verdict
from orchestrator.analysis.results import Results
from orchestrator.analysis.verdicts import judge
from orchestrator.parts import NodesData
from orchestrator.powers import World
from orchestrator.system import store
from orchestrator.tiers.common.any_disk import removal
from orchestrator.tiers.common.real import node_places, restoring, snapshots
from tests.file_systems import file_system
from tests.integration.conftest import HERE, tierbench

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

PROFILE = (
    "question: does it hold?\ntitle: {title}\ntier: {tier}\ncluster: azure-d8s-v5\n"
)
CAP_IOPS = 1_000


def run_on(
    results: Path, title: str, tier: str, workload: str, repeats: int = 1
) -> tuple[Results, Verdict]:
    """Runs on a profile of that tier, and what is said of them."""
    profile = results / f"{title}.yaml"
    profile.write_text(PROFILE.format(title=title, tier=tier))
    code, text = tierbench(
        *["run", "--profile", str(profile), "--workload", workload, "--scale", "smoke"],
        *["--nodes", "1", "--db", "postgresql", "--results", str(results / "results")],
        *["--repeats", str(repeats)],
    )
    assert code == 0, text
    campaign = store.load(results / "results" / "latest")
    return campaign, judge(campaign)


def figure(verdict: Verdict, metric: str) -> float:
    (cell,) = [
        one for one in verdict.cells if (one.metric, one.scope) == (metric, "all")
    ]
    return cell.mean


def content(folder: Path) -> dict[str, str]:
    """Of every file below: its owner, its mode and a hash of its bytes."""
    files = {file: file.lstat() for file in sorted(folder.rglob("*")) if file.is_file()}
    return {
        str(file.relative_to(folder)): f"{stat.st_uid} {stat.st_mode:o} "
        + hashlib.sha256(file.read_bytes()).hexdigest()
        for file, stat in files.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "way"), [("ext4", "copy"), ("xfs", "copy")])
def test_runs_on_a_real_disk_start_from_one_loaded_snapshot(
    kind: str, way: str, tmp_path: Path, world: World
) -> None:
    """Two runs, of which only the first one loads; neither changes the snapshot, and what is
    restored is equal to it. On ext4 the profile does not say how. Then nothing is left on the disk
    that `clean` would not find."""
    inserts = str(HERE / "workloads" / "short-insert.yaml")
    asked = f", snapshots: {way}" if kind == "xfs" else ""
    with file_system(kind, tmp_path, world) as place:
        before = {child.name for child in place.iterdir()}
        profile = f"{{enforcement: mounted, path: {place}{asked}}}"
        campaign, verdict = run_on(tmp_path, "real", profile, inserts, repeats=2)
        records = [run.record for run in campaign.runs]
        loads = [phase for record in records if (phase := record.phase("load"))]
        assert len(loads) == 2 and loads[1].duration_s < loads[0].duration_s / 5
        sizes = {record.facts["database_before"]["data_bytes"] for record in records}
        assert len(sizes) == 1
        for record in records:
            facts = record.facts["tier"]
            (disk,) = facts["disks"].values()
            assert disk["file_system"] == kind and str(disk["device"]).startswith(
                "loop"
            )
            restored = facts["restored"]
            assert (
                restored["way"] == way
                and restored["caches_dropped"] == "of the machine"
            )
        assert figure(verdict, "disk_iops") > 0
        (snapshot,) = (place / snapshots.FOLDER).glob("*/node-1")
        changed_s = max(file.lstat().st_ctime for file in snapshot.rglob("*"))
        assert changed_s <= loads[0].end_s
        tier, data = records[0].profile.tier, NodesData([2**30], [snapshot])
        with restoring.attached(tier, data, world) as disks:
            loaded = content(Path(disks.volumes[0].name))
        assert content(snapshot) == loaded and loaded["pgdata/PG_VERSION"]
        first, second = (record.facts["tier"]["restored"] for record in records)
        assert first["unchanged_files"] == 0 < second["unchanged_files"]
        assert second["written_bytes"] < first["written_bytes"] / 2
        folders = [node_places.FOLDER, snapshots.FOLDER]
        removed = removal.forget((), world, only_list=False)
        assert {Path(one.place).relative_to(place).parts[0] for one in removed} == set(
            folders
        )
        assert {child.name for child in place.iterdir()} == before
