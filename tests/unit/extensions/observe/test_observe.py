"""`tierbench observe`: what its page says, from files and from itself; what it refuses."""

from __future__ import annotations

import json
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.answers.disk_words import row_in_words
from orchestrator.errors import (
    EXIT_DONE,
    EXIT_INTERRUPTED,
    EXIT_UNAVAILABLE,
    EXIT_USAGE,
)
from orchestrator.extensions.observe.commands import observe_options
from orchestrator.extensions.observe.histories import files
from orchestrator.extensions.observe.judging import replay
from orchestrator.extensions.observe.judging.disk_demands import demands
from orchestrator.extensions.observe.judging.rate_caps import RateCap
from orchestrator.kernel import block_devices
from orchestrator.planning import named_tiers
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.system import parquet
from orchestrator.system.clock import MadeUpClock
from orchestrator.system.http_client import TSERVER_RPC_PORT
from tests import ROOT, pages
from tests.apps import an_app, tierbench, with_parts
from tests.clocks import SampledClock
from tests.documented import examples
from tests.fake_existing import POSTGRESQL, Server, database
from tests.observations import (
    BEGIN_S,
    BURSTY,
    ON,
    SIZED,
    Ticking,
    a_profile,
    observed,
    stored,
)
from tests.silent_peers import hanging_up
from tests.simulated_demand import in_seconds, seconds_of, summed, table
from tests.written_histories import cloudwatch

CSV = ROOT / "tests/fixtures/histories/disk.csv"


def plain(text: str) -> str:
    """With spaces at which a line may break."""
    return text.replace("\xa0", " ")


def least_of_fixed_size(folder: Path) -> int:
    """GiB of the smallest single disk of these that was looked at."""
    offered = set(pd.read_csv(folder / "candidates.csv")["candidate"])
    sizes_gib = {
        "azure/P10": 128,
        "azure/P15": 256,
        "azure/P20": 512,
        "azure/P30": 1024,
    }
    return min(gib for name, gib in sizes_gib.items() if name in offered)


def test_a_file_becomes_a_page_with_words(tmp_path: Path) -> None:
    folder = observed(tmp_path, "--file", str(CSV), *ON)
    facts = json.loads((folder / "observed.json").read_text())
    assert facts["read"][0]["device"] == "vda" and facts["refused"] == ""
    text = (folder / "report.md").read_text()
    assert "nothing was loaded, and no such disk was touched." in text
    assert "counters every 1 s" in text


def test_what_a_disk_counts_settles_minutes_up_to_the_page(tmp_path: Path) -> None:
    """As docs/OBSERVE.md has it: sums of minutes, of a disk whose limits were never exceeded."""
    minutes = table(summed(seconds_of("poisson", 3, 6 * 3600, mean=300.0), 60))
    sums = minutes.rename(columns={"begin_s": "begin", "end_s": "end"})
    alone = tmp_path / "minutes.csv"
    sums.to_csv(alone, index=False)
    counted = tmp_path / "counted.csv"
    over_s = dict.fromkeys(
        ("iops_over_s", "bandwidth_over_s", "machine_iops_over_s"), 0.0
    )
    sums.assign(**over_s, machine_bandwidth_over_s=0.6).to_csv(counted, index=False)
    words: list[dict[str, str]] = []
    for number, file in enumerate((alone, counted)):
        results = tmp_path / str(number)
        source = "aws/gp3:size=250GiB,iops=3000,throughput=125MiB/s"
        words_of_line = ("--file", str(file), "--source", source, "--at-cap", "2")
        folder = observed(results, *words_of_line, *SIZED)
        found = pd.read_csv(folder / "candidates.csv")
        words.append(dict(zip(found["candidate"], found["word"], strict=True)))
    assert words[0]["azure/P50"] == "cannot be told"
    assert words[1]["azure/P50"] == "would have carried"
    text = plain((folder / "report.md").read_text())
    assert (
        "The observed disk counted that limits held it back for 1 % of the time" in text
    )
    assert "held the disk back for up to 1 % of the time. Another disk" in text


