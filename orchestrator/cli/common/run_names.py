"""A run of a stored campaign, as a command names it."""

from pathlib import Path
from typing import NamedTuple

from orchestrator.keys import plain_files


class RunName(NamedTuple):
    """`campaign`: as `App.folder` takes it. `slug`: the run's folder; empty of a campaign alone."""

    campaign: str
    slug: str


def campaign_and_run(text: str) -> RunName:
    """Both names in a run's folder, in `CAMPAIGN/RUN`, or in `RUN` of the latest campaign; of a
    folder of a campaign the second is empty."""
    path = text.rstrip("/")
    # A campaign's folder has its plan; a run's has none.
    if plain_files.kind_of(Path(text) / "plan.json") != "nothing":
        return RunName(path, "")
    campaign, _, slug = path.rpartition("/")
    return RunName(campaign.removesuffix("/runs") or "latest", slug)
