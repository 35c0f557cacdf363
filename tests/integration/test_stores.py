"""A store that others run, by its URL: from the documented profile to a report, against Azurite.

Goal: Hadoop's driver and jobs work on a real wire, the key is nowhere in the results, and nothing
of a run stays in the store. An emulator is no service: no rate of it says anything.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.analysis import metric_values
from orchestrator.analysis.telemetry.use import telemetry_metrics
from orchestrator.analysis.verdicts import judge
from orchestrator.errors import EXIT_INCONCLUSIVE
from orchestrator.platforms import own_images
from orchestrator.powers import World
from orchestrator.system import store
from tests import TESTS
from tests.documented import documented_commands, examples
from tests.integration import servers
from tests.integration.conftest import tierbench

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("nothing_left")]

SECTION = "An object store by its URL"
ONE_TABLE = "HDFS and a store in one table"
PORT = 17600
# Azurite's only account, as its documentation has it.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
STORE = f"abfs://tests@{ACCOUNT}.dfs.core.windows.net"


@pytest.fixture
def endpoint(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where Azurite listens."""
    monkeypatch.setenv("AZURE_STORAGE_KEY", KEY)
    image = own_images.provide(TESTS, "azurite", world.platform, world.progress)
    with servers.azurite(image, PORT) as at:
        yield at


def profile(endpoint: str) -> str:
    """The documented one, of Azurite: it has the Blob endpoint alone, without TLS and folders."""
    (text,) = examples("HDFS.md", SECTION)
    url = "abfs://container@account.dfs.core.windows.net/folder"
    assert url in text
    settings = {
        "fs.azure.abfs.endpoint": endpoint,
        "fs.azure.always.use.https": "false",
        "fs.azure.account.hns.enabled": "false",
        "fs.azure.fns.account.service.type": "BLOB",
        "fs.azure.createRemoteFileSystemDuringInitialization": "true",
    }
    lines = "".join(f"    {name}: {value!r}\n" for name, value in settings.items())
    return text.replace(url, f"{STORE}/folder") + lines


def listed(endpoint: str, world: World) -> str:
    """What the driver lists in the store."""
    argv = (
        *(
            "job",
            "org.apache.hadoop.fs.FsShell",
            f"-Dfs.azure.abfs.endpoint={endpoint}",
        ),
        *("-Dfs.azure.always.use.https=false", "-Dfs.azure.account.hns.enabled=false"),
        *("-Dfs.azure.fns.account.service.type=BLOB", "-ls", "-R", "/"),
    )
    spec = own_images.container("hadoop", "tierbench-listing", argv, world)
    spec = replace(spec, environment={"STORE": STORE, "AZURE_STORAGE_KEY": KEY})
    done = world.platform.once(spec, timeout_s=60)
    assert done.exit_code == 0, done.tail()
    return done.out


@pytest.mark.slow
@pytest.mark.parametrize("workload", ["hdfs-sort", "hdfs-get"])
def test_the_documented_command_to_a_report_without_the_key_and_nothing_stays(
    workload: str, endpoint: str, world: World, tmp_path: Path
) -> None:
    """Between them they write, sort, scan, put and get; what was read is held to checksums."""
    file = tmp_path / "my-store.yaml"
    file.write_text(profile(endpoint))
    ((_, *words),) = documented_commands("HDFS.md", SECTION)
    given = {"my-store.yaml": str(file), "hdfs-put": workload}
    assert set(given) < set(words)
    words = [given.get(word, word) for word in words]
    size = ["--scale", "smoke", "--data", "32MB"]
    code, text = tierbench(*words, *size, "--results", str(tmp_path / "results"))
    assert code == 0, text
    (run,) = store.load(tmp_path / "results" / "latest").runs
    seen = (*run.record.measurements, *telemetry_metrics.telemetry_of(run))
    figures = {m.metric: m.value for m in seen if m.scope == "all"}
    assert figures["payload_bytes_per_s"] > 0
    if workload == "hdfs-sort":  # reading is over within a second or two
        assert figures["cpu_pct"] > 0, "the client's side is seen"
    assert [node.role for node in run.record.nodes].count("database") == 1
    page = (tmp_path / "results" / "latest" / "report.md").read_text()
    assert "others run it" in page and "Nothing was read of the store" in page
    kept = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    assert len(kept) > 10 and not [
        path for path in kept if KEY.encode() in path.read_bytes()
    ]
    assert KEY not in text and "may still be there" not in text
    assert "tierbench" not in listed(endpoint, world)


@pytest.mark.slow
def test_two_numbers_of_copies_and_a_store_are_measured_into_one_table(
    endpoint: str, tmp_path: Path
) -> None:
    """The documented command. They differ in more than the disk, so nothing is judged of them."""
    (one_copy,) = examples("HDFS.md", ONE_TABLE)
    of_store = profile(endpoint)
    three_clients = of_store.replace(
        "database: existing", "database: existing\n  nodes: 3"
    )
    ((_, *words),) = documented_commands("HDFS.md", ONE_TABLE)
    profiles = words.index("--profiles") + 1
    for name, text in (("one-copy.yaml", one_copy), ("my-store.yaml", three_clients)):
        file = tmp_path / name
        file.write_text(text)
        words[profiles] = words[profiles].replace(name, str(file))
    size = ["--scale", "smoke", "--set", "bytes=30_000_000", "--repeats", "1"]
    code, text = tierbench(*words, *size, "--results", str(tmp_path / "results"))
    assert code == EXIT_INCONCLUSIVE, text
    campaign = store.load(tmp_path / "results" / "latest")
    measured: dict[tuple[str, str], float] = {}
    for data in campaign.done:
        run = data.record.run
        figure = metric_values.value_of(data.record, "payload_bytes_per_s")
        measured[run.profile, run.workload] = figure or 0.0
    contenders = ("ultra", "one-copy", "my-store")
    workloads = ("hdfs-gen", "hdfs-scan")
    assert set(measured) == set(itertools.product(contenders, workloads)), text
    assert all(measured.values()), measured
    verdict = judge(campaign)
    assert {delta.verdict for delta in verdict.deltas} <= {"inconclusive"}
    assert [decision.tier for decision in verdict.decisions] == [None, None]
    page = (tmp_path / "results" / "latest" / "report.md").read_text()
    assert "replication factor 3 against 1; database hdfs against existing" in page
    assert "Nothing was read of the store" in page


@pytest.mark.slow
def test_a_wrong_key_is_said_before_anything_starts(
    endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_KEY", KEY.replace("Eby8", "Abcd"))
    file = tmp_path / "my-store.yaml"
    file.write_text(profile(endpoint))
    code, text = tierbench("run", "-p", str(file), "-w", "hdfs-put", "--scale", "smoke")
    assert code == 69 and "does not answer" in text and "403" in text
    assert KEY[4:] not in text