def test_a_machines_limit_of_azure_monitor_is_on_the_page(tmp_path: Path) -> None:
    """As docs/SOURCES.md has it: the machine's percentages in a file beside that of its disks."""
    disks = json.loads(
        (ROOT / "tests/fixtures/histories/azure_monitor.json").read_text()
    )
    like = disks["value"][0]
    data: list[dict[str, Any]] = []
    for point in like["timeseries"][0]["data"]:
        data.append({"timeStamp": point["timeStamp"], "average": 100.0})
    name = {"value": "VM Uncached IOPS Consumed Percentage"}
    machine = {**like, "name": name, "timeseries": [{"data": data}]}
    (tmp_path / "db-1.json").write_text(json.dumps(disks))
    (tmp_path / "db-1-vm.json").write_text(json.dumps({**disks, "value": [machine]}))
    given: list[str] = []
    for file in ("db-1.json", "db-1-vm.json"):
        given += ["--file", str(tmp_path / file)]
    results = tmp_path / "results"
    folder = observed(results, *given, "--device", "lun0", *ON)
    text = plain((folder / "report.md").read_text())
    assert "held the disk back for up to 100 % of the time. Another disk" in text
    facts = json.loads((folder / "observed.json").read_text())
    assert list(facts["reported"]) == ["IOPS of the VM"]
    assert "fit no interval" not in text
    again = observed(results, "--file", str(folder), *ON)
    assert "held the disk back" in (again / "report.md").read_text()


def of_machines(folder: Path, node: str) -> str:
    """A file of what Azure Monitor reports of a machine alone."""
    content = json.loads(
        (ROOT / "tests/fixtures/histories/azure_monitor.json").read_text()
    )
    like = content["value"][0]
    data = [{"timeStamp": "2026-11-26T06:19:00Z", "average": 100.0}]
    machine = {
        **like,
        "id": like["id"].replace("/db-1/", f"/{node}/"),
        "name": {"value": "VM Uncached IOPS Consumed Percentage"},
        "timeseries": [{"data": data}],
    }
    file = folder / f"{node}-vm.json"
    file.write_text(json.dumps({**content, "value": [machine]}))
    return str(file)


def test_reports_of_a_machine_without_its_disks_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--file", of_machines(tmp_path, "db-1"), *SIZED)
    assert tierbench(an_app(tmp_path), "observe", *words) == EXIT_USAGE
    assert "these files report of machines alone" in capsys.readouterr().err


def test_reports_of_another_machine_are_said_to_be_of_no_disk(tmp_path: Path) -> None:
    disks = str(ROOT / "tests/fixtures/histories/azure_monitor.json")
    machine = of_machines(tmp_path, "db-2")
    results = tmp_path / "results"
    folder = observed(results, "--file", disks, "--file", machine, *SIZED)
    text = plain((folder / "report.md").read_text())
    assert "reports of the machine db-2 fit no interval of its disks" in text


def test_the_terminal_has_the_lines_of_the_cards_and_what_bounds_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """How long each disk would have been at its cap is in the table, and on the page."""
    folder = observed(tmp_path, "--file", str(CSV), *ON)
    out = capsys.readouterr().out
    assert "would have been at its cap" not in out
    assert "would have been at its cap" in (folder / "report.md").read_text()
    assert "No cheaper disk" in out or "cannot be told" in out
    assert "Next" in out and "Why" in out


def test_what_was_observed_is_shown_though_nothing_can_be_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = observed(tmp_path, "--file", str(CSV), *ON)
    answer = capsys.readouterr().out.replace(str(kept), "FOLDER").splitlines()
    words = ("--file", str(CSV), *ON, "--results", "/proc/nowhere")
    assert tierbench(an_app(tmp_path), "observe", *words) == EXIT_UNAVAILABLE
    said = capsys.readouterr()
    shown = re.sub(r"/proc/nowhere/[\w-]+", "FOLDER", said.out).splitlines()
    assert shown == answer[:-1], "all but where the page is"
    assert "tierbench: this observation is not kept: /proc/nowhere/" in said.err


