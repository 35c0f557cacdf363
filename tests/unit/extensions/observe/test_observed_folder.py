"""The folder and the page of `tierbench observe`, with its drawings: of two disks for six hours."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import yaml

from orchestrator.errors import EXIT_DONE
from orchestrator.system import parquet
from tests.apps import an_app, tierbench
from tests.observations import BURSTY, ON, observed, stored

pytestmark = pytest.mark.draws


@pytest.fixture(scope="module")
def of_seconds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("observed")
    file = stored(folder / "read", BURSTY, replace(BURSTY, node="db-2"))
    return observed(folder, "--file", str(file), *ON)


def test_the_folder_has_what_the_document_lists(of_seconds: Path) -> None:
    assert {file.name for file in of_seconds.iterdir()} == {
        *("observed.json", "demand.parquet", "candidates.csv", "hours.parquet"),
        *("profiles", "charts", "report.md", "report.html"),
    }
    rows = pd.read_csv(of_seconds / "candidates.csv").set_index("candidate")
    assert rows.loc["azure/P15", "word"] == "would not"
    assert rows.loc["azure/P80", "word"] == "would have carried"
    for figure in ("waits", "queues"):
        ends = [f"{figure}_least_pct", f"{figure}_most_pct"]
        shares = rows[["with_less_pct", *ends, "with_more_pct"]]
        assert (shares.diff(axis=1).iloc[:, 1:] >= 0).all(
            axis=None
        ) and shares.max().max() > 50
    assert (rows["waits_most_pct"] <= rows["queues_most_pct"]).all()
    priced = rows["monthly"].dropna()
    assert priced.is_monotonic_increasing and set(rows["currency"].dropna()) == {"USD"}
    hours = pd.concat(parquet.parts(of_seconds / "hours.parquet"))
    assert set(hours["node"]) <= {"db-1", "db-2"}
    assert (hours.groupby("candidate").size() == 6).all()


def test_its_busiest_hour_is_the_load_for_a_campaign(of_seconds: Path) -> None:
    facts = json.loads((of_seconds / "observed.json").read_text())
    busiest = facts["busiest_hour"]
    of_hours = BURSTY.ios.reshape(6, 3600).sum(axis=1)
    assert busiest["writes_per_s"] == pytest.approx(
        2 * of_hours.max() / 3600
    )  # of both nodes
    assert busiest["reads_per_s"] == 0


def test_two_profiles_are_written_that_the_program_takes(of_seconds: Path) -> None:
    files = sorted((of_seconds / "profiles").glob("*.yaml"))
    assert len(files) == 2
    contents = [yaml.safe_load(file.read_text()) for file in files]
    assert all(content["cluster"] == "azure-d8s-v5" for content in contents)
    assert tierbench(an_app(of_seconds), "validate", *map(str, files)) == EXIT_DONE
    command = (of_seconds / "report.md").read_text().partition("tierbench compare")[2]
    assert all(str(file) in command for file in files)
    kept = (of_seconds / "profiles" / "compare.sh").read_text()
    assert kept.strip() == "tierbench compare" + command.partition("\n")[0]


def hours_drawn(page: str) -> pd.DataFrame:
    """The rows of the chart, which has hours that are alike as one."""
    drawn = page.partition('id="drawings">')[2]
    packed = gzip.decompress(base64.b64decode(drawn.partition("</script>")[0]))
    return pd.DataFrame(json.loads(packed)["charts"]["week"]["datasets"]["hours"])


def test_each_hour_has_its_place_in_the_strip(of_seconds: Path) -> None:
    """Times keep all their digits in the drawing, and each candidate with a price has its strip."""
    week = hours_drawn((of_seconds / "report.html").read_text())
    for _, strip in week.groupby("candidate"):
        begins = strip["from"].tolist()
        ends = strip["to"].tolist()
        assert begins[1:] == ends[:-1]
        assert ends[-1] - begins[0] == 6 * 3_600_000
    rows = pd.read_csv(of_seconds / "candidates.csv")
    assert week["candidate"].nunique() == rows["monthly"].notna().sum()


def test_hours_that_are_alike_are_one_mark_without_a_label(of_seconds: Path) -> None:
    """A week of all candidates hour by hour was a drawing of 33 MB, which took 340 MB to make."""
    week = hours_drawn((of_seconds / "report.html").read_text())
    told = week[week["Answer"] != "cannot be told"].fillna(-1.0)
    alike = told[["candidate", "upper", "credit", "node", "device"]]
    assert not (alike == alike.shift()).all(axis=1).any()
    marks = (of_seconds / "charts" / "week.svg").read_text().count("rect mark")
    assert not marks


def test_words_of_proof_are_not_in_the_answers(of_seconds: Path) -> None:
    text = (of_seconds / "report.md").read_text().partition("## Hour by hour")[0]
    answer = text.partition("Not tested:")[0]
    assert "would have carried it" in answer
    for word in ("enough", "better", "worse", "p99"):
        assert word not in answer


def test_the_report_follows_from_the_folder_alone(
    of_seconds: Path, tmp_path: Path
) -> None:
    again = observed(tmp_path, "--file", str(of_seconds), *ON)
    for name in (
        "candidates.csv",
        "demand.parquet",
        "hours.parquet",
        "charts/week.svg",
    ):
        assert (again / name).read_bytes() == (of_seconds / name).read_bytes()
    for name in ("report.md", "report.html"):
        told = [
            f.joinpath(name).read_text().replace(str(f), "")
            for f in (again, of_seconds)
        ]
        assert told[0] == told[1]
