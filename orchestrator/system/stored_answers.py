"""What extensions keep in a results folder, such as observations and predictions.

Each is an entry of the list of all that was found (`campaign_list`), beside the campaigns.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.analysis.campaigns.campaign_list import Entry
from orchestrator.registry.installed import family
from orchestrator.registry.references import ObjectPlace
from orchestrator.system import campaign_folders


@dataclass(frozen=True)
class StoredAnswer:
    """`noun`: what it is, such as `observation`."""

    noun: str
    entry: Entry


def in_folder(folder: Path, campaign: Entry | None = None) -> Iterator[StoredAnswer]:
    """What extensions keep in one folder. `campaign`: the entry of the one that is there."""
    for noun, owned in family("kept", dict[str, str]()).items():
        entries = ObjectPlace(owned.entry, owned.origin).imported()
        for entry in entries(folder, campaign):
            yield StoredAnswer(noun, entry)


def beside_campaigns(results: Path) -> Iterator[StoredAnswer]:
    """What extensions keep in folders without a plan. NotReadableError for `results` itself."""
    for folder in campaign_folders.without_plan(results):
        yield from in_folder(folder)
