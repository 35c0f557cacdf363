"""The agent itself as a process of this computer, and a conversation with it, for tests."""

from __future__ import annotations

import selectors
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from orchestrator.errors import RunError
from orchestrator.platforms.common.agent import AgentMachine
from orchestrator.powers import Clock
from orchestrator.system.clock import SystemClock
from tests import ROOT

AGENT = ROOT / "docker" / "disk" / "agent"


@dataclass
class Piped:
    """The `Conversation` protocol over the pipes of a process. `asked`: the lines sent."""

    process: subprocess.Popen[str]
    asked: list[str]

    def send(self, line: str) -> None:
        self.asked.append(line)
        try:
            self._pipe().write(f"{line}\n")
            self._pipe().flush()
        except OSError as error:
            raise RunError("it has ended") from error

    def receive(self, timeout_s: float) -> str:
        assert self.process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(timeout_s):
                raise RunError(f"no answer within {timeout_s:g} s")
        if not (line := self.process.stdout.readline()):
            raise RunError("it has ended")
        return line

    def _pipe(self) -> IO[str]:
        assert self.process.stdin
        return self.process.stdin


class Agents:
    """Begins conversations with agents of a machine whose root is at `root`; keeps what they were
    asked and their processes."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root
        self.asked: list[str] = []
        self.processes: list[subprocess.Popen[str]] = []

    @contextmanager
    def conversation(self) -> Iterator[Piped]:
        command = [sys.executable, "-IS", str(AGENT), str(self.root)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.processes.append(process)
        with process:  # which closes its standard input, and so ends it
            yield Piped(process, self.asked)

    def machine(self, name: str = "far", clock: Clock | None = None) -> AgentMachine:
        return AgentMachine(name, self.conversation, clock or SystemClock())
