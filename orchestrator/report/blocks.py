"""The blocks of a report: frozen and without markup, drawn by `markdown` and by `page` alike.

Text is plain: no markup inside. Emphasis, verdict words, tier colours, footnote marks and links are
fields, so that each medium draws them in its own way and escapes everything else."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from orchestrator.analysis.answers.record import NO_BRIEF, Brief, SurenessWord
from orchestrator.analysis.conclusions import VerdictWord
from orchestrator.texts.foreign_text import shortened


@dataclass(frozen=True)
class Cell:
    """One table cell. `detail` is quieter (an interval, a spread); `tier` asks for its colour;
    `notes` are numbers of footnotes (doubts); `missing` marks a value that should be there."""

    text: str
    detail: str = ""
    word: VerdictWord | None = None
    notes: tuple[int, ...] = ()
    tier: str = ""
    href: str = ""
    missing: bool = False
    strong: bool = False


def absent(text: str, detail: str = "") -> Cell:
    """The cell of a value that should be there; `text` says why it is not."""
    return Cell(text, detail, missing=True)


def heading(text: str) -> Cell:
    """The cell of a row that is a heading: such a row has no other."""
    return Cell(text, strong=True)


@dataclass(frozen=True)
class Column:
    """A column of a table. Numbers stand on the right."""

    title: str
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    """`remarks` stand below it, one line each."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    remarks: tuple[str, ...] = ()


_LOST = absent("missing")
_NOT_MEASURED = absent("not measured")
# What stands in the place of a value.
_BARE: frozenset[Cell | str] = frozenset(["", Cell(""), _LOST, _NOT_MEASURED])
Row = str | Cell | Mapping[str, Cell | str]


def table_of(
    rows: Iterable[Row],
    words: Collection[str],
    remarks: tuple[str, ...] = (),
    titles: Sequence[str] = (),
) -> Table:
    """A table of rows that name their columns: column's title → what stands there. A text or a cell
    among the rows is a heading. The columns are `titles`, else those of the first row, which all
    others have too; those not in `words` are numbers. One that no run measured is left out; where
    all runs are lost it stays."""
    # Rows may come from a generator, and are read twice.
    all_rows = list(rows)
    named = [row for row in all_rows if isinstance(row, Mapping)]
    if named and not titles:
        titles = list(named[0])
    columns: list[Column] = []
    for title in titles:
        # A column of gaps takes the width that the others need.
        if not _is_unmeasured({row[title] for row in named}):
            # Figures stand on the right, so that their digits are below each other.
            columns.append(Column(title, numeric=title not in words))
    drawn = tuple(_drawn(row, columns) for row in all_rows)
    return Table(tuple(columns), drawn, remarks)


def _is_unmeasured(contents: Collection[Cell | str]) -> bool:
    """Whether a column has no value, and not only because all runs are lost."""
    # A column of runs that were all lost stays, because it says what was planned.
    has_no_value = all(content in _BARE for content in contents)
    is_all_lost = all(content == _LOST for content in contents)
    return has_no_value and not is_all_lost


def _drawn(row: Row, columns: Iterable[Column]) -> tuple[Cell, ...]:
    # A row of one cell is a heading to all that draw tables.
    if isinstance(row, str):
        return (heading(row),)
    if isinstance(row, Cell):
        return (row,)
    return tuple(_as_cell(row[column.title]) for column in columns)


def _as_cell(content: Cell | str) -> Cell:
    if isinstance(content, str):
        return Cell(content)
    return content


@dataclass(frozen=True)
class Paragraph:
    """`lead`: what it is about, in front of it and bold."""

    text: str
    lead: str = ""


@dataclass(frozen=True)
class Items:
    """A list of short statements, each with a term in front if it has one."""

    rows: tuple[Paragraph, ...]


@dataclass(frozen=True)
class Code:
    """Code as a shell takes it."""

    text: str


# Length in bytes. Linux allows a file's name 255, its ending included.
_LONGEST_NAME = 200


