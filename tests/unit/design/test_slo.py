"""What an SLO may say: literal texts in, objectives in base units or every mistake out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.design import slo
from orchestrator.errors import UsageError
from orchestrator.model import Objective
from orchestrator.planning import workloads
from tests import ROOT
from tests.campaigns import build_workload

TPCC, SELECT = build_workload("tpcc"), build_workload("point-select")


@pytest.mark.parametrize(
    ("text", "objectives"),
    [
        ("p99 < 50 ms", [("latency_p99_s", "all", 0.05)]),
        (
            "new_order p99 < 50 ms, nopm > 25000",
            [("latency_p99_s", "new_order", 0.05), ("nopm", "all", 25_000.0)],
        ),
        ("average latency <= 2ms", [("latency_avg_s", "all", 0.002)]),
        (
            "avg<1s,throughput>=4_000/s",
            [("latency_avg_s", "all", 1.0), ("throughput_per_s", "all", 4000.0)],
        ),
        ("new_order p90 < 5 s", [("latency_p90_s", "new_order", 5.0)]),
        ("payment p99.9 < 0.5 s", [("latency_p999_s", "payment", 0.5)]),
        ("latency_p95_s < 10ms", [("latency_p95_s", "all", 0.01)]),
        ("nopm > 25000 /min", [("nopm", "all", 25_000.0)]),
        ("failures < 100 %", [("failed_pct", "all", 100.0)]),
    ],
)
def test_reads(text: str, objectives: list[tuple[str, str, float]]) -> None:
    assert slo.parse(text, "--slo") == tuple(Objective(*one) for one in objectives)


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("p99 50 ms", "'p99 50 ms': expected a metric, `<` or `>`, and a quantity"),
        ("", "expected a metric"),
        ("zzz < 50 ms", "unknown metric 'zzz'; metrics: average"),
        ("latency < 50 ms", "unknown metric 'latency'"),
        ("nopn > 4000", "unknown metric 'nopn'; did you mean nopm? metrics: average"),
        ("p99 > 50 ms", "a latency is limited with `<`"),
        ("nopm < 25000", "a rate is limited with `>`"),
        ("failures > 1 %", "a share is limited with `<`"),
        ("failures < 100.1 %", "expected a percentage, such as 0.1 %"),
        ("p99 < 50", "expected a time such as 30s"),
        ("nopm > 25,000", "'000': expected a metric"),
        ("nopm > 25000/s", "expected a number of /min"),
        ("throughput > many", "expected a number of /s"),
        ("new_order nopm > 5", "nopm is not measured of one transaction type"),
        (
            "new_orders p99 < 5 ms",
            "'new_orders' is no workload here and no transaction type; "
            "did you mean new_order",
        ),
        ("tpc new_order p99 < 5 ms", "'tpc' is no workload here"),
        ("tpc p99 latency < 5 ms", "'tpc' is no workload here"),
        ("p99 < 0 ms", "above zero"),
        ("p99 < 5 ms, p99 < 6 ms", "has a limit already"),
    ],
)
def test_refuses_with_the_clause(text: str, mistake: str) -> None:
    with pytest.raises(UsageError) as refused:
        slo.parse(text, "--slo")
    (found, *_) = [one for one in refused.value.mistakes if mistake in one.what]
    assert found.where == "--slo"


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(UsageError) as refused:
        slo.parse("p98 < 1 ms, nopm < 5", "--slo")
    assert len(refused.value.mistakes) == 2


@pytest.mark.parametrize(
    "text",
    [
        "new_order p99 < 50 ms",
        "nopm > 25000",
        "throughput > 4000.5/s",
        "p95 < 51.234 ms",
        "p99 < 999 ms",
        "p99 < 1 s",
    ],
)
def test_what_is_shown_can_be_given_again(text: str) -> None:
    (objective,) = slo.parse(text, "--slo")
    assert slo.format_objective(objective) == text


def test_each_workload_gets_the_clauses_that_fit_it() -> None:
    tpcc, select = slo.applied([TPCC, SELECT], "p99 < 50 ms, nopm > 25000", "--slo")
    assert [one.metric for one in tpcc.slo] == ["latency_p99_s", "nopm"]
    assert [one.metric for one in select.slo] == ["latency_p99_s"]


def test_a_clause_that_fits_no_workload_is_refused() -> None:
    with pytest.raises(UsageError) as refused:
        slo.applied([SELECT], "nopm > 25000", "--slo")
    assert (
        "`nopm > 25000` is not measured of point-select"
        in refused.value.mistakes[0].what
    )


def test_the_command_line_holds_over_the_workload_s_own() -> None:
    text = (ROOT / "workloads/tpcc.yaml").read_text() + '\nslo: "nopm > 100"\n'
    own = workloads.read_workload("tpcc", text, "smoke")
    assert [one.limit for one in own.slo] == [100.0]
    assert slo.applied([own], None, "--slo") == (own,)
    (other,) = slo.applied([own], "nopm > 200", "--slo")
    assert [one.limit for one in other.slo] == [200.0]


def test_a_workload_file_s_mistake_has_its_place() -> None:
    text = (ROOT / "workloads/tpcc.yaml").read_text() + '\nslo: "nopm < 100"\n'
    with pytest.raises(UsageError) as refused:
        workloads.read_workload("tpcc", text, "smoke")
    assert refused.value.mistakes[0].where == "workloads/tpcc.yaml: slo"


def test_a_raw_disk_has_no_slo() -> None:
    assert not slo.fits(
        Objective("latency_p99_s", "all", 1.0), replace(SELECT, database="none")
    )


def test_a_clause_that_begins_with_a_workload_is_of_that_one_and_replaces_the_one_for_all() -> (
    None
):
    text = "p99 < 50 ms, tpcc p99 < 20 ms, tpcc nopm > 25000, failures < 1 %"
    tpcc, select = slo.applied([TPCC, SELECT], text, "--need")
    assert slo.format_objective(select.slo[0]) == "p99 < 50 ms"
    assert [slo.format_objective(clause) for clause in tpcc.slo] == [
        "failures < 1 %",
        "p99 < 20 ms",
        "nopm > 25000",
    ]
    again = slo.applied([TPCC, SELECT], slo.text_of([tpcc, select]), "--slo")
    assert [set(load.slo) for load in again] == [
        set(load.slo) for load in (tpcc, select)
    ]


def test_a_clause_of_a_workload_that_lacks_its_metric_is_refused_by_name() -> None:
    with pytest.raises(UsageError) as refused:
        slo.applied([TPCC, SELECT], f"{SELECT.name} nopm > 5", "--need")
    (mistake,) = refused.value.mistakes
    assert mistake.what == f"`nopm > 5` is not measured of {SELECT.name}"
