"""What a shell completes: names of profiles and workloads, also the last of several."""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.cli import ROOT


def names_in(folder: str) -> Callable[[str], list[str]]:
    """A callback of typer: what is typed so far → what it may become."""

    def complete(incomplete: str) -> list[str]:
        before, space, begun = incomplete.rpartition(" ")
        known = sorted(file.stem for file in (ROOT / folder).glob("*.yaml"))
        fitting = (name for name in known if name.startswith(begun) and name not in before.split())
        return [f"{before}{space}{name}" for name in fitting]

    return complete


profiles, workloads = names_in("profiles"), names_in("workloads")
