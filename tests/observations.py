"""What tests of `tierbench observe` give it: an idle exporter, a profile, a size, what was read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator.errors import EXIT_DONE
from orchestrator.powers import Clock
from orchestrator.system import parquet
from tests import ROOT
from tests.apps import an_app, tierbench
from tests.clocks import SampledClock
from tests.simulated_demand import seconds_of, table

PAGE = (
    ROOT / "tests/fixtures/histories/node_exporter.txt"
).read_text()  # of node_exporter 1.5.0
OF_HOST = 'node_filesystem_size_bytes{device="/dev/vda1",mountpoint="/"} 1e10'
BEGIN_S = 1_795_651_200.0
SIZED = ("--size", "250GiB")
ON = ("--vm", "azure/Standard_D8s_v5", *SIZED)
BURSTY = seconds_of("bursts of 10 s", 5, 6 * 3600, mean=600.0)


class Ticking(dict[str, tuple[int, str]]):
    """Pages of a node_exporter of an idle machine, which has this clock."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def get(self, path: str, default: Any = None) -> Any:
        if not path.startswith("/metrics"):
            return default
        lines = [OF_HOST]
        for line in PAGE.splitlines():
            name = line.partition("{")[0].partition(" ")[0]
            if name == "node_time_seconds":
                line = f"{name} {self._clock.now()!r}"
            lines.append(line)
        return 200, "\n".join(lines)


def a_profile(
    folder: Path, tier: str = "type: azure/P15, enforcement: existing", **keys: str
) -> Path:
    given = "".join(f"\n    {name}: {value}" for name, value in keys.items())
    file = folder / "ours.yaml"
    file.write_text(
        f"question: q\ntier: {{{tier}}}\ncluster:\n"
        "  database: existing\n  replication_factor: 1\n"
        f"  existing:\n    tls: off\n    flavour: postgresql{given}\n"
    )
    return file


def stored(folder: Path, *demands: Any) -> Path:
    """An observation that has read this."""
    folder.mkdir(exist_ok=True)
    parquet.write(folder / "demand.parquet", [table(*demands)])
    return folder


def observed(results: Path, *words: str) -> Path:
    app = an_app(results, clock=SampledClock(BEGIN_S))
    words = ("observe", *words, "--results", str(results))
    assert tierbench(app, *words) == EXIT_DONE
    return max(results.glob("*observed*"))
