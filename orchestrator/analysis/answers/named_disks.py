"""What a script takes of an answer: the disks that it names, and nothing else (`-o name`). Pure.

A script reads no sentence that bounds a name. So a tier is named here only where the answer says
that it is enough, without a bound that would have to be read beside it.
"""

from collections.abc import Sequence

from orchestrator.analysis.answers.record import Answer, PartAnswer
from orchestrator.analysis.answers.sureness import MOOT


def named_disks(answer: Answer) -> tuple[str, ...]:
    """Each disk once, in the order of the answer; empty if the answer names none.

    Of a comparison: the profile to buy, or a profile for each workload that is answered alone. Of
    one profile: itself, if it meets its SLO. Of an observation and a prediction: the catalog rows
    worth measuring, named as `--tier` takes them.
    """
    if answer.kind == "prediction":
        return _each_once(_predicted(answer.parts))
    if answer.kind == "observation":
        return _each_once([part.tier for part in answer.parts if part.tier])
    if answer.kind == "disks alone" or _is_bounded(answer):
        return ()
    if answer.kind == "one profile":
        return _that_meets_its_slo(answer)
    return _to_buy(answer)


def _is_bounded(answer: Answer) -> bool:
    """Whether nobody may buy by the name alone: it holds under a condition, or no disk was
    measured."""
    if answer.sureness.word in MOOT.values():
        return True
    return any(
        untested.kind in ("any measurement", "real cluster", "anything")
        for untested in answer.untested
    )


def _to_buy(answer: Answer) -> tuple[str, ...]:
    parts = answer.parts
    if answer.is_for_all:
        parts = answer.all_parts[:1]
    tiers: list[str] = []
    for part in parts:
        # A tier that is enough for one load may be too slow for the one that has no answer.
        if part.tier is None:
            return ()
        tiers.append(part.tier)
    return _each_once(tiers)


def _that_meets_its_slo(answer: Answer) -> tuple[str, ...]:
    if answer.sureness.word != "SLO met":
        return ()
    profiles: list[str] = []
    for part in answer.parts:
        if part.measured is not None:
            profiles.append(part.measured.profile)
    return _each_once(profiles)


def _predicted(parts: Sequence[PartAnswer]) -> list[str]:
    tiers: list[str] = []
    for part in parts:
        tiers += [outlook.tier for outlook in part.worth_measuring]
    return tiers


def _each_once(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
