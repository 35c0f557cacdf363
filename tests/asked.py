"""Campaigns as a command line asks for them, without an engine: what would be carried out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import typer

from orchestrator.cli import main
from orchestrator.cli.common.options import Request
from orchestrator.cli.measure import campaign
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import EXIT_DONE
from orchestrator.model import Plan
from tests.apps import an_app
from tests.fakes import fake_world, this_machine_has

PRICES = """
currency: USD
region: eastus
as_of: 2026-11-01
source: our contract
prices: {azure/P15: {per_disk: 30}, azure/ultra: {per_disk: 90}}
"""


@dataclass(frozen=True)
class Asked:
    """The plan, whether it is only shown, and what the results folder keeps of the command."""

    plan: Plan
    dry_run: bool
    fingerprint: dict[str, object]


Ask = Callable[[Sequence[str]], Asked]


@dataclass(frozen=True)
class Planning(CampaignApp):
    """A program that plans what it is asked for, and ends."""

    asked: list[Asked] = field(default_factory=list)

    def plan(self, request: Request) -> Plan:
        plan = super().plan(request)
        facts = campaign.fingerprint(self, {}, None, fake_world(shell=self.shell))
        self.asked.append(Asked(plan, request.dry_run, facts))
        raise typer.Exit


def commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every command of the program with its full name, such as `disk up`."""
    for name in group.commands:
        command = (
            group.loaded(name) if hasattr(group, "loaded") else group.commands[name]
        )
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield before + name, command


OF_ALL = {"--quiet", "--verbose", "--color"}


def options(command: Any) -> set[str]:
    """Its options beside those of all commands, as they are written."""
    own = {one.opts[0] for one in command.params if one.param_type_name == "option"}
    assert own >= OF_ALL
    return own - OF_ALL


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ask:
    """Gives words to `tierbench`, on a machine of eight cores without an engine."""
    this_machine_has(monkeypatch, cpus=8)

    def asked(words: Sequence[str]) -> Asked:
        app = Planning(**vars(an_app(tmp_path / "cache")))
        assert main.exit_code(words, app) == EXIT_DONE
        return app.asked[-1]

    return asked
