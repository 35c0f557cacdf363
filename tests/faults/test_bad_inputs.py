"""Whatever a text says, a door reads it or refuses it in our words: no traceback, no odd figure.

In CI some 500 texts; `make soak` draws as many as INPUTS says.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from orchestrator.cli.common.console import LastingConsole
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_INTERNAL, EXIT_USAGE
from tests.apps import an_app, tierbench
from tests.campaigns import build_campaign, stored
from tests.faults.damage import ODD_NUMBERS, ODD_WORDS, damaged
from tests.faults.doors import Door, doors, odd_numbers

DOORS = tuple(doors())
INPUTS = int(os.environ.get("INPUTS", "500"))
PER_DOOR = max(1, INPUTS // (len(DOORS) + 2))
relentless = settings(
    max_examples=PER_DOOR,
    deadline=None,
    database=None,
    derandomize="INPUTS" not in os.environ,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("door", DOORS, ids=[door.name for door in DOORS])
def test_its_examples_are_read(door: Door) -> None:
    for example in door.examples:
        assert door.take(example) is not None, example[:200]


@pytest.mark.parametrize("door", DOORS, ids=[door.name for door in DOORS])
@relentless
@given(data=st.data())
def test_a_damaged_text_is_read_or_refused(door: Door, data: st.DataObject) -> None:
    text = data.draw(damaged(door.examples))
    assert odd_numbers(door.take(text)) == []


# Each asks or shows; none starts or writes anything, and nothing here answers as a platform.
_PLANS = "--workloads insert --scale smoke --dry-run"
COMMANDS = (
    "run --profile ultra --workload tpcc --dry-run --scale smoke --db postgresql --nodes 1",
    f"compare --profiles premium,ultra {_PLANS} --repeats 3 --margin 5 --slo p99<50ms",
    f"compare --profiles ultra {_PLANS} --sweep rate=100,200 --set threads=3 --max-cost 9USD",
    f"compare --profiles premium {_PLANS} --warmup steady --windows many --seed 7 --clients 2",
    f"compare --profiles premium,ultra {_PLANS} --until decided --max-repeats 9 --baseline ultra",
    f"compare --profiles premium,ultra {_PLANS} --latency-at 70% --enforcement emulated",
    "tiers list azure --provider azure --min-iops 5000 --min-throughput 200MB/s --max-latency 1ms",
    "tiers list --vms",
    "history --results results --profile premium --workload insert --output=json",
    "compare-results earlier latest --margin 5 --p99-margin 20 --results results -o md",
    "report latest --results results",
    "verify latest --results results",
    "export latest --format csv --results results",
    "analyze latest --slo p99<50ms --results results --output=json",
    "admin schema profile",
    "storage-class ultra --scale smoke",
    "admin helm-values ultra --scale smoke --nodes 3 --storage-class fast",
    "admin baseline list --results results",
    "doctor --db yugabytedb",
    "disk list",
)
WORDS = st.one_of(
    st.sampled_from([word for command in COMMANDS for word in command.split()]),
    st.sampled_from([*ODD_WORDS, *ODD_NUMBERS]).filter(lambda word: "\0" not in word),
)


@st.composite
def commands(draw: st.DrawFn) -> list[str]:
    """One of the commands with up to three words replaced, added or left out."""
    words = draw(st.sampled_from(COMMANDS)).split()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(1, len(words)))
        words[at : at + draw(st.integers(0, 1))] = draw(st.lists(WORDS, max_size=1))
    return words


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CampaignApp]:
    """In a folder of its own, with a stored campaign, and the same once more as `earlier`."""
    folder, before = tmp_path_factory.mktemp("commands"), Path.cwd()
    made = build_campaign(
        profiles=["premium", "ultra"], workloads=["insert"], measure_s=20.0
    )
    campaign = stored(made, folder / "results")
    shutil.copytree(campaign, campaign.with_name("earlier"))
    quiet = LastingConsole(file=io.StringIO())
    os.chdir(folder)
    yield an_app(folder, out=quiet, err=quiet)
    os.chdir(before)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_known(command: str, app: CampaignApp) -> None:
    assert tierbench(app, *command.split()) != EXIT_USAGE


@settings(parent=relentless, max_examples=3 * PER_DOOR)
@given(words=commands())
def test_a_damaged_command_line_is_carried_out_or_refused(
    words: list[str], app: CampaignApp
) -> None:
    assert tierbench(app, *words) != EXIT_INTERNAL, words