@pytest.mark.parametrize("name", ["azure_monitor", "cloudwatch"])
def test_metrics_of_a_provider_become_a_page_with_bounds(
    name: str, tmp_path: Path
) -> None:
    folder = observed(tmp_path, "--file", str(CSV.with_name(f"{name}.json")), *ON)
    facts = json.loads((folder / "observed.json").read_text())
    assert (
        facts["read"][0]["device"] in ("lun0", "vol-0123456789abcdef0")
        and facts["refused"]
    )
    text = (folder / "report.md").read_text()
    assert "seconds unknown" in text and "would not" in text


def test_seconds_with_the_names_of_a_provider_are_the_shape_of_its_minutes(
    tmp_path: Path,
) -> None:
    """With the names that docs/OBSERVE.md puts into iostat's JSON; its host is called `vm`."""
    seconds, minutes = tmp_path / "lun0.json", tmp_path / "db-1.json"
    text = CSV.with_name("iostat.json").read_text()
    seconds.write_text(text.replace('"vda"', '"lun0"').replace('"vm"', '"db-1"'))
    text = CSV.with_name("azure_monitor.json").read_text()
    minutes.write_text(text.replace("T06:20", "T07:20"))
    words = ("--file", str(seconds), "--file", str(minutes), "--device", "lun0", *ON)
    (demand,) = demands(files.read(observed(tmp_path, *words)))
    assert len(demand.pieces) == 1 and demand.resolution_s == 60


def test_reads_that_are_not_known_apart_are_none(tmp_path: Path) -> None:
    sadf = ROOT / "tests/fixtures/histories/sadf.json"
    folder = observed(tmp_path, "--file", str(sadf), "--device", "vda", *ON)
    busiest = json.loads((folder / "observed.json").read_text())["busiest_hour"]
    assert busiest["reads_per_s"] is None and busiest["writes_per_s"] > 100


def test_pieces_are_kept_with_what_they_calibrate(tmp_path: Path) -> None:
    fine = [BURSTY.part(slice(n * 900, n * 900 + 120)) for n in range(24)]
    folder = observed(
        tmp_path,
        "--file",
        str(stored(tmp_path / "read", summed(BURSTY, 15), *fine)),
        *ON,
    )
    (demand,) = demands(files.read(folder))
    assert len(demand.pieces) == 24 and demand.resolution_s == 15
    text = (folder / "report.md").read_text()
    assert "Seconds were read in 24 pieces only" in text and "less than 12 %" in text


