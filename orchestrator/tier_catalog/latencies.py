"""The latency of a row's disk: as the profile states it, else as it is emulated; and what that
rests on. None of it is promised by a provider."""

from collections.abc import Iterator

from orchestrator.texts import prose
from orchestrator.tier import WAYS, Latencies
from orchestrator.tier_catalog.rows import EmulatedLatency, EmulatedTime


def of_row(
    emulated: EmulatedLatency | None, read_s: float | None, write_s: float | None
) -> Latencies:
    """`read_s`, `write_s`: what the profile states; None or 0: it does not. `emulated`: of the row;
    None if it is not emulated."""
    assumed: list[str] = []
    if not read_s:
        assumed.append("read")
    if not write_s:
        assumed.append("write")
    if emulated is None:
        return Latencies(read_s or None, write_s or None, assumed=tuple(assumed))
    return Latencies(
        read_s or emulated.read.mean_s,
        write_s or emulated.write.mean_s,
        assumed=tuple(assumed),
        read_measured=_measured(emulated.read, read_s),
        write_measured=_measured(emulated.write, write_s),
    )


def _measured(emulated: EmulatedTime, stated_s: float | None) -> str:
    """Whose measurement it is; nobody's where the profile has another figure."""
    if stated_s:
        return ""
    return emulated.measured


def notes(latency: Latencies) -> Iterator[str]:
    """What each direction rests on, unless the profile states it."""
    ways_by_basis: dict[str, list[str]] = {}
    for way in WAYS:
        basis = ""
        if latency.is_assumption(way):
            basis = "our assumption"
        elif latency.measured(way):
            basis = f"as measured by {latency.measured(way)}"
        if basis:
            # Reads and writes that rest on the same are told in one sentence.
            ways_by_basis.setdefault(basis, []).append(way)
    for basis, ways in ways_by_basis.items():
        yield f"Emulated {prose.listed(ways)} latency: {basis}."
