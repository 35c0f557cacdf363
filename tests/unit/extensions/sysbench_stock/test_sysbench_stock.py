"""Stock sysbench: its printed output, its options, and the exact command lines.

Method: captured outputs of 1.0.20 (tests/fixtures/sysbench-1.0.20); what the newer output of forks
has instead is put into one of them.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.design.latency_quantiles import nearest_rank
from orchestrator.errors import LoadError, Mistake, UnavailableError, UsageError
from orchestrator.extensions.sysbench_stock import (
    generator as sysbench_stock,
    own_files,
    results,
    scripts,
)
from orchestrator.extensions.sysbench_stock.generator import SysbenchStock
from orchestrator.load_generators import load_generators
from orchestrator.load_generators.binding import bind
from orchestrator.load_generators.common import options
from orchestrator.model import Cluster, Dataset, Endpoint, Node, Workload
from orchestrator.parts import ClientLoad
from orchestrator.planning import named_files, project_files
from orchestrator.powers import Completed, World
from tests import ROOT
from tests.fakes import Log, fake_world

OUTPUTS = ROOT / "tests/fixtures/sysbench-1.0.20"
ENDPOINTS = tuple(
    Endpoint(f"10.0.0.1{number}", 5432, number, "bench", "secret", "bench")
    for number in (1, 2)
)
ONE = Cluster("postgresql", "17", (), ENDPOINTS[:1], "net")
TWO = replace(ONE, endpoints=ENDPOINTS)


def output(name: str) -> str:
    return (OUTPUTS / f"{name}.out").read_text()


def shipped(name: str, scale: str = "smoke") -> Workload:
    _, (workload,) = project_files.read(ROOT, [], [name], scale)
    return workload


def figures(*reports: results.Report) -> dict[str, float]:
    return {one.metric: one.value for one in results.measurements(reports, None)}


# ------------------------------------------------------------------ what sysbench prints


def test_totals_and_percentiles_are_those_that_sysbench_says() -> None:
    report = results.parse(output("oltp_read_write"))
    assert (report.version, report.fork) == ("1.0.20", False)
    assert (report.totals["read"], report.totals["write"], report.totals["other"]) == (
        *(66794, 19073),
        9549,
    )
    found = figures(report)
    assert found["transactions"] == 4769
    assert found["throughput_per_s"] == pytest.approx(1187.77, rel=1e-3)
    assert found["latency_avg_s"] == pytest.approx(0.00336, rel=2e-3)
    assert found["latency_max_s"] == pytest.approx(0.02648)
    assert found["latency_p99_s"] == pytest.approx(
        0.01208, rel=1e-3
    )  # sysbench's own percentile
    assert (found["failures"], found["retries"]) == (0, 2)
    assert "latency_p999_s" not in found, "fewer than ten transactions lie beyond it"


@pytest.mark.parametrize(("transactions", "has_p99"), [(1000, True), (999, False)])
def test_a_percentile_has_ten_transactions_beyond_it(
    transactions: int, has_p99: bool
) -> None:
    report = results.parse(output("oltp_read_write"))
    totals = {**report.totals, "transactions": transactions}
    assert ("latency_p99_s" in figures(replace(report, totals=totals))) is has_p99


@pytest.mark.parametrize("name", ["oltp_read_write", "oltp_point_select", "conflicts"])
def test_the_histogram_is_whole_and_as_fine_as_is_said(name: str) -> None:
    report = results.parse(output(name))
    assert sum(report.histogram.values()) == report.totals["transactions"]
    said = re.search(r"99th percentile: +([\d.]+)", output(name))
    assert said is not None
    assert nearest_rank(report.histogram, 0.99) == pytest.approx(
        float(said[1]), abs=0.0051
    )
    ordered = sorted(value for value in report.histogram if value > 1)
    steps = [high / low - 1 for low, high in pairwise(ordered)]
    assert min(steps, default=0.0182) == pytest.approx(results.HISTOGRAM_STEP, abs=1e-3)


def test_repeated_attempts_are_retries_and_errors_of_seconds() -> None:
    report = results.parse(output("conflicts"))
    assert figures(report)["retries"] == 15
    rows = results.intervals({"measure": (100.0, (report,))})
    assert list(rows["errors"]) == [
        0,
        2,
        2,
        4,
        2,
        1,
        1,
    ]  # three came after the last whole second
    assert list(rows["latency_p99_s"].notna()) == [
        False,
        True,
        True,
        True,
        False,
        False,
        False,
    ]


def test_seconds_become_intervals_of_their_phase() -> None:
    report = results.parse(output("oltp_read_write"))
    rows = results.intervals({"warm-up": (95.0, ()), "measure": (100.0, (report,))})
    assert list(rows["time_s"]) == [100.0, 101.0, 102.0, 103.0]
    assert list(rows["throughput_per_s"]) == [1686.27, 1261.29, 930.11, 882.12]
    assert list(rows["latency_p99_s"]) == pytest.approx(
        [0.00743, 0.00956, 0.01346, 0.01583]
    )
    assert rows["latency_p95_s"].isna().all() and set(rows["phase"]) == {"measure"}


def test_processes_add_up_and_a_percentile_of_seconds_does_not() -> None:
    one, other = (
        results.parse(output(name)) for name in ("oltp_read_write", "oltp_point_select")
    )
    both, alone, beside = figures(one, other), figures(one), figures(other)
    for name in ("transactions", "throughput_per_s", "retries"):
        assert both[name] == alone[name] + beside[name]
    assert alone["latency_p50_s"] > both["latency_p50_s"] >= beside["latency_p50_s"]
    assert both["latency_max_s"] == max(alone["latency_max_s"], beside["latency_max_s"])
    rows = results.intervals({"measure": (100.0, (one, other))})
    assert len(rows) == 4 and rows["latency_p99_s"].isna().all()


def test_the_output_of_the_yugabytedb_fork_is_read_and_recognised() -> None:
    """Its driver names each host that it was given, and 1.1 says `time elapsed`."""
    text = output("oltp_read_write").replace(
        "sysbench 1.0.20", "sysbench 1.1.0-abc1234"
    )
    text = text.replace("total time:      ", "time elapsed:    ")
    text = text.replace(
        "Threads started!", "Server Endpoint: 10.0.0.1 \nThreads started!"
    )
    report = results.parse(text)
    assert (report.version, report.fork) == ("1.1.0-abc1234", True)
    assert figures(report) == figures(results.parse(output("oltp_read_write")))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (output("refused"), "no read"),
        (
            output("oltp_read_write").replace("       0.619 |", "       0.619 +"),
            "histogram has 4756",
        ),
    ],
)
def test_an_output_that_is_not_whole_is_refused(text: str, what: str) -> None:
    with pytest.raises(LoadError, match=what):
        results.parse(text)


# ------------------------------------------------------------------ what a workload may say


@pytest.mark.parametrize("scale", ["smoke", "laptop", "study", "study-20"])
@pytest.mark.parametrize("name", list(scripts.KNOWN))
def test_every_script_of_sysbench_is_a_workload(name: str, scale: str) -> None:
    workload = shipped(name, scale)
    assert (workload.generator, workload.script) == ("sysbench-stock", name)
    assert not list(scripts.mistakes_in(workload, upstream=True))
    assert bind(workload, None) == workload
    assert isinstance(load_generators()[workload.generator], SysbenchStock)


def test_the_list_of_workloads_tells_ours_from_upstreams() -> None:
    titles = project_files.titles(ROOT / "workloads")
    assert titles["insert"] == "10 inserts and a commit, our script on sysbench"
    assert titles["oltp_insert"] == "stock sysbench: one insert"
    assert tuple(titles) == named_files.names(ROOT / "workloads")


def mistake(workload: Workload, upstream: bool = True) -> Mistake:
    with pytest.raises(UsageError) as raised:
        options.refuse(workload, scripts.mistakes_in(workload, upstream))
    (found,) = raised.value.mistakes
    return found


@pytest.mark.parametrize(
    ("name", "option", "value", "what"),
    [
        ("oltp_read_write", "threads", 3, "`threads` of the scale"),
        ("oltp_read_write", "time", 3, "`measure` of the scale"),
        ("oltp_read_write", "rate", 3, "gives up"),
        ("oltp_read_write", "rand_seed", 3, "SEED"),
        ("oltp_read_write", "percentile", 50, "figures"),
        ("oltp_read_write", "pgsql_host", "x", "the cluster"),
        ("oltp_read_write", "table_size", 3, "under `dataset`"),
        (
            "oltp_read_write",
            "rand_type",
            "zipfian",
            "uniform, gaussian, special, pareto, not",
        ),
        ("oltp_read_write", "nonsense", 1, "does not take this; it takes db_ps_mode"),
        ("oltp_point_select", "point_selects", 3, "does not take this"),
        ("oltp_point_select", "skip_trx", "on", "does not take this"),
        ("oltp_insert", "db_ps_mode", "disable", "does not take this"),
        ("oltp_delete", "delete_inserts", 3, "does not take this"),
        ("oltp_read_only", "index_updates", 3, "does not take this"),
        ("bulk_insert", "rand_type", "uniform", "it takes none"),
    ],
)
def test_an_option_without_effect_is_refused(
    name: str, option: str, value: int | str, what: str
) -> None:
    found = mistake(replace(shipped(name), options={option: value, "seed": 1}))
    assert found.where == f"workloads/{name}.yaml: options.{option}"
    assert what in found.what


@pytest.mark.parametrize(
    ("name", "changes", "where", "what"),
    [
        ("oltp_delete", {"warmup_s": 0.5}, "scales.warmup", "whole seconds, not 0.5"),
        ("bulk_insert", {"warmup_s": 3.0}, "scales.warmup", "begins at row 1"),
        ("bulk_insert", {"threads": 3}, "dataset.threads", "must be 3"),
        (
            "oltp_delete",
            {"script": "oltp_multi_insert"},
            "script",
            "1.0.20 has oltp_point_select",
        ),
        (
            "select_random_points",
            {"dataset": {"tables": 2}},
            "dataset.tables",
            "must be 1",
        ),
        (
            "oltp_insert",
            {"dataset": {"auto_inc": "off"}},
            "dataset.auto_inc",
            "does not take this",
        ),
        (
            "oltp_delete",
            {"dataset": {"tablets": 2}},
            "dataset.tablets",
            "does not take this",
        ),
    ],
)
def test_what_cannot_work_is_refused(
    name: str, changes: dict[str, Any], where: str, what: str
) -> None:
    if "dataset" in changes:
        changes = {"dataset": Dataset("x", changes["dataset"])}
    found = mistake(replace(shipped(name), **changes))
    assert found.where == f"workloads/{name}.yaml: {where}"
    assert what in found.what


def test_what_only_another_sysbench_knows_is_left_to_it() -> None:
    """And what tierbench sets itself is refused there too."""
    fork = replace(
        shipped("oltp_insert"),
        script="oltp_multi_insert",
        options={"num_rows_in_insert": 10},
        dataset=Dataset(
            "x", {"range_key_partitioning": "on", "serial_cache_size": 1000}
        ),
    )
    assert not list(scripts.mistakes_in(fork, upstream=False))
    assert (
        "SEED" in mistake(replace(fork, options={"rand_seed": 1}), upstream=False).what
    )
    own = replace(fork, script="mine/own.lua")
    assert not list(scripts.mistakes_in(own, upstream=True))


def test_a_script_that_is_not_there_and_an_image_that_is_not_here(
    tmp_path: Path,
) -> None:
    world = fake_world(Log(), tmp_path)
    spec: Any = None
    lost = replace(shipped("oltp_insert"), script="mine/lost.lua")
    with pytest.raises(UsageError, match=r"no script mine/lost\.lua"):
        SysbenchStock().check(lost, spec, world)
    with pytest.raises(UnavailableError, match="SYSBENCH_IMAGE"):
        SysbenchStock("mine/sysbench:1").check(shipped("oltp_insert"), spec, world)


# ------------------------------------------------------------------ command lines


def test_the_run_command(tmp_path: Path) -> None:
    workload = replace(
        shipped("oltp_read_only"), options={"range_selects": "off", "seed": 7}
    )
    (argv,) = sysbench_stock.commands(
        "measure", 7.0, workload, ONE, fake_world(Log(), tmp_path)
    )
    assert argv == [
        *("sysbench", "oltp_read_only", "--db-driver=pgsql"),
        *(
            "--pgsql-host=10.0.0.11",
            "--pgsql-port=5432",
            "--pgsql-user=bench",
            "--pgsql-db=bench",
        ),
        *("--tables=4", "--table-size=500000", "--range-selects=off"),
        *("--rand-seed=23001", "--threads=16", "--time=7"),
        *("--report-interval=1", "--histogram", "--percentile=99", "run"),
    ]


def test_each_node_has_its_process_and_share_of_the_threads(tmp_path: Path) -> None:
    world = fake_world(Log(), tmp_path)
    workload = replace(shipped("oltp_delete"), threads=3)

    def values(option: str, phase: str, used: Workload) -> list[str]:
        argvs = sysbench_stock.commands(phase, 7.0, used, TWO, world)
        return [
            part.split("=")[1]
            for argv in argvs
            for part in argv
            if part.startswith(option)
        ]

    assert values("--threads", "measure", workload) == ["2", "1"]
    assert values("--pgsql-host", "measure", workload) == ["10.0.0.11", "10.0.0.12"]
    assert values("--threads", "measure", replace(workload, threads=1)) == ["1"]
    assert values("--pgsql-host", "measure", shipped("bulk_insert")) == ["10.0.0.11"]
    seeds = [
        seed
        for phase in ("warm-up", "measure")
        for seed in values("--rand-seed", phase, workload)
    ]
    assert len(set(seeds)) == 4, (
        "the window must not draw the keys that the warm-up has just read"
    )


def test_a_script_is_found_in_sysbench_in_workloads_or_by_its_path(
    tmp_path: Path,
) -> None:
    world = replace(fake_world(Log(), tmp_path), root=tmp_path)
    (tmp_path / "workloads/mine").mkdir(parents=True)
    (tmp_path / "workloads/mine/own.lua").write_text("-- own")
    (tmp_path / "other.lua").write_text("-- other")
    for script, as_given in (
        ("oltp_insert", "oltp_insert"),
        ("mine/own.lua", "/workloads/mine/own.lua"),
        (str(tmp_path / "other.lua"), "/tmp/own/other.lua"),
    ):
        workload = replace(shipped("oltp_insert"), script=script)
        command = sysbench_stock.commands("measure", 1.0, workload, ONE, world)[0]
        assert command[1] == as_given


def a_script_of_several_files(folder: Path) -> Path:
    """As sysbench-tpcc is: one requires another of its folder, which requires a third."""
    folder.mkdir()
    (folder / "tpcc.lua").write_text('require("tpcc_common")\nrequire "tpcc_run"\n')
    (folder / "tpcc_common.lua").write_text("ffi = require('ffi')\n")
    (folder / "tpcc_run.lua").write_text('local c = require "tpcc_counters"\n')
    (folder / "tpcc_counters.lua").write_text("return {}\n")
    (folder / "another.lua").write_text("-- nobody requires it\n")
    return folder / "tpcc.lua"


NAMES = ["tpcc.lua", "tpcc_common.lua", "tpcc_counters.lua", "tpcc_run.lua"]


def test_what_a_script_requires_from_its_folder_goes_with_it_to_the_client(
    tmp_path: Path,
) -> None:
    """What the client's shell does, done here: the archive is unpacked where sysbench runs."""
    world = replace(fake_world(Log(), tmp_path), root=tmp_path)
    script = a_script_of_several_files(tmp_path / "percona")
    workload = replace(shipped("oltp_insert"), script=str(script))
    here = tmp_path / "client"
    line = own_files.prologue(workload, world).replace("/tmp/own", str(here))
    env = {**own_files.environment(workload, world), "PATH": os.environ["PATH"]}
    argv = ["bash", "-ec", f"{line}; ls"]
    listed = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    assert listed.stdout.split() == NAMES
    assert (here / "tpcc_run.lua").read_text() == 'local c = require "tpcc_counters"\n'


