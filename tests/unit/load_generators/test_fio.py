"""fio's JSON to figures by hand-made literals, and what is run with which settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.design.disk_matrix import MatrixCell
from orchestrator.errors import LoadError, UsageError
from orchestrator.load_generators.fio import Fio, point_figures
from orchestrator.model import Cluster, ClusterSpec, Dataset, Node, NodeSize, Workload
from orchestrator.parts import ClientLoad
from orchestrator.powers import Completed, World
from tests.fakes import FakeClock, FakePlatform, completed, fake_world

KIB, MIB, GIB = 2**10, 2**20, 2**30
POINT = MatrixCell("random", 50, 4 * KIB, 8)
ALONE = Cluster(
    "none", "", (Node("node-1", "database", container="the-node"),), (), "net"
)
CLIENT = Node("client", "client")
SPEC = ClusterSpec("none", 1, 1, NodeSize(1.0, 192 * MIB, 2 * GIB))
WORKLOAD = Workload(
    name="disk-matrix",
    title="raw disk matrix",
    generator="fio",
    script="fio/depth.fio",
    dataset=Dataset("fio-file", {"size": "256MiB"}),
    scale="smoke",
    threads=1,
    loader_threads=2,
    warmup_s=0.5,
    measure_s=1.5,
    options={
        "cells": "random read 100 block 4KiB depth 1,32\nsequential read 0 block 1MiB depth 8"
    },
    database="none",
)


def one_way(bins: Mapping[str, int], bytes_per_s: int = 0) -> dict[str, Any]:
    """A `read` or `write` of fio's JSON; latencies are exactly the bins' values."""
    count = sum(bins.values())
    mean = sum(int(value) * number for value, number in bins.items()) / max(count, 1)
    latency: dict[str, Any] = {"mean": mean, "N": count}
    latency |= {"bins": dict(bins)} if count else {}
    return {"bw_bytes": bytes_per_s, "lat_ns": latency}


def output(
    read: dict[str, Any], write: dict[str, Any], error: int = 0
) -> dict[str, Any]:
    return {
        "fio version": "fio-3.39",
        "jobs": [{"error": error, "read": read, "write": write}],
    }


def figures(content: dict[str, Any]) -> dict[str, float]:
    measurements = point_figures(POINT, content)
    assert {measurement.scope for measurement in measurements} == {POINT.name}
    return {measurement.metric: measurement.value for measurement in measurements}


# ------------------------------------------------------------------ JSON to figures


def test_reads_and_writes_count_together() -> None:
    read = one_way({"1000000": 900, "3000000": 100}, bytes_per_s=4096 * 300)
    write = one_way({"2000000": 950, "9000000": 50}, bytes_per_s=4096 * 200)
    assert figures(output(read, write)) == pytest.approx(
        {
            "iops": 500.0,
            "bytes_per_s": 4096 * 500,
            "transactions": 2000,
            "latency_avg_s": (900 + 300 + 1900 + 450) / 2000 * 1e-3,
            "latency_p50_s": 2e-3,  # 900 below, 1850 up to it
            "latency_p95_s": 3e-3,  # the 1900th of 2000
            "latency_p99_s": 9e-3,
        }
    )


@pytest.mark.parametrize(
    ("count", "percentiles"),  # with 8 in flight, 18 I/Os must lie beyond
    [
        (35, ""),
        (36, "50"),
        (359, "50"),
        (360, "50 95"),
        (1799, "50 95"),
        (1800, "50 95 99"),
    ],
)
def test_percentiles_need_enough_ios(count: int, percentiles: str) -> None:
    names = figures(output(one_way({"1000000": count}, 4096), one_way({})))
    expected = {f"latency_p{percentile}_s" for percentile in percentiles.split()}
    assert {name for name in names if name.startswith("latency_p")} == expected


def test_an_error_that_fio_counted_is_not_a_figure() -> None:
    with pytest.raises(LoadError, match="error 5 at point random-read50-4KiB-8x1"):
        point_figures(POINT, output(one_way({"1000": 1}, 4096), one_way({}), error=5))


@pytest.mark.parametrize(
    "reads", [one_way({}), one_way({}, 4096), one_way({"1000": 1})]
)
def test_no_io_is_not_zero(reads: dict[str, Any]) -> None:
    with pytest.raises(LoadError, match="no I/O ended"):
        point_figures(POINT, output(reads, one_way({})))


def write_point(
    out: Path, name: str, latency_ns: int, count: int, bytes_per_s: int
) -> None:
    content = output(one_way({str(latency_ns): count}, bytes_per_s), one_way({}))
    (out / "fio").mkdir(exist_ok=True)
    (out / "fio" / f"{name}.json").write_text(json.dumps(content))


def test_a_run_is_read_from_its_files_alone(tmp_path: Path) -> None:
    cells = "random read 100 block 4KiB depth 1,8,16,32\nrandom read 100 block 1MiB depth 8,16"
    workload = replace(WORKLOAD, options={"cells": cells})
    small, large = "random-read100-4KiB", "random-read100-1MiB"
    write_point(tmp_path, f"{small}-1x1", 12_500_000, 120, 4096 * 80)
    for depth in (8, 16, 32):
        write_point(tmp_path, f"{small}-{depth}x1", depth * 2_000_000, 750, 4096 * 500)
    for depth in (8, 16):
        write_point(tmp_path, f"{large}-{depth}x1", depth * 17_476_267, 86, 60_000_000)
    result = Fio().read(workload, tmp_path, 0.0, 1.0)
    values = {
        (figure.metric, figure.scope): figure.value for figure in result.measurements
    }
    assert values["iops", f"{small}-32x1"] == 500.0
    assert values["throughput_per_s", "all"] == 500.0
    assert values["latency_avg_s", "all"] == pytest.approx(0.0125)
    assert ("latency_p99_s", "all") not in values
    assert values["iops_ceiling", "all"] == values["iops_ceiling", "read"] == 500.0
    assert values["bytes_per_s_ceiling", "read"] == 60e6
    assert ("bytes_per_s_ceiling", "write") not in values
    assert values["native_io_bytes", "all"] == pytest.approx(120_000)
    assert values["latency_per_depth_s", small] == pytest.approx(0.002)
    assert result.facts.recorded() == {"version": "fio-3.39", "cells": 6}
    assert result.intervals is None and result.latencies is None


def test_what_a_point_moved_is_told_with_its_time(tmp_path: Path) -> None:
    """From when its warm-up of 1.5 s was over: of fio 3.39, begun at 1795721280.16, for 3 s."""
    name = "random-read100-4KiB-1x1"
    write_point(tmp_path, name, 12_500_000, 601, 821_656)
    file = tmp_path / "fio" / f"{name}.json"
    content = json.loads(file.read_text())
    (job,) = content["jobs"]
    job["job_start"], content["timestamp_ms"] = 1795721281920, 1795721285170
    job["read"]["io_bytes"], job["write"]["io_bytes"] = 2465792, 0
    file.write_text(json.dumps(content))
    workload = replace(
        WORKLOAD, options={"cells": "random read 100 block 4KiB depth 1"}
    )
    assert Fio().read(workload, tmp_path, 0.0, 1.0).facts.windows == [
        {
            "start_s": 1795721281.92,
            "end_s": 1795721285.17,
            "read_bytes": 2465792.0,
            "written_bytes": 0.0,
        }
    ]


def test_a_point_without_its_file_fails_the_run(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"random-read100-4KiB-1x1\.json is not there"):
        Fio().read(WORKLOAD, tmp_path, 0.0, 1.0)


def test_half_a_file_fails_the_run(tmp_path: Path) -> None:
    (tmp_path / "fio").mkdir()
    (tmp_path / "fio" / "random-read100-4KiB-1x1.json").write_text('{"jobs": [')
    with pytest.raises(LoadError, match="is not what fio writes"):
        Fio().read(WORKLOAD, tmp_path, 0.0, 1.0)


# ------------------------------------------------------------------ what is run


def world_of(exit_code: int = 0, size: str = "268435456") -> tuple[World, FakePlatform]:
    """An engine that answers as the node's container would; fio takes two seconds."""
    clock = FakeClock()

    def answer(_container: str, argv: Sequence[str]) -> Completed:
        if argv[0] == "fio":
            clock.sleep(2.0)
            return completed("fio: it broke", exit_code)
        return completed({"cat": '{"jobs": []}', "stat": f"{size}\n"}.get(argv[0], ""))

    engine = FakePlatform(answer=answer)
    return fake_world(clock=clock, platform=engine), engine