@dataclass(frozen=True)
class Measure:
    """What a chart draws: a metric, or a column of a table; `file` is the end of the drawing's
    name, and `factor` makes `unit` of the base unit. `scope`: of the metric; empty: the one that
    stands for the workload."""

    metric: str
    file: str
    title: str
    unit: str
    factor: float = 1.0
    scope: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart in a file of its own: `charts/<name>.svg`; `title` says what is drawn, with unit.

    `draw`: makes its SVG. `remark`: what a reader of this chart must know; said once where charts
    share it. `live`: the same in Vega-Lite, which the page's script draws in the place of the SVG;
    None: it stays."""

    name: str
    title: str
    draw: Callable[[], str]
    remark: str = ""
    live: Mapping[str, Any] | None = field(default=None, compare=False)

    @cached_property
    def svg(self) -> str:
        # Drawing takes most of the time of a page, and a terminal shows no chart.
        return self.draw()

    @property
    def path(self) -> str:
        """Its file, from the report's folder."""
        if len(self.name.encode()) <= _LONGEST_NAME:
            return f"charts/{self.name}.svg"
        # It begins with a workload's name; what is drawn stands last.
        # The last 24 characters take 96 bytes at most, so the whole stays below 255.
        begin = shortened(self.name, 150)
        return f"charts/{begin}{self.name[-24:]}.svg"


@dataclass(frozen=True)
class Charts:
    """Charts that belong side by side. `tiers` is the legend, in the order of the colours;
    `folded`: if not empty, they are out of sight until a reader opens what is named so;
    `bands`: what the bands below the lines mean → their colour."""

    rows: tuple[Chart, ...]
    tiers: tuple[str, ...]
    caption: str = ""
    folded: str = ""
    wide: bool = False  # one below the other, as wide as the page
    bands: Mapping[str, str] = field(default_factory=dict)


Block = Table | Paragraph | Items | Code | Charts


@dataclass(frozen=True)
class Part:
    """A titled stretch within a section."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Section:
    anchor: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Stamp:
    """What every figure must be read with: a short label, and the sentence behind it.

    `is_in_brief`: the four lines on top say it already, so its label need not stand below them.
    """

    label: str
    text: str
    advice: str
    is_in_brief: bool = False


@dataclass(frozen=True)
class ShownAnswer:
    """An answer. `tier`: whose colour it has, or empty; `headline`: the tier, or that none is
    named; empty where none was asked for. `text`: all of it, for what can fold nothing. `lines`:
    what is in sight of it; `folded`: what stands behind them until a reader asks for it, or empty;
    `picture`: of its figures."""

    workload: str
    tier: str
    text: str
    price: str
    lines: tuple[str, ...]
    headline: str = ""
    folded: str = ""
    picture: Chart | None = None


@dataclass(frozen=True)
class Footnote:
    """`where`: its `runs` in words. `number`: None if no cell of a table refers to it."""

    number: int | None
    text: str
    advice: str
    where: str
    runs: frozenset[int]


@dataclass(frozen=True)
class Document:
    """The first screen field by field (a reader in a hurry sees nothing else), then sections.

    `brief`: the answer in four lines, which stand on top. `named_disks`: what a script takes of it.
    `is_example`: nothing was measured.
    """

    title: str
    subtitle: str
    status: SurenessWord
    status_text: str
    stamps: tuple[Stamp, ...]
    answers: tuple[ShownAnswer, ...]
    verdicts: Table
    sections: tuple[Section, ...]
    is_example: bool
    changes: tuple[Charts, ...] = ()  # the table as a picture beside it
    footnotes: tuple[Footnote, ...] = ()
    tiers: tuple[str, ...] = ()
    notice: str = ""  # said before all else
    brief: Brief = NO_BRIEF
    named_disks: tuple[str, ...] = ()

    @property
    def labelled(self) -> tuple[Stamp, ...]:
        """The stamps whose labels stand on top."""
        return labelled(self.stamps)


@dataclass(frozen=True)
class StoredPage:
    """A document that was kept, and the same for programs. `content`: as for JSON."""

    document: Document
    content: object


def labelled(stamps: Sequence[Stamp]) -> tuple[Stamp, ...]:
    """The stamps that the brief does not say already."""
    further: list[Stamp] = []
    for stamp in stamps:
        if not stamp.is_in_brief:
            further.append(stamp)
    return tuple(further)


def charts_of(document: Document) -> Iterator[Chart]:
    """All charts, in the order of the page."""
    # Pictures of the cards come first, because they are on the first screen.
    for answer in document.answers:
        if answer.picture is not None:
            yield answer.picture
    yield from charts_below(document)


def charts_below(document: Document) -> Iterator[Chart]:
    """The charts that are not in sight on the first screen."""
    for changes in document.changes:
        yield from changes.rows
    for section in document.sections:
        for part in section.parts:
            for block in part.blocks:
                if isinstance(block, Charts):
                    yield from block.rows