def test_a_script_that_is_a_link_goes_with_what_lies_beside_its_file(
    tmp_path: Path,
) -> None:
    world = replace(fake_world(Log(), tmp_path), root=tmp_path)
    script = a_script_of_several_files(tmp_path / "percona")
    (tmp_path / "here").mkdir()
    link = tmp_path / "here" / "link.lua"
    link.symlink_to(script)
    files = in_client(str(link), world, tmp_path / "client")
    assert files == {"link.lua", *NAMES[1:]}
    assert (tmp_path / "client" / "link.lua").read_text() == script.read_text()


def test_modules_in_folders_and_files_that_are_run_go_with_a_script(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "mine"
    world = replace(fake_world(Log(), tmp_path), root=tmp_path)
    (folder / "m").mkdir(parents=True)
    script = folder / "own.lua"
    script.write_text(
        'require "m.lib"\ndofile("extra.lua")\ndofile "/etc/other.lua"\n'
        'dofile("../outside.lua")\n'
    )
    (folder / "m" / "lib.lua").write_text('require "m.deep"\n')
    (folder / "m" / "deep.lua").write_text("return {}\n")
    (folder / "extra.lua").write_text("x = 1\n")
    (tmp_path / "outside.lua").write_text("x = 2\n")
    files = in_client(str(script), world, tmp_path / "client")
    assert files == {"own.lua", "extra.lua", "m/lib.lua", "m/deep.lua"}


def in_client(script: str, world: World, folder: Path) -> set[str]:
    """The files that the client's shell has after it has unpacked them into `folder`."""
    workload = replace(shipped("oltp_insert"), script=script)
    line = own_files.prologue(workload, world).replace("/tmp/own", str(folder))
    env = {**own_files.environment(workload, world), "PATH": os.environ["PATH"]}
    subprocess.run(["bash", "-ec", line], env=env, check=True)
    files: set[str] = set()
    for path in folder.rglob("*"):
        if path.is_file():  # and no link to nothing
            files.add(str(path.relative_to(folder)))
    return files


def test_a_script_below_workloads_runs_in_its_own_folder(tmp_path: Path) -> None:
    world = replace(fake_world(Log(), tmp_path), root=tmp_path)
    (tmp_path / "workloads").mkdir()
    a_script_of_several_files(tmp_path / "workloads" / "percona")
    workload = replace(shipped("oltp_insert"), script="percona/tpcc.lua")
    assert own_files.prologue(workload, world) == "cd /workloads/percona"
    assert own_files.environment(workload, world) == {}


def test_data_are_those_of_all_files_of_a_script(tmp_path: Path) -> None:
    world = replace(fake_world(Log(), tmp_path), root=tmp_path)
    script = a_script_of_several_files(tmp_path / "percona")
    workload = replace(shipped("oltp_insert"), script=str(script))
    before = SysbenchStock().scripts(workload, world)
    (script.parent / "another.lua").write_text("-- changed, and not required\n")
    assert SysbenchStock().scripts(workload, world) == before
    (script.parent / "tpcc_counters.lua").write_text("return {1}\n")
    assert SysbenchStock().scripts(workload, world) != before


def test_files_that_do_not_fit_are_refused_before_anything_starts(
    tmp_path: Path,
) -> None:
    world = replace(fake_world(Log(), tmp_path), root=tmp_path)
    script = tmp_path / "large.lua"
    script.write_bytes(os.urandom(200_000))
    workload = replace(shipped("oltp_insert"), script=str(script))
    with pytest.raises(UsageError, match=r"large\.lua .* characters when packed"):
        own_files.environment(workload, world)


def test_scripts_of_sysbench_share_loaded_data_and_a_users_own_have_theirs(
    tmp_path: Path,
) -> None:
    world = fake_world(Log(), tmp_path)
    version = SysbenchStock().loader_version
    insert = shipped("oltp_insert")
    assert version(insert, world) == version(shipped("oltp_delete"), world)
    own = replace(insert, script=str(ROOT / "tests/bench/multi_insert.lua"))
    assert version(own, world) not in (version(insert, world), "")


def played(world: World, answer: Callable[[str], Completed]) -> list[str]:
    """Lets `answer` play the client; returns the command lines as they come."""
    asked: list[str] = []

    def execute(_container: str, argv: list[str], **more: Any) -> Completed:
        asked.append(" ".join(argv))
        done = answer(asked[-1])
        for line in done.out.splitlines() if more.get("on_line") else ():
            more["on_line"](line)
        return done

    platform: Any = world.platform
    platform.exec = execute
    return asked


def numbered(text: str, number: int) -> str:
    return "".join(f"{number} {line}\n" for line in text.splitlines())


def test_a_run_leaves_the_output_of_each_process_and_its_commands(
    tmp_path: Path,
) -> None:
    said: list[float] = []
    seen_per_s: list[float] = []
    world = replace(
        fake_world(Log(), tmp_path / "cache"),
        window_begins=said.append,
        throughput_seen=seen_per_s.append,
    )
    whole = numbered(output("oltp_read_write"), 1) + numbered(
        output("oltp_point_select"), 2
    )
    asked = played(world, lambda _: Completed((), 0, whole, "", 1.0))
    workload = replace(shipped("oltp_delete"), warmup_s=2.0, measure_s=4.0)
    warmup, measure = SysbenchStock().run(
        ClientLoad(workload, TWO, Node("c", "client"), tmp_path, world)
    )
    assert said[0] == measure.start_s
    # Of the warm-up, and of the window.
    reported = [float(rate) for rate in re.findall(r"tps: ([\d.]+)", whole)]
    assert reported and seen_per_s == 2 * reported
    assert measure.end_s - measure.start_s == 4.0 and warmup.end_s == measure.start_s
    assert len(asked) == 2 and "secret" not in " ".join(asked)
    assert len((tmp_path / "command.txt").read_text().splitlines()) == 4
    result = SysbenchStock().read(workload, tmp_path, 100.0, 104.0)
    values = {one.metric: one.value for one in result.measurements}
    assert values["transactions"] == result.facts.sysbench_transactions == 4769 + 219044
    assert (result.facts.version, result.facts.more["image"]) == ("1.0.20", "our own")
    other = SysbenchStock("mine/sysbench:1").read(workload, tmp_path, 100.0, 104.0)
    assert other.facts.more["image"] == "mine/sysbench:1"
    assert (
        result.facts.more["processes"] == 2
        and result.facts.more["percentiles_within_pct"] == 0.91
    )
    assert result.latencies is None
    seconds = [98.0, 99.0, 100.0, 101.0, 100.0, 101.0, 102.0, 103.0]
    assert list(result.intervals["time_s"]) == seconds


def test_a_failed_process_says_what_sysbench_said(tmp_path: Path) -> None:
    world = fake_world(Log(), tmp_path / "cache")
    played(world, lambda _: Completed((), 1, numbered(output("refused"), 1), "", 1.0))
    with pytest.raises(
        LoadError, match=r"code 1: FATAL: .*db_bulk_insert_next\(\) failed"
    ):
        SysbenchStock().run(
            ClientLoad(
                shipped("bulk_insert"), ONE, Node("c", "client"), tmp_path, world
            )
        )
    with pytest.raises(LoadError, match="no output"):
        SysbenchStock().read(shipped("bulk_insert"), tmp_path / "none", 0.0, 1.0)


def test_loading_is_refused_by_its_words_and_by_its_rows(tmp_path: Path) -> None:
    """sysbench's `prepare` ends with code 0 also when it failed."""
    world = fake_world(Log(), tmp_path / "cache")
    workload = replace(shipped("oltp_insert"), dataset=Dataset("x", {"tables": 2}))
    client = Node("c", "client")

    def counting(rows: int) -> SysbenchStock:
        @contextmanager
        def connect(*_: Any) -> Iterator[Any]:
            yield SimpleNamespace(rows=lambda _statement: [{"rows": rows}])

        return SysbenchStock(connect=connect)

    asked = played(
        world, lambda _: Completed((), 0, "Creating table 'sbtest1'...", "", 1.0)
    )
    counting(10_000).load(workload, ONE, client, world)
    assert (
        "--tables=2 --rand-seed=3001 prepare" in asked[0] and "secret" not in asked[0]
    )
    several = replace(workload, loader_threads=4)
    for cluster, threads in ((ONE, 4), (replace(ONE, database="yugabytedb"), 1)):
        counting(10_000).load(several, cluster, client, world)
        assert f" --threads={threads} " in asked[-1], (
            "YugabyteDB makes one table at a time"
        )
    with pytest.raises(LoadError, match="9,999 rows into sbtest1, not 10,000"):
        counting(9_999).load(workload, ONE, client, world)
    played(
        world, lambda _: Completed((), 0, "FATAL: PQexec() failed: 7 no space", "", 1.0)
    )
    with pytest.raises(
        LoadError, match=r"failed: FATAL: PQexec\(\) failed: 7 no space"
    ):
        counting(10_000).load(workload, ONE, client, world)


def test_why_a_connection_failed_is_told_whichever_thread_complains_first() -> None:
    """As sysbench 1.0.20 wrote it to a server whose certificate another authority signed."""
    late = "FATAL: `sysbench.cmdline.call_command' function failed: connection creation failed"
    why = "FATAL: Connection to database failed: SSL error: certificate verify failed"
    assert sysbench_stock.complaint(f"{late}\n{why}") == why
    assert sysbench_stock.complaint(f"{why}\n{late}") == why
    assert sysbench_stock.complaint(f"ready\n{late}") == late


def test_all_processes_are_started_and_each_line_has_its_number() -> None:
    script = sysbench_stock._script_of_all([["echo", "a b"], ["echo", "c"]], ":")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert sorted(done.stdout.splitlines()) == ["1 a b", "2 c"]
    assert done.returncode == 0


def test_one_process_that_fails_is_told_though_the_other_does_not() -> None:
    script = sysbench_stock._script_of_all([["false"], ["true"]], ":")
    assert subprocess.run(["bash", "-c", script]).returncode == 1


def test_a_process_that_fails_before_the_next_is_started_is_told() -> None:
    """The shell forgets a job that has ended once it starts another."""
    script = sysbench_stock._script_of_all([["false"], ["true"]], ":")
    slowly = script.replace("\n{", "\nsleep 0.2\n{")
    assert subprocess.run(["bash", "-c", slowly]).returncode == 1
