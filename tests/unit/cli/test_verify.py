"""`tierbench verify`: every link from raw files to verdict is made again; each break is named."""

from __future__ import annotations

import json
import re
import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator import __version__
from orchestrator.analysis import results
from orchestrator.analysis.verdicts import judge
from orchestrator.cli.main import exit_code
from orchestrator.cli.measure import concluding
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DIFFERS, EXIT_DONE
from orchestrator.load_generators.sysbench.generator import Sysbench
from orchestrator.report.document import arrange
from orchestrator.report.rendering import markdown
from orchestrator.system import campaign_writing, parquet, store
from tests.campaign_tables import sampled_in
from tests.campaigns import build_campaign
from tests.fakes import FakeClock
from tests.plans import changed_plan

TYPES = ["new_order", "payment", "delivery"]


def transactions(start_s: float, end_s: float, seed: int) -> list[bytes]:
    """A thread's records (workloads/lib/recorder.lua), some of them before and after the window."""
    random = np.random.default_rng(seed)
    begins_ns = np.sort(random.uniform(start_s - 5, end_s + 5, 3000) * 1e9).astype(
        np.int64
    )
    rows = zip(
        begins_ns.tolist(),
        random.lognormal(9, 0.7, 3000).astype(int).tolist(),
        random.choice(3, 3000, p=(0.5, 0.45, 0.05)).tolist(),
        random.choice(3, 3000, p=(0.97, 0.01, 0.02)).tolist(),
        strict=True,
    )
    return [
        struct.pack("<qIIIBBH", ns, us, 0, 0, kind, how, 0)
        for ns, us, kind, how in rows
    ]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of two runs, written as a run is: its figures are those of its raw files."""
    where = tmp_path_factory.mktemp("results")
    campaign = build_campaign(profiles=["ultra"], workloads=["tpcc"], repetitions=2)
    folder = campaign_writing.create(
        where, campaign.plan, campaign.fingerprint, 1_750_000_000.0
    )
    for number, run in enumerate(campaign.runs):
        raw = campaign_writing.run_folder(folder, run.record.run) / "raw"
        window = results.measured_window(run.record)
        assert window
        (raw / "recorder.json").write_text(json.dumps({"types": TYPES, "mode": {}}))
        (raw / "sysbench.out").write_text("    transactions:    3000   (1.00)\n")
        for thread in range(2):
            rows = transactions(*window, seed=10 * number + thread)
            (raw / f"latency-{thread}.bin").write_bytes(b"".join(rows))
        read = Sysbench().read(run.record.workload, raw, *window)
        record = replace(run.record, measurements=read.measurements)
        campaign_writing.save_run(
            raw.parent, record, read.intervals, read.latencies, [sampled_in(run)]
        )
    campaign_writing.save_verdict(folder, judge(store.load(folder)))
    return folder


def verified(folder: Path) -> int:
    return exit_code(["verify", str(folder)], CampaignApp())


def counted_again(folder: Path) -> str:
    """What the report says of it."""
    document = arrange(*concluding.judged(folder))
    page = markdown.draw(document)
    _, _, rest = page.partition("Counted again from its raw files")
    return rest.strip().splitlines()[0]


def test_the_report_says_when_that_was_kept_last(sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / sound.name
    shutil.copytree(sound, folder)
    assert verified(folder) == EXIT_DONE
    assert counted_again(folder).startswith("Not recorded.")
    app = replace(CampaignApp(), clock=FakeClock())
    assert exit_code(["verify", str(folder), "--keep"], app) == EXIT_DONE
    assert counted_again(folder).endswith(f"by tierbench {__version__}: no difference.")
    plan = store.load(folder).plan
    campaign_writing.save_plan(folder, changed_plan(plan, margin_pct=6.0))
    assert "have changed since" in counted_again(folder)


def test_the_report_says_how_many_differences_there_were(
    sound: Path, tmp_path: Path
) -> None:
    folder = tmp_path / sound.name
    shutil.copytree(sound, folder)
    file = next(folder.glob("runs/*/raw/sysbench.out"))
    file.write_text("cut")
    assert exit_code(["verify", str(folder), "--keep"], CampaignApp()) == EXIT_DIFFERS
    assert re.search(r": \d+ differences?\.$", counted_again(folder))


def test_a_campaign_that_is_whole_has_no_difference(
    sound: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {file: file.read_bytes() for file in sound.rglob("*") if file.is_file()}
    assert verified(sound) == EXIT_DONE
    told = capsys.readouterr().out
    assert re.search(
        r"^runs/01-ultra-tpcc-r1: \d+ figures counted again from raw/, 6000 transactions of "
        r"latencies.parquet$",
        told,
        re.MULTILINE,
    )
    assert re.search(
        r"^verdict.json: \d+ cells made again from the records$", told, re.MULTILINE
    )
    assert told.endswith("no difference\n")
    assert before == {
        file: file.read_bytes() for file in sound.rglob("*") if file.is_file()
    }


def first(folder: Path) -> Path:
    return folder / "runs" / "01-ultra-tpcc-r1"


def changed(file: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def faster(record: dict[str, Any]) -> None:
    for figure in record["measurements"]:
        if (figure["metric"], figure["scope"]) == ("latency_p99_s", "all"):
            figure["value"] *= 0.9


def raw_byte(folder: Path) -> None:
    file = first(folder) / "raw" / "latency-1.bin"
    content = bytearray(file.read_bytes())
    content[28 * 1500 + 10] ^= (
        0x01  # a latency in the middle of the window, by 65,536 µs
    )
    file.write_bytes(content)


def one_transaction(folder: Path) -> None:
    file = first(folder) / "latencies.parquet"
    (table,) = parquet.parts(file)
    parquet.write(file, [table.drop(index=3000)])


def slower_table(folder: Path) -> None:
    file = first(folder) / "latencies.parquet"
    (table,) = parquet.parts(file)
    parquet.write(file, [table.assign(latency_s=table["latency_s"] * 1.01)])


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (
            lambda f: changed(first(f) / "record.json", faster),
            (
                r"record.json: latency_p99_s \(all\) is [\d.]+, but [\d.]+ from raw/",
                r"record.json: latency_p99_s \(all\) is [\d.]+. In latencies.parquet "
                r"it would be rank \d+ of \d+: \d+ are faster, and \d+ as fast or faster",
                r"verdict.json: ultra × tpcc, latency_p99_s of run 1 \(all\) is [\d.]+, but ",
            ),
        ),
        (
            raw_byte,
            (r"record.json: latency_avg_s \(all\) is [\d.]+, but [\d.]+ from raw/",),
        ),
        (
            one_transaction,
            (r"latencies.parquet has 5999 transactions, but raw/ has 6000",),
        ),
        (
            slower_table,
            (
                r"record.json: latency_avg_s \(all\) is [\d.]+, but [\d.]+ from latencies.parquet",
            ),
        ),
        (
            lambda f: shutil.rmtree(first(f) / "raw"),
            (r"raw/ is missing or cut: .*/raw holds no transaction records",),
        ),
        (
            lambda f: (first(f) / "raw" / "latency-1.bin").unlink(),
            (r"latencies.parquet has 6000 transactions, but raw/ has 3000",),
        ),
        (
            lambda f: (first(f) / "latencies.parquet").unlink(),
            (r"latencies.parquet has 0 transactions, but raw/ has 6000",),
        ),
        (
            lambda f: changed(
                f / "verdict.json", lambda v: v["cells"][0].update(mean=1.0)
            ),
            (
                r"verdict.json: ultra × tpcc, \w+ \(\w+\) is 1, but [\d.]+ from the records",
            ),
        ),
        (lambda f: (f / "verdict.json").unlink(), (r"verdict.json: .*No such file",)),
        (
            lambda f: (first(f) / "record.json").write_text("{"),
            (r"left out: .*record.json does not have the form this version reads",),
        ),
    ],
)
def test_what_was_changed_is_named_with_file_and_figures(
    sound: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    tamper: Callable[[Path], object],
    said: tuple[str, ...],
) -> None:
    folder = tmp_path / "campaign"
    shutil.copytree(sound, folder)
    tamper(folder)
    assert verified(folder) == EXIT_DIFFERS
    told = capsys.readouterr().out
    for pattern in said:
        assert re.search(rf"^  differs: {pattern}", told, re.MULTILINE), told
    assert re.search(r"^[1-9]\d* differences?$", told, re.MULTILINE)


def test_files_are_held_against_their_checksums_even_without_a_plan(
    sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / sound.name
    shutil.copytree(sound, folder)
    for name in ("samples.parquet", "raw/latency-0.bin"):
        file = first(folder) / name
        file.write_bytes(file.read_bytes()[:-700])
    (folder / "runs/02-ultra-tpcc-r2/intervals.csv").unlink()
    (folder / "plan.json").write_bytes((folder / "plan.json").read_bytes()[:-9])
    assert verified(folder) == EXIT_DIFFERS
    told = capsys.readouterr().out
    for said in (
        r"^runs/01-ultra-tpcc-r1: \d+ files held against the checksums of record.json$",
        r"^  differs: samples.parquet was cut: \d+ of \d+ bytes are there$",
        r"^  differs: raw/latency-0.bin was cut: \d+ of \d+ bytes are there$",
        r"^  differs: intervals.csv is missing or cannot be read: No such file or directory$",
        r"^plan.json: nothing is counted again$",
    ):
        assert re.search(said, told, re.MULTILINE), said
