"""The command line for tests: on folders of the test, with the platform that it is given."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.cli import main
from orchestrator.cli.common.app import App
from orchestrator.cli.measure.campaign_app import CampaignApp
from orchestrator.errors import UnavailableError
from orchestrator.model import Placing
from orchestrator.parts import Parts
from tests import ROOT
from tests.fakes import QuietProgress


class Terminal(io.StringIO):
    """A person who gives these answers."""

    def isatty(self) -> bool:
        return True


Connect = Callable[[Any, Placing], Any]


def no_engine(*_: object) -> Any:
    raise UnavailableError("no engine answers")


def an_app(
    cache: Path, platform: Any = None, connect: Connect | None = None, **fields: Any
) -> CampaignApp:
    """The program on this project's folder, quiet, without an engine. `platform`: what every name
    of a platform connects to; `connect`: what is called for it."""
    if connect is None:
        connect = no_engine if platform is None else lambda *_: platform
    known = dict.fromkeys(("docker", "kubernetes"), connect)
    given = {
        "progress": QuietProgress(),
        "lock": cache / "lock",
        "state": cache / "state",
        **fields,
    }
    return CampaignApp(ROOT, cache, cache / "results", platforms=lambda: known, **given)


def with_parts(app: CampaignApp, parts: Parts) -> CampaignApp:
    """The same with these members of the families."""

    def the_same(_platform: object) -> Parts:
        return parts

    return replace(app, parts=the_same)


def said_by(app: App) -> list[str]:
    """The lines that its progress kept."""
    return app.progress.said  # type: ignore[attr-defined, no-any-return]


def tierbench(app: CampaignApp, *words: str) -> int:
    """Runs a command; returns its exit code."""
    return main.exit_code(words, app)