def test_sums_alone_are_said_to_tell_no_seconds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Then nobody knows for how long users would wait, and JSON has no word for NaN."""
    read = stored(tmp_path / "read", summed(BURSTY, 600))
    text = (
        observed(tmp_path, "--file", str(read), "--output=json", *ON) / "report.md"
    ).read_text()
    assert "seconds unknown" in text and "bounds that hold without seconds" in text
    assert "- **Next**: Read seconds for an hour: `" in text
    first = text.partition("## What to measure next")[2]
    assert "iostat -o JSON -xt sdc 1 3600 > seconds.json && " in first
    assert "tierbench observe --file seconds.json --vm" in first
    assert " ".join(ON) in first
    assert "at least 0 %" not in plain(text)
    told = json.loads(capsys.readouterr().out)
    assert told["status"] == "cannot be told from minutes"
    answers = told["answers"]
    assert all(
        each["waits_least_pct"] is each["waits_most_pct"] is None for each in answers
    )
    assert any(each["queues_most_pct"] > each["queues_least_pct"] for each in answers)


def test_prices_of_several_providers_are_said_to_be_of_several_lists(
    tmp_path: Path,
) -> None:
    read = stored(tmp_path / "read", BURSTY.part(slice(0, 3600)))
    folder = observed(tmp_path, "--file", str(read), "--size", "250GiB")
    assert "Prices are not of one list (" in (folder / "report.md").read_text()
    names = pd.read_csv(folder / "candidates.csv")["candidate"]
    assert {name.partition("/")[0] for name in names} == {"aws", "azure", "gcp"}
    assert len(list((folder / "profiles").glob("*.yaml"))) == 6  # two of each


def test_a_capped_source_says_at_least(tmp_path: Path) -> None:
    read = stored(tmp_path / "read", BURSTY)
    folder = observed(tmp_path, "--file", str(read), "--source", "azure/P20", *ON)
    text = (folder / "report.md").read_text()
    assert "the observed disk was at its own cap (IOPS 2,300" in text
    rows = pd.read_csv(folder / "candidates.csv").set_index("candidate")
    assert rows.loc["azure/P80", "at_least"] and not rows.loc["azure/S50", "at_least"]
    every = text.partition("## Every disk")[2].splitlines()
    (larger,) = (line for line in every if line.startswith("| azure/P80 "))
    (smaller,) = (line for line in every if line.startswith("| azure/S50 "))
    assert "of what was read" in larger and "of what was read" not in smaller
    assert "at least 0 %" not in plain(text) and "at least" not in smaller


def test_a_cap_that_readings_alone_show_leaves_larger_disks_untold(
    tmp_path: Path,
) -> None:
    """What it kept from the disk was not seen, whoever did not name it."""
    own = RateCap("IOPS", "ios", 2300.0, 2300.0)
    limit, waits, _ = replay.replayed(
        BURSTY.ios, BURSTY.ios, BURSTY.step_s, own, full=True
    )
    served = np.minimum(BURSTY.ios + waits, limit)
    folder = observed(
        tmp_path, "--file", str(stored(tmp_path / "read", in_seconds(served))), *ON
    )
    text = (folder / "report.md").read_text()
    assert (
        "held back?" in text
        and "readings stay close to bytes/s 18,841,600 and IOPS 2,3" in text
    )
    (larger,) = (line for line in text.splitlines() if line.startswith("| azure/P80 "))
    assert (
        "cannot be told" in larger
        and "of what was read" in larger
        and "at least 0 %" not in plain(text)
        and "name it with --source" in larger
    )
    rows = pd.read_csv(folder / "candidates.csv").set_index("candidate")
    assert rows.loc["azure/S50", "word"] == "would not"


def test_what_cloudwatch_tells_of_a_volumes_limit_is_on_the_page(
    tmp_path: Path,
) -> None:
    """The documented command asks for it; a file of such an answer leads to the page."""
    asked = examples("SOURCES.md", "Metrics of providers")[0]
    assert "VolumeIOPSExceededCheck" in asked
    values = {
        "VolumeReadOps": 60_000.0,
        "VolumeWriteOps": 120_000.0,
        "VolumeReadBytes": 491_520_000.0,
        "VolumeWriteBytes": 983_040_000.0,
        "VolumeIOPSExceededCheck": 1.0,
    }
    (file,) = cloudwatch(values).files.items()
    name, content = file
    (tmp_path / name).write_bytes(content)
    folder = observed(tmp_path, "--file", str(tmp_path / name), "--size", "250GiB")
    text = plain((folder / "report.md").read_text())
    assert (
        "Its provider reports that the observed disk was at its limit for 100 %" in text
    )
    assert "IOPS 3,000" in text
    facts = json.loads((folder / "observed.json").read_text())
    assert facts["reported"] == {"IOPS": 3000.0}


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ((), "there is nothing to observe"),
        (
            ("--file", "nowhere.json"),
            "nowhere.json cannot be read: No such file or directory",
        ),
        (("disk.csv",), "a file or a value after the name of its option"),
        (("--file", str(CSV), "--at-cap", "100"), "it is a percentage"),
        (("--file", str(CSV), "--device", "sdc"), "no readings of sdc"),
        (
            ("--file", str(CSV), "--device", "("),
            "'--device': '(' is not a regular expression: missing )",
        ),
        (
            ("--exporter", "http://127.0.0.1:9", "--device", "a", "--vm", "azure/none"),
            "--vms` lists",
        ),
        (
            ("--exporter", "http://127.0.0.1:9", "--device", "a", "--region", "lots"),
            "--region takes eastus",
        ),
        (("--file", str(CSV), "--source", "azure/P99"), "unknown tier"),
        (("--file", str(CSV), "--last", "1x"), "a time such as 30s"),
        (
            ("--prometheus", "prom:9090"),
            "--prometheus does not begin with http:// or https:// → write --prometheus "
            "http://prom:9090",
        ),
        (("--exporter", "db-1:9100"), "write --exporter http://db-1:9100"),
        (("--exporter", "http://a:1"), "the disk of a:1 to read is not known"),
        (
            ("--file", str(CSV), "--calibrate", "24x5m"),
            "--calibrate 24x5m has no effect here",
        ),
        (
            ("--exporter", "http://a:1", "--calibrate", "24x5m", "--last", "2h"),
            "has no effect here",
        ),
        (
            ("--exporter", "http://a:1", "--calibrate", "2x5m"),
            "24 pieces or more of 60 s or more",
        ),
        (("--exporter", "http://a:1", "--calibrate", "many"), "expected"),
        (("--profile", "nowhere"), "nowhere"),
        (
            ("--file", str(CSV), "--striped", "--source", "azure/P20:count=2"),
            "name one device: --source without count",
        ),
        (
            ("--file", str(CSV), "--source", "azure/P20+wal=azure/P4"),
            "name one disk: --source without wal",
        ),
        (
            ("--file", str(CSV), "--device", "*"),
            "Write a device's name, or a pattern such as 'sd[ab]'",
        ),
    ],
)
def test_what_cannot_be_done_is_refused(
    words: tuple[str, ...],
    what: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    app = an_app(tmp_path)
    words = (*words, *SIZED, "--results", str(tmp_path))
    assert tierbench(app, "observe", *words) == EXIT_USAGE
    assert what in " ".join(capsys.readouterr().err.split())


UNSIZED = "the disk size that is needed is not known, because counters do not show it"


@pytest.mark.parametrize(
    "words",
    [
        ("--file", str(CSV)),
        ("--prometheus", "http://127.0.0.1:9"),
        ("--exporter", "http://127.0.0.1:9", "--device", "sdc"),
    ],
)
def test_without_a_size_nothing_is_read(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 1 GiB, which nobody said, the cheapest disk is one that holds no database."""
    words = (*words, "--results", str(tmp_path))
    assert tierbench(an_app(tmp_path), "observe", *words) == EXIT_USAGE
    said = " ".join(capsys.readouterr().err.split())
    assert UNSIZED in said and "--size 250GiB" in said
    assert not list(tmp_path.glob("*observed*"))


