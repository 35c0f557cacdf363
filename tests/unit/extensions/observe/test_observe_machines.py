"""`tierbench observe` on machines that an agent reads: what is done there, and told of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE, EXIT_UNAVAILABLE, EXIT_USAGE
from orchestrator.extensions.observe.commands import observe_readings
from orchestrator.extensions.observe.histories import files
from orchestrator.extensions.observe.judging.disk_demands import demands
from orchestrator.kernel import block_devices
from orchestrator.model import Placing
from orchestrator.platforms.common import lifecycle
from orchestrator.platforms.common.agent import AgentMachine
from orchestrator.platforms.common.local_machine import LocalMachine
from orchestrator.powers import GuardBeats, PlatformAbilities
from orchestrator.run.record.readings import Miss
from tests.agents import Agents
from tests.apps import an_app, said_by, tierbench
from tests.clocks import SampledClock
from tests.observations import BEGIN_S


@dataclass
class Far:
    """A platform with machines that agents read; what was done to its guard, in order."""

    agents: Agents = field(default_factory=Agents)
    clock: SampledClock = field(default_factory=lambda: SampledClock(BEGIN_S))
    done: list[str] = field(default_factory=list)
    placings: list[Placing] = field(default_factory=list)
    has: str = "disk"

    def __post_init__(self) -> None:
        self.machine = self.agents.machine("far", self.clock)
        self.device = next(iter(block_devices.counter_rows(LocalMachine())))
        self.campaign, self.guard, self.beats = "c", self, GuardBeats()
        self.brings: Sequence[str] = ()
        self.images = SimpleNamespace(
            present=lambda tag: "disk" in self.has, mismatch=lambda tag: None
        )

    def app(self, folder: Path) -> CampaignApp:
        def connect(_clock: object, placing: Placing) -> Far:
            self.placings.append(placing)
            return self

        return an_app(folder, connect=connect, clock=self.clock)

    def machines(self) -> tuple[AgentMachine, ...]:
        return (self.machine,)

    @property
    def abilities(self) -> PlatformAbilities:
        def bring_only(images: Sequence[str]) -> None:
            self.brings = images

        return PlatformAbilities(bring_only=bring_only)

    def machines_of_nodes(self) -> tuple[AgentMachine, ...]:
        return self.machines()

    @contextmanager
    def held(self) -> Iterator[None]:
        self.done.append("taken")
        try:
            yield
        finally:
            self.done.append("given back")

    def sweep(self) -> None:
        self.machine.close()
        self.done.append("swept")


@pytest.fixture
def far() -> Iterator[Far]:
    platform = Far()
    yield platform
    platform.machine.close()


def of_machines(folder: Path, *more: str) -> tuple[str, ...]:
    file = folder / "machines.yaml"
    machines = ", ".join(["ssh://db-1", "ssh://db-2", *more])
    file.write_text(
        "question: q\ntitle: t\ntier: {enforcement: none}\ncluster: azure-d8s-v5\n"
        f"machines: [{machines}]\nclient_machine: default\n"
    )
    words = ("observe", "--profile", str(file), "--size", "250GiB")
    return (*words, "--results", str(folder))


def test_machines_elsewhere_are_kept_for_it_while_an_agent_reads_them(
    far: Far, tmp_path: Path
) -> None:
    """Nothing but the agent's image is brought there, and no machine of clients is needed."""
    words = (*of_machines(tmp_path), "--device", far.device, "--last", "3s")
    assert tierbench(far.app(tmp_path), *words) == EXIT_DONE
    assert far.done == ["taken", "swept", "given back"]
    assert tuple(far.brings) == ("disk",)
    (placing,) = far.placings
    assert placing.machines == ("ssh://db-1", "ssh://db-2")
    assert placing.client_machine == "ssh://db-1"


