"""How a doubt is made: each of these says what the doubt does to a verdict. Pure.

A function that words a doubt calls the one of its effect; the effect then stands in the
record and in verdict.json, so that who reads them needs no table of kinds.
"""

from orchestrator.facts import DoubtKind
from orchestrator.model import Doubt


def excludes_the_run(
    kind: DoubtKind, text: str, advice: str, run: int | None = None
) -> Doubt:
    """Its figures are wrong, whatever they are: they enter no figure and no decision.

    A doubt that follows from a figure must not exclude: that would be to choose among
    results (docs/METHOD.md, "Which runs count").
    """
    return Doubt(kind=kind, text=text, advice=advice, run=run, effect="excludes")


def forbids_a_conclusion(
    kind: DoubtKind, text: str, advice: str, run: int | None = None
) -> Doubt:
    """The tier looks better than it is, or all alike: nothing is concluded in its favour."""
    return Doubt(kind=kind, text=text, advice=advice, run=run, effect="forbids")


def limits_the_answer(
    kind: DoubtKind,
    text: str,
    advice: str,
    run: int | None = None,
    profile: str | None = None,
) -> Doubt:
    """The figures hold, but for less than a buyer may think: the answer's sentence says it."""
    return Doubt(
        kind=kind, text=text, advice=advice, run=run, effect="limits", profile=profile
    )


def is_only_told(
    kind: DoubtKind,
    text: str,
    advice: str,
    run: int | None = None,
    profile: str | None = None,
) -> Doubt:
    """It stands with the figures: it widens intervals, or tells of their measurement."""
    return Doubt(
        kind=kind, text=text, advice=advice, run=run, effect="told", profile=profile
    )