def test_every_point_is_one_job_kept_untouched(tmp_path: Path) -> None:
    world, engine = world_of()
    said: list[float] = []
    world = replace(world, window_begins=said.append)
    warmup, measure = Fio().run(ClientLoad(WORKLOAD, ALONE, CLIENT, tmp_path, world))
    calls = zip(engine.asked, engine.environments, strict=True)
    jobs = [env for (_, _, program, *_), env in calls if program == "fio"]
    assert [(job["RW"], job["BS"], job["IODEPTH"]) for job in jobs] == [
        ("randread", "4096", "1"),
        ("randread", "4096", "32"),
        ("write", "1048576", "8"),
    ]
    variables = " ".join(f"{name}={value}" for name, value in jobs[0].items())
    assert variables == (
        "DIR=/tier SIZE=268435456 RAMP=500ms RUNTIME=1500ms RW=randread READ_PCT=100 BS=4096 "
        "IODEPTH=1 NUMJOBS=1"
    )
    assert {container for _, container, *_ in engine.asked} == {"the-node"}
    names = sorted(file.name for file in (tmp_path / "fio").iterdir())
    assert names == [
        "commands.txt",
        "random-read100-4KiB-1x1.json",
        "random-read100-4KiB-32x1.json",
        "sequential-read0-1MiB-8x1.json",
    ]
    assert (
        tmp_path / "fio" / "random-read100-4KiB-1x1.json"
    ).read_text() == '{"jobs": []}'
    assert (warmup.start_s, warmup.end_s) == (1000.0, 1000.5)
    assert (measure.start_s, measure.end_s) == (1000.5, 1006.0) and said == [1000.5]