@pytest.mark.parametrize(
    ("more", "fits", "too_small"),
    [((), "azure/P15", "azure/P10"), (("--striped",), "azure/P20", "azure/P15")],
)
def test_disks_of_a_stripe_hold_together_what_each_of_them_does(
    more: tuple[str, ...], fits: str, too_small: str, far: Far, tmp_path: Path
) -> None:
    of_machines(tmp_path)
    file = tmp_path / "machines.yaml"
    tier = "{type: azure/P15, count: 2, enforcement: emulated}"
    file.write_text(file.read_text().replace("{enforcement: none}", tier))
    words = ("--profile", str(file), "--device", far.device, "--last", "3s", *more)
    app = far.app(tmp_path)
    assert tierbench(app, "observe", *words, "--results", str(tmp_path)) == EXIT_DONE
    (folder,) = tmp_path.glob("observed-*")
    offered = set(pd.read_csv(folder / "candidates.csv")["candidate"])
    assert fits in offered and too_small not in offered


def test_without_the_agents_image_it_says_how_that_is_had(
    far: Far, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    far.has = ""
    words = (*of_machines(tmp_path), "--device", far.device)
    assert tierbench(far.app(tmp_path), *words) == EXIT_UNAVAILABLE
    said = " ".join(capsys.readouterr().err.split())
    assert "the image tierbench/disk:" in said and "run `tierbench setup`" in said
    assert not far.agents.processes and far.done == ["taken", "swept", "given back"]


def test_a_machine_that_does_not_answer_is_told_at_once_and_is_a_gap(
    far: Far, tmp_path: Path
) -> None:
    def loses_its_agent() -> None:
        far.agents.processes[0].kill()

    far.clock.after(2.5, loses_its_agent)
    app = far.app(tmp_path)
    words = (*of_machines(tmp_path), "--device", far.device, "--last", "8s")
    assert tierbench(app, *words) == EXIT_DONE
    (said,) = (line for line in said_by(app) if "gap" in line)
    assert said.startswith(
        f"far {far.device}: the machine far does not answer: it has ended: the readings have a g"
    )
    (folder,) = tmp_path.glob("observed-*")
    (demand,) = demands(files.read(folder))
    assert len(demand.starts) == 2
    assert "far does not answer: it has ended" in (folder / "report.md").read_text()


def test_machines_that_another_campaign_has_taken_over_are_read_no_longer(
    far: Far, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has removed the agents, and would be disturbed by others; what was read is kept."""

    def taken_over() -> None:
        far.beats.lost = lifecycle.taken_over("the cluster", "x", "elsewhere")

    far.clock.after(2.5, taken_over)
    app = far.app(tmp_path)
    words = (*of_machines(tmp_path), "--device", far.device, "--last", "1h")
    assert tierbench(app, *words) == EXIT_UNAVAILABLE
    assert "the campaign x on elsewhere took over" in " ".join(
        capsys.readouterr().err.split()
    )
    (folder,) = tmp_path.glob("observed-*")
    (demand,) = demands(files.read(folder))
    assert demand.device == far.device and far.done[-2:] == ["swept", "given back"]


@pytest.mark.parametrize(
    "command", ["observe", "doctor", "calibrate", "setup", "clean --yes"]
)
def test_a_profile_of_a_kubernetes_is_not_taken_for_one_of_this_computer(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "nodes.yaml"
    file.write_text(
        "question: q\ntitle: t\ntier: {enforcement: none}\ncluster: azure-d8s-v5\n"
        "kubernetes: {node_selector: {agentpool: databases}}\n"
    )
    app = an_app(tmp_path)
    assert tierbench(app, *command.split(), "--profile", str(file)) == EXIT_USAGE
    assert "nodes has `kubernetes`, and no platform" in capsys.readouterr().err


def test_any_reading_that_fails_is_told_once_and_a_machine_s_by_its_disks(
    far: Far, tmp_path: Path
) -> None:
    app = far.app(tmp_path)
    gaps = observe_readings.ReadingGaps(app, GuardBeats())
    refused = Miss("db1:9300 sda", "ConnectionRefusedError", "db1 refuses")
    gaps.look({refused: 1, Miss("machine far", "", "no answer yet"): 1})
    gaps.look({refused: 2})
    begins = [line.split(":")[0] for line in said_by(app)]
    assert begins == ["db1 refuses"]
