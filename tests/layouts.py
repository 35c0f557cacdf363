"""Which layouts of disks go with which tiers, platforms and databases, and why the others do not.

`test_layouts.py` in tests/unit/cli holds these rules against the program, and the table of
docs/COMBINATIONS.md against these rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ONE = "one disk"
LOG = "log's disk"
STRIPED = "striped"
BOTH = "both"
LAYOUTS = (ONE, LOG, STRIPED, BOTH)
TIERS = ("emulated", "mounted", "storage-class", "existing", "none")
PLATFORMS = ("docker", "kubernetes", "machines")
DISK_ALONE = "disk alone"
DATABASES = ("postgresql", "yugabytedb", "existing", DISK_ALONE)
ALL_CHOICES = (*LAYOUTS, *PLATFORMS, *DATABASES)
_OURS = ("postgresql", "yugabytedb", DISK_ALONE)


@dataclass(frozen=True)
class Combination:
    """One cell: a layout on a kind of tier, on a platform, under a database."""

    layout: str
    tier: str
    platform: str
    database: str

    @property
    def choices(self) -> tuple[str, str, str]:
        """What is chosen beside the kind of tier."""
        return (self.layout, self.platform, self.database)


@dataclass(frozen=True)
class Refusal:
    """These `tiers` do not go with any of these `choices`: layouts, platforms or databases.

    `why`: as the document says it. `words`: a part of what the program says.
    """

    tiers: tuple[str, ...]
    choices: tuple[str, ...]
    why: str
    words: str

    def is_of(self, tier: str, choice: str) -> bool:
        return tier in self.tiers and choice in self.choices


REFUSALS = (
    Refusal(
        tiers=("storage-class",),
        choices=(STRIPED, BOTH),
        why="a stripe takes rights on the machine; several data directories are no stripe",
        words="`storage-class`, and to stripe its volumes takes rights on the machine",
    ),
    Refusal(
        tiers=("none",),
        choices=(LOG, BOTH),
        why="nothing is declared of this machine's own disk",
        words="tier.wal: belongs to `enforcement: emulated`, `mounted`, `storage-class` or",
    ),
    Refusal(
        tiers=("none",),
        choices=(STRIPED, BOTH),
        why="nothing is declared of this machine's own disk",
        words="tier.count: belongs to `enforcement: emulated`, `mounted` or `existing`",
    ),
    Refusal(
        tiers=("storage-class",),
        choices=("docker",),
        why="only Kubernetes has StorageClasses",
        words="volumes of a StorageClass, which docker does not have",
    ),
    Refusal(
        tiers=("storage-class",),
        choices=("machines",),
        why="only Kubernetes has StorageClasses",
        words="disks of several machines are `emulated`, `mounted` or `none`",
    ),
    Refusal(
        tiers=("existing",),
        choices=("machines",),
        why="others run this cluster: no node is started on the machines",
        words="there is no node to start on them",
    ),
    Refusal(
        tiers=("mounted",),
        choices=("kubernetes",),
        why="Kubernetes chooses the machine, so a path names no disk of several machines",
        words="names disks by their paths on one machine",
    ),
    Refusal(
        tiers=("existing",),
        choices=_OURS,
        why="disks of `existing` are those of a cluster that others run",
        words="`enforcement: existing` and `database: existing` belong together",
    ),
    Refusal(
        tiers=("emulated", "mounted", "storage-class", "none"),
        choices=("existing",),
        why="a cluster that others run has its disks: tierbench cannot change them",
        words="`enforcement: existing` and `database: existing` belong together",
    ),
)


def refusal_of(tier: str, choice: str) -> Refusal | None:
    """Why this kind of tier does not go with a layout, platform or database; None: it does."""
    for refusal in REFUSALS:
        if refusal.is_of(tier, choice):
            return refusal
    return None


def refusals_of(asked: Combination) -> list[Refusal]:
    """All that speaks against it; none: it works."""
    refusals: list[Refusal] = []
    for choice in asked.choices:
        refusal = refusal_of(asked.tier, choice)
        if refusal:
            refusals.append(refusal)
    return refusals


def combinations() -> list[Combination]:
    """All cells of the table."""
    cells: list[Combination] = []
    for layout in LAYOUTS:
        for tier in TIERS:
            for platform in PLATFORMS:
                for database in DATABASES:
                    cells.append(Combination(layout, tier, platform, database))
    return cells


def all_else_working(tier: str, choice: str) -> Combination:
    """A combination of the two against which only that speaks, if there is one."""
    for asked in combinations():
        if asked.tier != tier or choice not in asked.choices:
            continue
        others = set(asked.choices) - {choice}
        if all(refusal_of(tier, other) is None for other in others):
            return asked
    raise AssertionError(f"{tier} goes with nothing beside {choice}")


# ------------------------------------------------------------------ as the document has it


def as_markdown() -> str:
    """The table and its reasons, as docs/COMBINATIONS.md has them."""
    letters = _letters()
    head = ["tier", *ALL_CHOICES]
    lines = [_row(head), _row(["---"] * len(head))]
    for tier in TIERS:
        cells = [f"`{tier}`"]
        for choice in ALL_CHOICES:
            refusal = refusal_of(tier, choice)
            if refusal is None:
                cells.append("yes")
            else:
                cells.append(letters[refusal.why])
        lines.append(_row(cells))
    lines.append("")
    for why, letter in letters.items():
        lines.append(f"- **{letter}**: {why}.")
    return "\n".join(lines) + "\n"


def _letters() -> dict[str, str]:
    """Reason → its letter, in the order of the rules."""
    letters: dict[str, str] = {}
    for refusal in REFUSALS:
        if refusal.why not in letters:
            letters[refusal.why] = "abcdefghijklm"[len(letters)]
    return letters


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
