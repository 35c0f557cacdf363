"""How a campaign stands at this moment: the record that the panel shows, and its file.

A campaign that goes on keeps it in `live.json` of its folder, for `tierbench status --follow` in
another terminal. The file is no part of the results: it goes when the campaign ends, and what a
killed one has left is too old to be shown.
"""

from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from orchestrator.analysis.telemetry.use.node_values import CapName
from orchestrator.errors import CutError
from orchestrator.keys import plain_files
from orchestrator.system import files

FILE = "live.json"
# Older than that it is of a program that was killed, or of a machine that sleeps.
FRESH_S = 20.0


@dataclass(frozen=True)
class LiveRun:
    """The run in progress; numbers count from 1."""

    number: int
    runs: int
    profile: str
    workload: str
    repetition: int
    repetitions: int


@dataclass(frozen=True)
class RecentRates:
    """Transactions per second of a profile, one value a second, the newest last."""

    profile: str
    per_s: tuple[float, ...]


@dataclass(frozen=True)
class DiskAtCap:
    """The node whose disk was at a cap most, and in how many % of the last seconds it was."""

    node: str
    cap: CapName
    seconds_pct: float


@dataclass(frozen=True)
class PanelState:
    """What the panel shows. None, or empty: it is not known, or there is none."""

    campaign: str
    # Unix time, as `ends_s`; `elapsed_s` are seconds.
    written_s: float
    elapsed_s: float
    ends_s: float | None = None
    run: LiveRun | None = None
    # The present activity, in words.
    doing: str = ""
    # Rates of the run in progress.
    rates: RecentRates | None = None
    # Rates of the same workload on the tier that was measured before.
    before: RecentRates | None = None
    disk: DiskAtCap | None = None
    # The cost so far, of what was rented, in words.
    cost: str = ""
    # The decisions that the runs so far would give, a line for each workload.
    standing: tuple[str, ...] = ()


_form = TypeAdapter(PanelState)


def keep(folder: Path, state: PanelState) -> None:
    """Keeps it in the campaign's folder. A reader sees the old one or the new one.

    It is not brought to the disk at once, because that would disturb what is measured.
    NotWrittenError if it cannot be written."""
    with files.replacing(folder / FILE, private=True, lasting=False) as opened:
        opened.write(files.json_text(asdict(state)).encode())


def kept(folder: Path, now_s: float) -> PanelState | None:
    """What is kept there; None if there is none, it cannot be read, or it is too old."""
    with suppress(OSError, CutError, ValueError):
        state = _form.validate_json(plain_files.read(folder / FILE))
        # An older one would show a run that nobody makes any more.
        if now_s - state.written_s <= FRESH_S:
            return state
    return None


def forget(folder: Path) -> None:
    """Removes the file; what cannot be removed stays, and is soon too old to be shown."""
    with suppress(OSError):
        (folder / FILE).unlink(missing_ok=True)
