"""Hadoop's jobs: where they run, the window around their tasks, and what makes a run void."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.measure import members
from orchestrator.design import factors
from orchestrator.errors import LoadError, UsageError
from orchestrator.extensions.hadoop.pages import Servers
from orchestrator.extensions.hadoop.tera import Tera
from orchestrator.load_generators import binding
from orchestrator.model import (
    Cluster,
    ClusterSpec,
    Node,
    NodeSize,
    Placing,
    Profile,
    Workload,
)
from orchestrator.parts import ClientLoad
from orchestrator.planning import data_sizes, owners, sizes, workloads
from orchestrator.powers import Completed, World
from tests import ROOT, hadoop
from tests.fakes import FakeClock, FakePlatform, completed, fake_world
from tests.pages import Server
from tests.plans import a_plan

NAMES = ("gen", "sort", "scan", "dfsio-write", "dfsio-read", "put", "get")
CLIENT = Node("client", "client", container="the-client")
GENERATED = (
    "CHECKSUM=1074598070305752\n"  # as gen.sh keeps it, of the rows that scan.log is of
)


def shipped(name: str, **options: Any) -> Workload:
    text = (ROOT / "workloads" / f"hdfs-{name}.yaml").read_text()
    load = workloads.read_workload(f"hdfs-{name}", text, "smoke")
    return binding.bind(replace(load, options={**load.options, **options}), None)


class Jobs(FakePlatform):
    """Each job says what the real one of its script was seen to say, a tenth of a second a line."""

    def __init__(self, said: str | Completed, clock: FakeClock) -> None:
        def answer(_container: str, _argv: Sequence[str]) -> Completed:
            return completed(said) if isinstance(said, str) else said

        super().__init__(answer=answer)
        self.clock = clock

    def exec(self, container: str, argv: Sequence[str], **options: Any) -> Completed:
        on_line = options.get("on_line")

        def slowly(line: str) -> None:
            self.clock.sleep(0.1)
            if on_line:
                on_line(line)

        return super().exec(container, argv, **{**options, "on_line": slowly})


def ran(
    workload: Workload,
    said: str | Completed,
    out: Path,
    changed: dict[str, str] | None = None,
) -> tuple[Any, Jobs, list[float]]:
    clock, begins = FakeClock(), list[float]()
    platform = Jobs(said, clock)
    world: World = replace(
        fake_world(platform=platform, clock=clock), window_begins=begins.append
    )
    with hadoop.cluster(changed) as cluster:
        phases = Tera().run(ClientLoad(workload, cluster, CLIENT, out, world))
    return phases, platform, begins


def test_on_a_store_by_its_url_nobody_is_asked_for_copies(tmp_path: Path) -> None:
    platform = Jobs(hadoop.said("gen.log"), clock := FakeClock())
    world: World = fake_world(platform=platform, clock=clock)
    own = {"STORE": "s3a://bucket", "FOLDER": "/folder/of-a-run", "SETTINGS": ""}
    nodes = (Node("node-1", "database", container="node-1"),)
    cluster = Cluster("store", "", nodes, (), "net", Servers("", {}, own))
    Tera().run(ClientLoad(shipped("gen"), cluster, CLIENT, tmp_path, world))
    (environment,) = platform.environments
    assert own.items() < environment.items()
    assert environment["BYTES"] == "192000000"


def test_a_writer_on_every_node_from_the_first_task_to_the_last(tmp_path: Path) -> None:
    (warmup, measure), platform, begins = ran(
        shipped("gen"), hadoop.said("gen.log"), tmp_path
    )
    assert sorted(asked[1] for asked in platform.asked) == list(hadoop.NODES)
    assert begins[0] == measure.start_s and warmup.end_s == measure.start_s
    # The task begins in the 14th line of each job and ends in the 57th.
    assert measure.duration_s >= 4.3
    result = Tera().read(shipped("gen"), tmp_path, measure.start_s, measure.start_s + 4)
    figures = {figure.metric: figure.value for figure in result.measurements}
    assert figures == {
        "payload_bytes_per_s": 3 * 64e6 / 4,
        "throughput_per_s": 3 * 64 / 4,
        "elapsed_s": 4.0,
    }
    assert result.facts.payload == "written" and result.facts.ends_with_work
    assert {environment["SHARE"] for environment in platform.environments} == {
        *hadoop.NODES
    }
    assert {environment["BYTES"] for environment in platform.environments} == {
        "64000000"
    }
    assert {environment["COPIES"] for environment in platform.environments} == {"3"}


def test_the_same_jobs_in_a_client(tmp_path: Path) -> None:
    load = shipped("gen", jobs_on="client")
    _, platform, _ = ran(load, hadoop.said("gen.log"), tmp_path)
    assert [asked[1] for asked in platform.asked] == ["the-client"] * 3
    assert {environment["SHARE"] for environment in platform.environments} == {
        *hadoop.NODES
    }


def test_several_tasks_of_a_job(tmp_path: Path) -> None:
    (_, measure), _, _ = ran(
        shipped("dfsio-write"), hadoop.said("dfsio-write.log"), tmp_path
    )
    assert measure.duration_s >= 29.0  # from its line 21 to its line 310


def test_a_sort_begins_when_it_samples_its_rows(tmp_path: Path) -> None:
    """Which reads most of them, so that tasks would have them from memory."""
    lines = hadoop.said("sort.log").splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("Sampling "))
    last = max(n for n, line in enumerate(lines) if "Finishing task: " in line)
    (_, measure), _, _ = ran(shipped("sort"), hadoop.said("sort.log"), tmp_path)
    assert measure.duration_s >= 0.1 * (last - first)


def test_a_scan_gives_the_checksum_of_the_generator(tmp_path: Path) -> None:
    (_, measure), _, _ = ran(
        shipped("scan"), hadoop.said("scan.log") + GENERATED, tmp_path
    )
    facts = Tera().read(shipped("scan"), tmp_path, measure.start_s, measure.end_s).facts
    assert facts.more["checksums"] == ["3d1575c41c3d8"] * 3
    assert facts.payload == "read"


@pytest.mark.parametrize(
    ("name", "facts"), [("sort", {"checksums": ["3d1575c41c3d8"] * 3}), ("gen", {})]
)
def test_sorted_rows_are_scanned_after_the_run(
    name: str, facts: dict[str, Any], tmp_path: Path
) -> None:
    clock = FakeClock()
    platform = Jobs(hadoop.said("scan.log") + GENERATED, clock)
    world: World = fake_world(platform=platform, clock=clock)
    with hadoop.cluster() as cluster:
        assert Tera().verify(shipped(name), cluster, world) == facts


@pytest.mark.parametrize(
    ("name", "said", "changed", "why"),
    [
        ("scan", hadoop.said("scan.log") + "CHECKSUM=1\n", {}, "3d1575c41c3d8, not 1"),
        ("scan", hadoop.said("scan.log"), {}, "is 0, not 1"),
        (
            "gen",
            completed("x\njava.io.IOException: no room\n", 1),
            {},
            "IOException: no room",
        ),
        ("gen", "nothing of a task\n", {}, "no task of gen"),
        (
            "gen",
            hadoop.said("gen.log"),
            {hadoop.FSCK: hadoop.lacking(3)},
            "3 under-replicated blocks",
        ),
    ],
)
def test_what_makes_a_run_void(
    name: str, said: str | Completed, changed: dict[str, str], why: str, tmp_path: Path
) -> None:
    with pytest.raises(LoadError) as void:
        ran(shipped(name), said, tmp_path, changed)
    assert why in void.value.what
    assert (tmp_path / f"{name}-node-1.log").is_file()


def test_copies_that_were_made_again_meanwhile_make_it_void(tmp_path: Path) -> None:
    """A job ends well all the same."""
    clock = FakeClock()
    with closing(Server()) as server:
        server.pages |= {path: (200, text) for path, text in hadoop.pages().items()}

        class Repairing(Jobs):
            def exec(
                self, container: str, argv: Sequence[str], **options: Any
            ) -> Completed:
                server.pages[hadoop.ACTIVITY] = (200, hadoop.said("dnact-copied.json"))
                return super().exec(container, argv, **options)

        world = fake_world(
            platform=Repairing(hadoop.said("gen.log"), clock), clock=clock
        )
        load = ClientLoad(
            shipped("gen"), hadoop.at(server.url), CLIENT, tmp_path, world
        )
        with pytest.raises(
            LoadError, match="9 blocks were copied again, and now all have theirs"
        ):
            Tera().run(load)


def test_a_deadline_is_no_rate(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="not done within `measure`"):
        ran(replace(shipped("gen"), measure_s=1.0), hadoop.said("gen.log"), tmp_path)


@pytest.mark.parametrize(
    ("name", "before"),
    [("gen", []), ("sort", ["TeraGen"]), ("scan", ["TeraGen", "TeraSort"])],
)
def test_a_data_set_is_what_the_jobs_before_leave(name: str, before: list[str]) -> None:
    platform = FakePlatform()
    with hadoop.cluster() as cluster:
        Tera().load(shipped(name), cluster, CLIENT, fake_world(platform=platform))
    of_first = [asked[-1] for asked in platform.asked if asked[1] == "node-1"]
    assert [
        f"terasort.{job} " in text for job, text in zip(before, of_first, strict=True)
    ] == [True] * len(before)


def test_what_its_files_may_not_say() -> None:
    size = NodeSize(1.0, 2**30, 2**31)
    spec = ClusterSpec("hdfs", 3, 3, size, client="beside")
    with pytest.raises(UsageError, match="cannot run on this cluster"):
        Tera().check(shipped("gen"), spec, fake_world())
    Tera().check(shipped("gen", jobs_on="client"), spec, fake_world())
    with pytest.raises(UsageError) as few:
        Tera().check(
            shipped("put"), replace(spec, nodes=13, client="outside"), fake_world()
        )
    assert few.value.mistakes[0].where == "dataset.bytes"
    for options in ({"jobs_on": "elsewhere"}, {"batch": 10}):
        with pytest.raises(UsageError) as refused:
            shipped("gen", **options)
        assert refused.value.mistakes[0].where.endswith(next(iter(options)))


def test_other_workloads_do_not_run_on_it_nor_these_elsewhere() -> None:
    own = a_plan().profiles
    with pytest.raises(UsageError, match="hdfs-gen cannot run on postgresql"):
        owners.check_owners(own, [shipped("gen")], "postgresql", members.on_files())
    with pytest.raises(UsageError, match="cannot run on hdfs"):
        owners.check_owners(own, a_plan().workloads, "hdfs", members.on_files())
    owners.check_owners(
        own, [shipped(name) for name in NAMES], "hdfs", members.on_files()
    )
    with pytest.raises(UsageError, match="cannot be started as hdfs"):
        owners.check_owners(
            [of_others(own[0])], [shipped("gen")], "hdfs", members.on_files()
        )
    apart = replace(own[0], placing=Placing(machines=("ssh://db-1", "ssh://db-2")))
    with pytest.raises(UsageError, match="one Docker engine or on Kubernetes"):
        owners.check_owners([apart], [shipped("gen")], "hdfs", members.on_files())


def of_others(profile: Profile) -> Profile:
    """The profile on a store of files that others run."""
    url = {"url": "abfs://container@account.dfs.core.windows.net"}
    cluster = replace(profile.cluster, database="existing", existing=url)
    return replace(profile, cluster=cluster)


@pytest.mark.parametrize(
    ("database", "workload", "refused"),
    [
        ("hdfs", "gen", ""),
        ("auto", "gen", "hdfs-gen cannot run on auto"),
        ("postgresql", "gen", "hdfs-gen cannot run on postgresql"),
    ],
)
def test_what_is_started_is_said_and_a_store_beside_it_stays_what_it_is(
    database: str, workload: str, refused: str
) -> None:
    (own, *_) = a_plan().profiles
    own = replace(own, cluster=replace(own.cluster, database="auto"))
    for both in ([own, of_others(own)], [of_others(own), own]):
        loads = [shipped(workload)]
        if refused:
            with pytest.raises(UsageError, match=refused):
                owners.check_owners(both, loads, database, members.on_files())
        else:
            owners.check_owners(both, loads, database, members.on_files())


def test_its_data_are_sized_as_those_of_a_database_are() -> None:
    load = shipped("gen")
    assert data_sizes.data_bytes(load) == 192_000_000
    _, (larger,), _ = sizes.with_data(
        a_plan().profiles, [load], factors.data_size("2GB")
    )
    assert larger.dataset.parameters["bytes"] == 2_000_000_000
