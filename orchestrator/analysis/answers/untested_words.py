"""What an answer has not tested, in a few words. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.analysis.answers.asked import Asked
from orchestrator.analysis.answers.record import (
    Answer,
    Untested,
    UntestedKind,
)
from orchestrator.texts import prose

_UNTESTED: Mapping[UntestedKind, str] = {
    "any measurement": "any disk: no figure was measured here",
    "real cluster": "a real cluster: a program for tests answered",
    "real disks": "real disks",
    "database": "YugabyteDB itself",
}


def untested_in_words(asked: Asked, untested: Sequence[Untested]) -> str:
    """`real disks, YugabyteDB itself, ultra (no run left figures)`; empty if nothing is."""
    names: dict[str, None] = {}
    for item in untested:
        name = _UNTESTED.get(item.kind)
        if item.kind == "number of nodes":
            name = _nodes(asked)
        if item.kind == "size of the data":
            name = _data(asked)
        if name:
            names[name] = None
    without_figures = list(_without_figures(asked))
    if without_figures:
        names[f"{prose.listed(without_figures)} (no run left figures)"] = None
    return ", ".join(names)


def _without_figures(asked: Asked) -> Iterator[str]:
    """Tiers that were planned and that no cell is of."""
    # Else a reader who looks for one finds it nowhere.
    with_figures = {cell.profile for cell in asked.verdict.cells}
    for profile in asked.campaign.plan.tiers:
        if profile.name not in with_figures:
            yield profile.name


def _data(asked: Asked) -> str:
    scale = asked.campaign.small_scale
    return f"data of the size in production (scale {scale} is not for sizing)"


def _nodes(asked: Asked) -> str:
    """`3 nodes (1 was measured)`."""
    cluster = asked.campaign.plan.profiles[0].cluster
    if cluster.nodes_to_buy == cluster.nodes:
        return "another number of nodes"
    bought = prose.counted(cluster.nodes_to_buy, "node")
    measured = f"{cluster.nodes} were measured"
    if cluster.nodes == 1:
        measured = "1 was measured"
    return f"{bought} ({measured})"


def is_untested(answer: Answer, kind: UntestedKind) -> bool:
    return any(untested.kind == kind for untested in answer.untested)


def where_proven(answer: Answer) -> str:
    """` here, not on real disks,`; empty where real ones were measured.

    Real disks may differ from emulated ones by more than chance does, which no interval covers.
    """
    if is_untested(answer, "real disks"):
        return " here, not on real disks,"
    return ""
