"""Bulk load, index builds and ordered scan, from the command line to a report, and where they fail.

Goal: they run on each kind of cluster; bytes at the disks add up with the rows; a deadline is no
rate, and a row that is not as it was loaded ends the scan.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator import load_generators
from orchestrator.analysis.doubts import kinds
from orchestrator.analysis.telemetry.use import conservation
from orchestrator.databases.yugabytedb import YugabyteDB
from orchestrator.errors import LoadError
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.model import (
    Dataset,
    NodeSize,
    Plan,
    Profile,
    Run,
    Workload,
)
from orchestrator.parts import ClientLoad, Parts
from orchestrator.plan_parts import Judging, Repeats
from orchestrator.planning import workloads
from orchestrator.powers import World
from orchestrator.run import experiment
from orchestrator.system import store
from orchestrator.tiers.unlimited import UnlimitedTier
from tests import ROOT
from tests.integration import standin_nodes
from tests.integration.conftest import measured, tierbench
from tests.integration.existing_profile import profile
from tests.integration.postgresql_nodes import (
    DATABASE,
    NETWORK,
    plain_volumes,
    session,
    spec,
)
from tests.integration.servers import Server
from tests.tiers import a_tier

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.usefixtures("nothing_left"),
]

NAMES = ("bulk-load", "bulk-index", "bulk-scan")
TIER = a_tier("here", "This machine", "none", None, None)


def small(name: str, rows: int = 20_000, measure_s: float = 4.0) -> Workload:
    load = workloads.read_workload(
        name, (ROOT / "workloads" / f"{name}.yaml").read_text(), "smoke"
    )
    begins_empty = name in ("bulk-load", "bulk-restore")
    own = Dataset("bulk", {"tables": 2, "rows": 0 if begins_empty else rows})
    options = (
        {**load.options, "table_rows": rows} if name == "bulk-restore" else load.options
    )
    return replace(load, dataset=own, options=options, threads=3, measure_s=measure_s)


@measured
def test_three_nodes_of_postgresql_to_a_report_whose_counts_add_up(
    tmp_path: Path,
) -> None:
    code, text = tierbench(
        *[
            "compare",
            "--profiles",
            "ultra",
            "--workloads",
            " ".join(NAMES),
            "--scale",
            "smoke",
        ],
        *[
            "--nodes",
            "3",
            "--repeats",
            "1",
            "--db",
            "postgresql",
            "--set",
            "bulk-load.measure=12s",
        ],
        *["--set", "bulk-index.rows=200_000", "--set", "bulk-scan.rows=200_000"],
        *["--accept-inconclusive", "--results", str(tmp_path)],
    )
    assert code == 0, text
    campaign = store.load(tmp_path / "latest")
    figures = {}
    for run in campaign.runs:
        record = run.record
        assert record.outcome == "done", record.failure
        held = record.facts["checked"]["consistency"]
        assert [of["violations"] for of in held] == [0, 0], held
        figures[record.run.workload] = {
            m.metric: m.value for m in conservation.figures(run)
        }
    # Each of three nodes writes log and rows; pages and records of the log add to them.
    assert 3 * 2 <= figures["bulk-load"]["written_per_payload"] <= 3 * 5
    assert 95 <= figures["bulk-load"]["log_sent_pct"] <= 115
    assert 90 <= figures["bulk-load"]["in_flight_pct"] <= 101
    assert figures["bulk-load"]["debt_s"] > 0
    missing = {"replica missing", "data in memory"}
    assert not [doubt for doubt in kinds.find(campaign) if doubt.kind in missing]
    report = (tmp_path / "latest" / "report.md").read_text()
    assert "## Cross-checks of counts" in report and "Written ÷ payload" in report
    for command in ("verify", "analyze"):
        code, text = tierbench(command, str(tmp_path / "latest"))
        assert code == 0, text


def test_a_restore_on_three_nodes_to_a_report(tmp_path: Path) -> None:
    code, text = tierbench(
        *[
            "run",
            "--profile",
            "ultra",
            "--workload",
            "bulk-restore",
            "--scale",
            "smoke",
        ],
        *[
            "--nodes",
            "3",
            "--repeats",
            "1",
            "--db",
            "postgresql",
            "--results",
            str(tmp_path),
        ],
        *["--set", "bulk-restore.table_rows=400_000"],
    )
    assert code == 0, text
    (run,) = store.load(tmp_path / "latest").runs
    record = run.record
    assert record.outcome == "done", record.failure
    assert [of["violations"] for of in record.facts["checked"]["consistency"]] == [0, 0]
    values = {(m.metric, m.scope): m.value for m in record.measurements}
    steps = {"copy": 4, "key": 4, "index": 4, "foreign_key": 2}
    assert {kind: values["transactions", kind] for kind in steps} == steps
    window = record.phase("measure")
    assert window and window.duration_s < 60, "it ends with the last step"
    restored_bytes = values["payload_bytes_per_s", "all"] * window.duration_s
    assert restored_bytes == pytest.approx(4 * 400_000 * 100, rel=1e-4)
    counted = {m.metric: m.value for m in conservation.figures(run)}
    assert counted["debt_s"] > 0 and counted["written_per_payload"] >= 3
    report = (tmp_path / "latest" / "report.md").read_text()
    assert "foreign key" in report and "Payload" in report


def test_on_the_stand_in_of_yugabytedb(
    standin_image: str, world: World, tmp_path: Path, impatient: None
) -> None:
    loads = tuple(map(small, (*NAMES, "bulk-restore")))
    here = Profile("here", "Does it work?", TIER, standin_nodes.spec(standin_image))
    runs = tuple(Run(n, "here", load.name, 1) for n, load in enumerate(loads, start=1))
    repeats = Repeats(repetitions=1, seed=1)
    plan = Plan(
        "stand-in", "smoke", "here", repeats, Judging(5.0), (here,), loads, runs, 60.0
    )
    parts = Parts(
        {"yugabytedb": YugabyteDB()},
        load_generators.load_generators(),
        {"none": UnlimitedTier()},
        (),
    )
    folder = experiment.execute(plan, parts, world, tmp_path, {})
    for run in store.load(folder).runs:
        record = run.record
        assert record.outcome == "done", record.failure
        assert [of["violations"] for of in record.facts["checked"]["consistency"]] == [
            0,
            0,
        ]
        assert any(m.metric == "payload_bytes_per_s" for m in record.measurements)


def test_on_a_postgresql_that_others_run(postgresql: Server, tmp_path: Path) -> None:
    before = postgresql.databases()
    code, text = tierbench(
        *[
            "compare",
            "--profiles",
            str(profile(postgresql, tmp_path)),
            "--repeats",
            "1",
        ],
        *[
            "--workloads",
            " ".join(NAMES),
            "--scale",
            "smoke",
            "--set",
            "bulk-load.measure=3s",
        ],
        *["--set", "bulk-index.rows=20_000", "--set", "bulk-scan.rows=20_000"],
        *["--accept-inconclusive", "--results", str(tmp_path / "results")],
        PG_PASSWORD=postgresql.password,
    )
    assert code == 0, text
    runs = store.load(tmp_path / "results" / "latest").runs
    assert [run.record.outcome for run in runs] == ["done"] * 3, text
    assert postgresql.databases() == before


def test_a_deadline_is_no_rate_and_a_row_that_differs_ends_the_scan(
    world: World, tmp_path: Path
) -> None:
    generator = Sysbench()
    # Memory for sorting keys; and so little CPU that no index is built in a second on any machine.
    slow = replace(spec(1), node=NodeSize(0.2, 2**30, 2**31))
    with (
        plain_volumes(1, world) as volumes,
        world.platform.network(NETWORK, 1) as network,
        DATABASE.running(slow, volumes, network, world) as cluster,
        generator.client(NETWORK, world) as client,
    ):
        late = small("bulk-index", rows=1_500_000, measure_s=1.0)
        generator.load(late, cluster, client, world)
        task = ClientLoad(late, cluster, client, tmp_path, world)
        with pytest.raises(
            LoadError, match="of 2 indexes were built when the time was over"
        ):
            generator.run(task)
        scan = small("bulk-scan", rows=1_500_000, measure_s=60.0)
        _, window = generator.run(replace(task, workload=scan))
        assert window.duration_s < 60.0
        generator.verify(scan, cluster, world)
        with session(cluster) as here:
            here.execute("UPDATE bulk2 SET k = k + 1 WHERE id = 777777")
        with pytest.raises(LoadError, match="ids 770001 to 780000: sum of k is"):
            generator.run(replace(task, workload=scan))
        with pytest.raises(LoadError, match="no longer consistent"):
            generator.verify(scan, cluster, world)
