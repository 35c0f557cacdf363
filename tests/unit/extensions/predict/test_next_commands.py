"""The commands that measure what was advised: the reader types them, so they ask for what the
earlier command asked for, and not for how that one was carried out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.analysis.predictions import Prediction
from orchestrator.extensions.predict import next_commands
from tests.campaigns import build_campaign

P30 = Prediction(
    "azure/P30",
    False,
    limit="latency_bound",
    figures={},
    monthly_cost=None,
    currency="",
)


def compare_command(given: str) -> str:
    """What measures P30 after a campaign that this command measured."""
    campaign = build_campaign(profiles=["premium", "ultra"], workloads=["tpcc"])
    facts = {"command": given, "directory": "/srv"}
    campaign = replace(campaign, fingerprint={**campaign.fingerprint, **facts})
    *_, command = next_commands.commands_that_measure(
        campaign, "tpcc", [P30], of_classes=False
    )
    return command


@pytest.mark.parametrize(
    "given",
    [
        "compare --profiles premium,ultra --workloads tpcc --slo 'p99 < 1 s'",
        "compare --profiles=premium,ultra --workloads=tpcc '--slo=p99 < 1 s'",
        "compare -p premium,ultra -w tpcc --need 'p99 < 1 s'",
        "compare -ppremium,ultra -wtpcc",
        "compare our-audit.yaml --profiles premium,ultra --sweep threads=1,4",
        "run ultra tpcc",
        "run --profile ultra --workload tpcc",
    ],
)
def test_nothing_of_the_tiers_and_workloads_before_is_measured_again(
    given: str,
) -> None:
    """In each form that a shell gives options: else the old tiers would be measured again."""
    asked = "--profiles advised-1 --workloads tpcc --repeats 2 --scale smoke"
    command = compare_command(f"tierbench {given} --repeats 2 --scale=smoke")
    assert command == f"tierbench compare {asked}"


@pytest.mark.parametrize(
    "told",
    [
        "-q -o name",
        "-qo name",
        "--verbose --color never --output=json",
        "--results /tmp/trial",
        "--on-end 'mail us'",
    ],
)
def test_how_the_earlier_command_was_carried_out_is_left_to_the_reader(
    told: str,
) -> None:
    command = compare_command(
        f"tierbench compare -p premium,ultra -w tpcc {told} --repeats 2"
    )
    asked = "--profiles advised-1 --workloads tpcc --repeats 2"
    assert command == f"tierbench compare {asked}"


@pytest.mark.parametrize(
    "named", ["--baseline ultra", "--weights tpcc=2,insert=1", "--aa"]
)
def test_what_names_the_tiers_or_workloads_before_is_not_asked_for(named: str) -> None:
    """`--baseline ultra` is refused where ultra is not measured."""
    command = compare_command(f"tierbench compare -p premium,ultra {named} --probe")
    asked = "--profiles advised-1 --workloads tpcc --probe"
    assert command == f"tierbench compare {asked}"


def test_values_stay_as_they_were_typed() -> None:
    given = "--margin 7.50 --set threads=3 --set 'isolation=repeatable read'"
    command = compare_command(f"tierbench compare -p ultra {given}")
    asked = "--profiles advised-1 --workloads tpcc"
    assert command == f"tierbench compare {asked} {given}"


@pytest.mark.parametrize("command", ["", "tierbench", "tierbench survey --repeats 2"])
def test_of_a_command_that_is_not_known_nothing_is_kept(command: str) -> None:
    """Of an extension that is not installed here, or none that was kept."""
    asked = "--profiles advised-1 --workloads tpcc"
    assert compare_command(command) == f"tierbench compare {asked}"


def test_an_option_that_this_version_does_not_have_is_left_out() -> None:
    command = compare_command("tierbench compare -p ultra --former-option --nodes 1")
    asked = "--profiles advised-1 --workloads tpcc --nodes 1"
    assert command == f"tierbench compare {asked}"
