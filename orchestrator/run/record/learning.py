"""What a run took is kept, for the estimates of later campaigns."""

from __future__ import annotations

from orchestrator.planning import data_sizes, paces
from orchestrator.run.record.run_context import Draft, RunContext
from orchestrator.run.runs_ahead import spent_times

# These phases last as long as planned; only what comes around them is learnt.
_UNDER_LOAD = ("warm-up", "measure", "confirm")


def learn(here: RunContext, took_s: float) -> None:
    """Keeps the times of a run that took `took_s` seconds, unless something failed in it."""
    draft = here.draft
    if draft.outcome != "done" or draft.trouble is not None:
        return
    # Windows are as long as planned, and data sets, gates and copies have their own
    # estimates.
    around_s = took_s - _under_load_s(draft) - sum(draft.spent.values())
    _note_spent(here, paces.AROUND_RUN, around_s, 1.0)
    restored_bytes = data_sizes.restored_bytes(here.profile, here.workload)
    restore_s = draft.spent.get(paces.RESTORE, 0.0)
    _note_spent(here, paces.RESTORE, restore_s, restored_bytes)
    load = paces.load_of(here.workload)
    load_s = draft.spent.get(load, 0.0)
    _note_spent(here, load, load_s, data_sizes.data_bytes(here.workload))


def _under_load_s(draft: Draft) -> float:
    total_s = 0.0
    for phase in draft.phases:
        if phase.name in _UNDER_LOAD:
            total_s += phase.duration_s
    return total_s


def _note_spent(
    here: RunContext, what: str, spent_s: float, amount: float | None
) -> None:
    profile = here.profile
    platform = here.world.platform.name
    name = paces.kept_as(what, profile.tier, platform, profile.cluster)
    spent_times.keep(name, spent_s, here.world, amount)