@pytest.mark.parametrize(
    ("pattern", "read_pct", "rw"),
    [("random", 30, "randrw"), ("sequential", 100, "read"), ("sequential", 50, "rw")],
)
def test_the_direction_of_a_point(
    tmp_path: Path, pattern: str, read_pct: int, rw: str
) -> None:
    world, engine = world_of()
    options = {"cells": f"{pattern} read {read_pct} block 4KiB depth 1 threads 2"}
    workload = replace(WORKLOAD, options=options)
    Fio().run(ClientLoad(workload, ALONE, CLIENT, tmp_path, world))
    env = engine.environments[0]
    assert (env["RW"], env["READ_PCT"], env["NUMJOBS"]) == (rw, str(read_pct), "2")


def test_a_failing_point_is_named(tmp_path: Path) -> None:
    world, _ = world_of(exit_code=1)
    with pytest.raises(
        LoadError, match="exit code 1 at point random-read100-4KiB-1x1"
    ) as error:
        Fio().run(ClientLoad(WORKLOAD, ALONE, CLIENT, tmp_path, world))
    assert "it broke" in error.value.evidence


def test_the_file_must_be_as_large_as_asked() -> None:
    Fio().load(WORKLOAD, ALONE, CLIENT, world_of()[0])
    with pytest.raises(LoadError, match=r"its file of 256 MiB"):
        Fio().load(WORKLOAD, ALONE, CLIENT, world_of(size="4096")[0])


def test_points_that_are_there_are_not_measured_again(tmp_path: Path) -> None:
    world, engine = world_of()
    (tmp_path / "fio").mkdir()
    (tmp_path / "fio" / "random-read100-4KiB-1x1.json").write_text("kept")
    Fio().run(ClientLoad(WORKLOAD, ALONE, CLIENT, tmp_path, world))
    depths = [env["IODEPTH"] for env in engine.environments if "IODEPTH" in env]
    assert depths == ["32", "8"]
    assert (tmp_path / "fio" / "random-read100-4KiB-1x1.json").read_text() == "kept"


def test_a_window_has_one_point_at_least(tmp_path: Path) -> None:
    for _ in range(2):
        world, engine = world_of()
        _, measure = Fio().run(ClientLoad(WORKLOAD, ALONE, CLIENT, tmp_path, world))
    assert [env["IODEPTH"] for env in engine.environments if "IODEPTH" in env] == ["8"]
    assert measure.duration_s > 0


# ------------------------------------------------------------------ before anything starts


@pytest.mark.parametrize(
    ("workload", "where", "what"),
    [
        (replace(WORKLOAD, options={}), "options.cells", "is missing"),
        (
            replace(WORKLOAD, options={"cells": "random read 5"}),
            "options.cells",
            "give `read`",
        ),
        (
            replace(WORKLOAD, dataset=Dataset("f", {})),
            "dataset.size",
            "expected a quantity",
        ),
        (
            replace(WORKLOAD, dataset=Dataset("f", {"size": "4GiB"})),
            "dataset.size",
            "up to 1.6",
        ),
        (
            replace(WORKLOAD, dataset=Dataset("f", {"size": "0GiB"})),
            "dataset.size",
            "up to 1.6",
        ),
        (replace(WORKLOAD, script="fio/none.fio"), "script", "there is no"),
    ],
)
def test_a_wrong_workload_is_refused(workload: Workload, where: str, what: str) -> None:
    Fio().check(WORKLOAD, SPEC, world_of()[0])
    with pytest.raises(UsageError) as error:
        Fio().check(workload, SPEC, world_of()[0])
    (mistake,) = error.value.mistakes
    assert mistake.where == where and what in mistake.what


def test_a_database_is_not_measured_by_fio() -> None:
    with pytest.raises(UsageError) as error:
        Fio().check(WORKLOAD, replace(SPEC, database="postgresql"), world_of()[0])
    assert error.value.mistakes[0].where == "database"


def test_half_a_file_is_shown_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "fio" / "random-read100-4KiB-1x1.json"
    file.parent.mkdir()
    file.write_text("fio: an error\n" * 20 + '{"jobs": [')
    with pytest.raises(LoadError) as raised:
        Fio().read(WORKLOAD, tmp_path, 0.0, 1.0)
    assert raised.value.evidence.endswith('{"jobs": [')
    assert len(raised.value.evidence.splitlines()) == 10
    assert "`tierbench resume`" in raised.value.advice