@pytest.mark.parametrize(("more", "least_gib"), [((), 256), (("--size", "1TiB"), 1024)])
def test_a_profile_says_how_large_a_disk_has_to_be(
    more: tuple[str, ...], least_gib: int, tmp_path: Path
) -> None:
    device = next(iter(block_devices.counter_rows(LocalMachine())))
    file = a_profile(tmp_path, hosts="localhost", devices=device)
    folder = observed(tmp_path, "--profile", str(file), "--last", "3s", *more)
    assert least_of_fixed_size(folder) == least_gib


def test_a_profile_whose_disk_has_no_size_does_not_say_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = a_profile(tmp_path, "enforcement: existing", hosts="localhost")
    file.write_text(f"title: a disk that nobody named\n{file.read_text()}")
    words = ("--profile", str(file), "--device", "vda", "--results", str(tmp_path))
    assert tierbench(an_app(tmp_path), "observe", *words) == EXIT_USAGE
    assert UNSIZED in " ".join(capsys.readouterr().err.split())


def test_every_documented_command_says_a_size() -> None:
    text = (ROOT / "docs/OBSERVE.md").read_text()
    commands = re.findall(r"tierbench observe --[^`\n]+", text)
    assert len(commands) >= 8
    assert [command for command in commands if "--size" not in command] == []


