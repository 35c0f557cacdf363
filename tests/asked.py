"""Campaigns as a command line asks for them, without an engine: what would be carried out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import campaign, main, outside, plans
from orchestrator.errors import EXIT_DONE, UnavailableError
from orchestrator.model import Plan
from orchestrator.system.shell import SystemShell
from tests import ROOT
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
    """The plan, how it is to be carried out, and what the results folder keeps of the command."""

    plan: Plan
    how: dict[str, object]
    fingerprint: dict[str, object]


Ask = Callable[[Sequence[str]], Asked]


def commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every command of the program with its full name, such as `disk up`."""
    for name in group.commands:
        command = group.loaded(name) if hasattr(group, "loaded") else group.commands[name]
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield before + name, command


def code_of(words: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of `tierbench` with these words."""
    monkeypatch.setattr(sys, "argv", ["tierbench", *words])
    return main._guarded(lambda: main.app(standalone_mode=False))


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ask:
    """Gives words to `tierbench`, on a machine of eight cores without an engine."""

    def no_engine(*_: object) -> None:
        raise UnavailableError("no engine")

    monkeypatch.setattr(outside, "platform", no_engine)
    this_machine_has(monkeypatch, cpus=8)

    def asked(words: Sequence[str]) -> Asked:
        found = []

        def carry_out(request, results, as_json, fail_if_worse, accept_inconclusive):  # type: ignore[no-untyped-def]
            made = plans.make_plan(request, ROOT, tmp_path / "cache")
            how = {"dry_run": request.dry_run, "results": results, "json": as_json}
            how |= {"fail": fail_if_worse, "accept": accept_inconclusive}
            found.append(
                Asked(made, how, campaign.fingerprint({}, None, fake_world(shell=SystemShell())))
            )

        monkeypatch.setattr(main, "_carry_out", carry_out)
        monkeypatch.setattr(sys, "argv", ["tierbench", *words])
        assert main.app(standalone_mode=False) in (None, EXIT_DONE)
        (one,) = found
        return one

    return asked
