"""A workload becomes BenchBase's XML (golden files), or everything it cannot do is named."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from orchestrator.design import slo
from orchestrator.errors import UsageError
from orchestrator.extensions.benchbase import config
from orchestrator.model import Cluster, Dataset, Workload
from orchestrator.planning.workloads import read_workload
from tests import ROOT, golden
from tests.benchbase import WORKLOAD, asking, cluster

TEMPLATE = (ROOT / "workloads" / config.TEMPLATE).read_text()


@pytest.mark.parametrize(
    ("name", "workload", "servers", "driver"),
    [
        ("postgresql.xml", WORKLOAD, cluster(), config.POSTGRESQL),
        (
            "yugabytedb.xml",
            asking(
                isolation="repeatable read", arrival_rate=250, weights="50,38,4,4,4"
            ),
            cluster("yugabytedb", 3),
            config.YUGABYTEDB,
        ),
        ("think-spec.xml", asking(think="spec"), cluster(), config.POSTGRESQL),
    ],
)
def test_rendered_configuration(
    name: str, workload: Workload, servers: Cluster, driver: config.JdbcDriver
) -> None:
    text = config.render(TEMPLATE, config.settings(workload), servers, driver)
    ElementTree.fromstring(text)
    assert "s3cret" not in text
    golden.compare(f"benchbase/{name}", text)


def test_the_built_in_workload_becomes_benchbases_on_a_data_set_of_its_own() -> None:
    text = (ROOT / "workloads" / "tpcc.yaml").read_text()
    built_in = read_workload("tpcc", text, "smoke")
    bound = config.bind(built_in)
    assert (bound.generator, bound.dataset.family) == ("benchbase", "benchbase-tpcc")
    assert bound.dataset.parameters == built_in.dataset.parameters
    assert config.settings(bound).weights == (45, 43, 4, 4, 4)
    assert config.bind(bound) == bound


@pytest.mark.parametrize("text", ["nopm > 5000", "new_order p99 < 50 ms"])
def test_an_slo_of_the_built_in_workload_holds_for_benchbases(text: str) -> None:
    """It was refused as not measured, because data sets were compared by name."""
    built_in = (ROOT / "workloads" / "tpcc.yaml").read_text()
    bound = config.bind(read_workload("tpcc", built_in, "smoke"))
    (asked,) = slo.applied([bound], text, "--slo")
    assert slo.text_of([asked]) == slo.text_of(
        slo.applied([read_workload("tpcc", built_in, "smoke")], text, "--slo")
    )


def test_other_workloads_are_refused() -> None:
    other = replace(WORKLOAD, name="insert", dataset=Dataset("sysbench-tables", {}))
    with pytest.raises(UsageError, match="BenchBase cannot run insert"):
        config.bind(other)


def test_the_rate_is_never_the_sample_value() -> None:
    assert config.settings(WORKLOAD).rate == "unlimited"
    assert config.settings(asking(arrival_rate=0)).rate == "unlimited"
    assert config.settings(asking(arrival_rate=120.5)).rate == "120.5"


def test_the_seed_of_the_campaign_is_not_passed_on() -> None:
    """BenchBase would start every terminal's numbers at it, all the same."""
    text = config.render(
        TEMPLATE, config.settings(asking(seed=7)), cluster(), config.POSTGRESQL
    )
    assert "seed" not in text.lower()


def test_thinking_takes_ten_terminals_per_warehouse() -> None:
    assert config.settings(asking(think="spec")).terminals == 40
    assert config.settings(WORKLOAD).terminals == 8


def test_all_mistakes_are_named_at_once() -> None:
    workload = replace(
        asking(
            think="sometimes",
            isolation="none",
            weights="1,2",
            arrival_rate=-1,
            record="no",
        ),
        dataset=Dataset("benchbase-tpcc", {"tablets": 3}),
        warmup_s=0.5,
    )
    with pytest.raises(UsageError) as caught:
        config.settings(workload)
    keys = [mistake.where.rpartition(": ")[2] for mistake in caught.value.mistakes]
    of_options = ("think", "isolation", "weights", "arrival_rate", "record")
    of_dataset = ("dataset.tablets", "dataset.warehouses")
    assert keys == [*(f"options.{name}" for name in of_options), *of_dataset, "warmup"]


@pytest.mark.parametrize(
    ("workload", "what"),
    [
        (asking(think="spec", arrival_rate=10), "exclude each other"),
        (
            replace(
                asking(think="spec"),
                dataset=Dataset("benchbase-tpcc", {"warehouses": 2000}),
            ),
            "20,000 terminals",
        ),
    ],
)
def test_contradictions_are_refused(workload: Workload, what: str) -> None:
    with pytest.raises(UsageError) as caught:
        config.settings(workload)
    assert what in caught.value.mistakes[0].what