def test_a_server_that_does_not_answer(tmp_path: Path) -> None:
    words = ("--prometheus", "http://127.0.0.1:9", *SIZED, "--results", str(tmp_path))
    assert tierbench(an_app(tmp_path), "observe", *words) == EXIT_UNAVAILABLE


@pytest.mark.parametrize(
    ("text", "pieces"),
    [("24x60s", (24, 60.0)), ("23x60s", None), ("24x59s", None), ("x5m", None)],
)
def test_pieces_are_enough_and_long_enough(
    text: str, pieces: tuple[int, float] | None
) -> None:
    if pieces is None:
        with pytest.raises(ValueError, match="24 pieces or more of 60 s or more"):
            observe_options.pieces_in(text)
        return
    assert observe_options.pieces_in(text) == pieces


def test_an_exporter_that_does_not_answer_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = replace(an_app(tmp_path), clock=MadeUpClock(1.8e9))
    words = (
        "--exporter",
        "http://127.0.0.1:9",
        "--device",
        "sdc",
        "--last",
        "5s",
        *SIZED,
    )
    assert (
        tierbench(app, "observe", *words, "--results", str(tmp_path))
        == EXIT_UNAVAILABLE
    )
    assert "nothing was read: 127.0.0.1:9 sdc: " in capsys.readouterr().err


def test_the_rpc_port_of_a_tablet_server_is_told_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = replace(an_app(tmp_path), clock=MadeUpClock(1.8e9))
    with hanging_up(TSERVER_RPC_PORT) as url:
        words = ("--exporter", url, "--device", "sdc", "--last", "5s", *SIZED)
        code = tierbench(app, "observe", *words, "--results", str(tmp_path))
    assert code == EXIT_UNAVAILABLE
    said = " ".join(capsys.readouterr().err.split())
    assert "Port 9100 is the RPC port of a YugabyteDB tablet server" in said
    assert "9300 in YugabyteDB's examples" in said


class Interrupted(MadeUpClock):
    def sleep(self, seconds: float) -> None:
        raise KeyboardInterrupt


def test_after_an_interruption_it_says_how_an_observation_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Interrupted(BEGIN_S)
    with closing(pages.Server()) as exporter:
        exporter.pages = Ticking(clock)
        words = (
            "--exporter",
            exporter.url,
            "--device",
            "vda",
            *SIZED,
            "--results",
            str(tmp_path),
        )
        app = an_app(tmp_path, clock=clock)
        assert tierbench(app, "observe", *words) == EXIT_INTERRUPTED
    said = " ".join(capsys.readouterr().err.split())
    assert (
        "the same command goes on in the same folder" in said and "campaign" not in said
    )


# ------------------------------------------------------------------ the nodes of a profile


def test_disks_of_an_existing_cluster_are_found_as_for_a_run_and_nothing_is_written(
    tmp_path: Path,
) -> None:
    server = Server(
        banner=POSTGRESQL, databases={"postgres": set()}, directory="/mnt/data"
    )
    clock = SampledClock(BEGIN_S)
    app = an_app(tmp_path, clock=clock)
    families = app.parts(None)
    known = {**families.databases, "existing": database(server)}
    with closing(pages.Server()) as exporter:
        exporter.pages = Ticking(clock)
        keys = {"hosts": "10.0.0.21", "maintenance_database": "postgres"}
        file = a_profile(tmp_path, node_exporters=exporter.url, **keys)
        words = (
            "--profile",
            str(file),
            "--last",
            "3s",
            "--results",
            str(tmp_path),
            *ON,
        )
        app = with_parts(app, replace(families, databases=known))
        assert tierbench(app, "observe", *words) == EXIT_DONE
    (folder,) = tmp_path.glob("observed-*")
    (demand,) = demands(files.read(folder))
    assert (demand.node, demand.device) == (exporter.url.removeprefix("http://"), "vda")
    assert {statement.split()[0] for statement in server.statements} <= {
        "SELECT",
        "SHOW",
    }


