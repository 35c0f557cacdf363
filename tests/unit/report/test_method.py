"""The report's command makes the same plan again: each thing asked for is in it."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.analysis.verdicts import judge
from orchestrator.cli import plans
from orchestrator.cli.options import Request
from orchestrator.model import Plan
from orchestrator.report.report_index import ReportIndex
from orchestrator.report.sections.method import command, section
from tests import ROOT
from tests.campaigns import build_campaign, later

NO_CACHE = Path("/nonexistent")  # no database has been tried here before


def planned(request: Request) -> Plan:
    return plans.make_plan(request, ROOT, NO_CACHE)


def options(text: str) -> dict[str, str]:
    words = shlex.split(text)[2:]
    return dict(zip(words[::2], words[1::2], strict=True))


@pytest.fixture
def own_profile(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "profiles" / "ultra.yaml", tmp_path / "mine.yaml")
    return tmp_path / "mine.yaml"


def test_a_file_that_was_named_by_its_path_is_named_so_again(own_profile: Path) -> None:
    names = ["premium", str(own_profile)]
    made = planned(
        Request(
            profiles=names,
            workloads=["insert"],
            database="postgresql",
            scale="smoke",
            nodes=1,
            repetitions=2,
        )
    )
    assert options(command(made))["--profiles"].split() == names


def test_the_baseline_comes_first_by_its_path_too(own_profile: Path) -> None:
    names = ["premium", str(own_profile)]
    made = planned(
        Request(
            profiles=names,
            workloads=["insert"],
            database="postgresql",
            scale="smoke",
            nodes=1,
            repetitions=2,
            baseline="mine",
        )
    )
    assert options(command(made))["--profiles"].split() == names[::-1]


def test_a_lone_profile_and_a_workload_by_their_paths(own_profile: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "workloads" / "insert.yaml", tmp_path / "load.yaml")
    load = str(tmp_path / "load.yaml")
    again = options(
        command(
            planned(
                Request(
                    profiles=[str(own_profile)],
                    workloads=[load],
                    database="postgresql",
                    scale="smoke",
                    nodes=1,
                )
            )
        )
    )
    assert (again["--profile"], again["--workload"]) == (str(own_profile), load)


def test_another_generator_is_asked_for_again() -> None:
    asked = Request(
        profiles=["premium", "ultra"],
        workloads=["tpcc"],
        database="postgresql",
        scale="smoke",
        nodes=1,
        repetitions=2,
    )
    assert "--generator" not in options(command(planned(asked)))
    by_benchbase = planned(
        Request(
            profiles=["premium"],
            workloads=["tpcc"],
            database="postgresql",
            scale="smoke",
            nodes=1,
            generator="benchbase",
        )
    )
    assert options(command(by_benchbase))["--generator"] == "benchbase"


def test_the_same_plan_comes_of_it(own_profile: Path) -> None:
    asked = Request(
        profiles=[str(own_profile), "premium"],
        workloads=["tpcc"],
        database="postgresql",
        scale="smoke",
        nodes=1,
        repetitions=3,
        seed=7,
    )
    made = planned(asked)
    again = options(command(made))
    request = Request(
        profiles=again["--profiles"].split(),
        workloads=again["--workloads"].split(),
        database=again["--db"],
        scale=again["--scale"],
        nodes=int(again["--nodes"]),
        repetitions=int(again["--repeats"]),
        seed=int(again["--seed"]),
        margin_pct=float(again["--margin"]),
        generator=again.get("--generator"),
    )
    assert planned(request) == made


def test_trust_is_asked_for_again() -> None:
    asked = Request(
        profiles=["premium", "ultra"],
        workloads=["insert"],
        database="postgresql",
        scale="smoke",
        nodes=1,
        aa=True,
        warmup="steady",
        windows="checkpoints",
    )
    text = command(planned(asked))
    assert "--aa" in text.split() and text.endswith(" --warmup steady --windows checkpoints")
    assert "again" not in text
    assert "--aa" not in command(planned(replace(asked, aa=False)))


def test_slo_and_price_list_are_asked_for_again(tmp_path: Path) -> None:
    text, prices = "p99 < 50 ms, nopm > 25000", tmp_path / "prices.yaml"
    prices.write_text(
        "{currency: EUR, region: westeurope, as_of: 2026-11-01, source: ours, "
        "prices: {azure/P15: {per_disk: 30}}}"
    )
    asked = Request(
        profiles=["premium"],
        workloads=["insert", "tpcc"],
        database="postgresql",
        scale="smoke",
        nodes=1,
        repetitions=2,
    )
    assert not {"--slo", "--prices"} & set(options(command(planned(asked))))
    made = planned(replace(asked, slo=text, price_list=prices))
    assert made.profiles[0].tier.price and made.profiles[0].tier.price.monthly == 30.0
    assert [len(load.slo) for load in made.workloads] == [1, 2]
    again = options(command(made))
    assert (again["--slo"], again["--prices"]) == (text, str(prices))


def test_an_slo_of_one_workload_s_file_alone_is_no_option() -> None:
    asked = Request(
        profiles=["premium"],
        workloads=["insert", "tpcc"],
        database="postgresql",
        scale="smoke",
        nodes=1,
        slo="p99 < 50 ms",
    )
    made = planned(asked)
    own = (replace(made.workloads[0], slo=()), made.workloads[1])
    assert "--slo" not in options(command(replace(made, workloads=own)))


def test_the_code_that_measured_is_named_where_it_is_known() -> None:
    made = build_campaign(workloads=["insert"], frames=False)
    known = later(made, 0, revision="0123456789abcdef", revision_changed=True)
    verdict = judge(made)
    assert "measured" not in str(section(ReportIndex(made, verdict)).parts[1])
    said = str(section(ReportIndex(known, verdict)).parts[1])
    assert "tierbench 0.1.0 (0123456789ab, with changes) measured. plan.json holds" in said
