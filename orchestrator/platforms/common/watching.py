"""Containers that must live while a command runs in another."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.errors import NodeError
from orchestrator.platforms.common.output import Output


class Watching:
    """The part of a platform that ends a command whose watched containers have died."""

    def state(self, container: str) -> str:
        raise NotImplementedError

    def logs(self, container: str, tail: int | None = None) -> str:
        raise NotImplementedError

    def _raise_if_dead(self, watch: Sequence[str], output: Output) -> None:
        for name in watch:
            state = self.state(name)
            if state != "running":
                raise NodeError(
                    f"{name} died in the middle of the run: {state}",
                    advice="look at its log among the raw files of the run",
                    evidence=self.logs(name, tail=20) + "\n" + output.tail(),
                )