def test_disks_of_this_computer_are_read_without_an_exporter(tmp_path: Path) -> None:
    machine = LocalMachine()
    device = next(iter(block_devices.counter_rows(machine)))
    file = a_profile(tmp_path, hosts="localhost", devices=device)
    words = ("--profile", str(file), "--last", "3s", "--results", str(tmp_path), *ON)
    app = an_app(tmp_path, clock=SampledClock(BEGIN_S))
    # No engine is asked.
    assert tierbench(app, "observe", *words) == EXIT_DONE
    (folder,) = tmp_path.glob("observed-*")
    (demand,) = demands(files.read(folder))
    assert (demand.node, demand.device) == (machine.name, device)


def test_disks_of_this_computer_are_not_taken_for_those_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for keys, said in (
        ({}, "the disks of the hosts of ours cannot be seen"),
        ({"node_exporter": "http://10.0.0.21:9100"}, "unknown key"),
    ):
        file = a_profile(tmp_path, hosts="10.0.0.21", **keys)
        words = ("--profile", str(file), "--device", "vda", "--results", str(tmp_path))
        assert tierbench(an_app(tmp_path), "observe", *words) == EXIT_USAGE
        assert said in capsys.readouterr().err


def test_what_a_live_one_has_read_so_far_can_be_judged(tmp_path: Path) -> None:
    counters = (
        pd.read_csv(CSV).rename(columns={"time": "clock_s"}).drop(columns=["node"])
    )
    names = {name: f"disk_{name}_total" for name in ("reads", "writes", "read_bytes")}
    names |= {"written_bytes": "disk_written_bytes_total", "device": "node"}
    counters = counters.rename(columns=names).assign(
        time_s=counters["clock_s"], node="db-1 vda"
    )
    every = counters.melt(["time_s", "node"], var_name="metric").assign(unit="")
    for number, part in enumerate((every.iloc[:60], every.iloc[60:])):
        file = tmp_path / "live" / "samples" / "1795673940" / f"{number}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        parquet.write(file, [part])
    folder = observed(tmp_path, "--file", str(tmp_path / "live"), *ON)
    (demand,) = demands(files.read(folder))
    assert len(demand.begin_s) == len(counters) - 1 and demand.device == "vda"


def test_all_forms_and_the_list_give_the_same_answer(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ("observe", "--file", str(CSV), *ON, "--results", str(tmp_path))
    shown: dict[str, str] = {}
    for form in ("json", "table", "md", "summary", "html"):
        assert tierbench(an_app(tmp_path), *words, "-o", form) == EXIT_DONE
        shown[form] = plain(" ".join(capfd.readouterr().out.split()))
    told = json.loads(shown["json"])
    fields = {"candidate", "word", "queues_most_pct", "with_more_pct"}
    assert fields <= set(told["answers"][0])
    what = told["brief"]["what"]
    shown["html"] = re.sub(r"<[^>]+>", "", shown["html"])
    for form, text in shown.items():
        assert what in text, form
    assert tierbench(an_app(tmp_path), *words, "-o", "name") == EXIT_DONE
    (name,) = capfd.readouterr().out.splitlines()
    assert row_in_words(name) in what
    assert named_tiers.bought(ROOT, name)[1], "it is a row of the catalog"
    listing = ("history", "--results", str(tmp_path), "-o", "json")
    assert tierbench(an_app(tmp_path), *listing) == EXIT_DONE
    entries = json.loads(capfd.readouterr().out)
    assert {entry["answer"] for entry in entries} == {what}


def test_a_stripe_with_a_partition_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disk = in_seconds(np.full(600, 100.0))
    partition = replace(disk, device=f"{disk.device}1")
    folder = stored(tmp_path / "read", disk, partition)
    words = ("--file", str(folder), "--striped", *SIZED, "--results", str(tmp_path))
    assert tierbench(an_app(tmp_path), "observe", *words) == EXIT_USAGE
    error = " ".join(capsys.readouterr().err.split())
    assert f"{partition.device} of {disk.node} is part of {disk.device}" in error
    assert "--device" in error
