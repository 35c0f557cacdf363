"""The report's first screen for a terminal: rich renderables, returned and never printed here."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import (
    Console,
    ConsoleOptions,
    JustifyMethod,
    RenderableType,
    RenderResult,
)
from rich.table import Table as Grid
from rich.text import Text

from orchestrator.analysis.answers.record import Brief, SurenessWord
from orchestrator.analysis.conclusions import VerdictWord
from orchestrator.report.blocks import Cell, Footnote, ShownAnswer, Stamp, Table

_STATUS_STYLES: Mapping[SurenessWord, str] = {
    "conclusive": "bold green",
    "enough; cheaper not excluded": "bold yellow",
    "enough; price open": "bold yellow",
    "example: nothing was measured": "bold red",
    "for cached data only": "bold yellow",
    "for this machine only": "bold yellow",
    "for short windows only": "bold yellow",
    "not decided: latency assumed": "bold yellow",
    "partly conclusive": "bold yellow",
    "not conclusive": "bold red",
    "SLO met": "bold green",
    "SLO missed": "bold red",
    "SLO open": "bold yellow",
    "measured": "bold",
    "not measured": "bold red",
    "observed": "bold",
    "cannot be told from minutes": "bold yellow",
    "cannot be told from these readings": "bold yellow",
    "one tier": "bold",
    "predicted": "bold",
}
_VERDICT_STYLES: Mapping[VerdictWord, str] = {
    "better": "green",
    "worse": "red",
    "same": "dim",
    "inconclusive": "yellow",
}
GAP = 2
# Width of a column of words: "not declared" and "inconclusive" stay whole.
NARROWEST = 14


def status(word: SurenessWord, text: str) -> Text:
    """How sure the whole is."""
    return Text.assemble((word.upper(), _STATUS_STYLES[word]), "  ", text)


def notice(text: str) -> Text:
    """What is said before the answer."""
    return Text(f"{text}.", style="bold red")


def brief(brief: Brief) -> Iterator[RenderableType]:
    """The answer in four lines."""
    yield Text(brief.what, style="bold")
    grid = _pairs(padding=2, style="dim")
    for label, text in brief.lines:
        grid.add_row(Text(label), Text(text))
    yield grid


def stamps(stamps: tuple[Stamp, ...]) -> Text:
    """The labels alone, for the top."""
    line = Text()
    for stamp in stamps:
        line.append(f" {stamp.label} ", style="black on yellow")
        line.append(" ")
    return line


def answers(answers: tuple[ShownAnswer, ...]) -> RenderableType:
    """What each is about, and the answer."""
    grid = _pairs(padding=2, style="dim")
    for answer in answers:
        grid.add_row(Text(answer.workload), _answer(answer))
    return grid


def _answer(answer: ShownAnswer) -> Text:
    line = Text()
    if answer.tier:
        line.append(answer.headline, style="bold")
        if answer.price:
            line.append(f" ({answer.price})")
        line.append("  ")
    elif answer.headline:
        line.append(f"{answer.headline}  ", style="bold yellow")
    return line.append(" ".join(answer.lines))


def doubts(footnotes: tuple[Footnote, ...]) -> RenderableType:
    """The doubts about single runs, by number, then those about all."""
    grid = _pairs(padding=1, style="yellow", justify="right")
    for note in footnotes:
        advice = (note.advice, "italic")
        where = (f" ({note.where})", "dim")
        line = Text.assemble(note.text, " ", advice, where)
        mark = ""
        if note.number is not None:
            mark = f"[{note.number}]"
        grid.add_row(mark, line)
    return grid


def meanings(stamps: tuple[Stamp, ...]) -> RenderableType:
    """What the stamps mean, for the end."""
    grid = _pairs(padding=2, style="yellow")
    for stamp in stamps:
        meaning = Text.assemble(stamp.text, " ", (stamp.advice, "italic"))
        grid.add_row(stamp.label, meaning)
    return grid


def _pairs(padding: int, style: str, justify: JustifyMethod = "left") -> Grid:
    """A grid of a word and what belongs to it."""
    grid = Grid.grid(padding=(0, padding, 0, 0))
    grid.add_column(justify=justify, style=style, no_wrap=True)
    grid.add_column()
    return grid


# ------------------------------------------------------------------ tables


@dataclass(frozen=True)
class TableView:
    """A table of the report: a grid per group under its heading, all with the same widths; the
    remarks below. If the terminal is too narrow, words wrap and numbers stay whole."""

    block: Table

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        rows = self._rows(console.soft_wrap)
        heads = [Text(column.title, style="dim") for column in self.block.columns]
        # A heading is as wide as the table.
        column_rows = [heads, *(row for row in rows if not _is_heading(row))]
        widths = self._widths(column_rows, options.max_width)
        grid = self._grid(widths)
        grid.add_row(*heads)
        for row in rows:
            if _is_heading(row):
                yield grid
                yield Text(row[0].plain, style="bold")
                grid = self._grid(widths)
            else:
                grid.add_row(*row)
        yield grid
        for remark in self.block.remarks:
            yield Text(remark, style="dim")

    def _rows(self, soft_wrap: bool) -> list[list[Text]]:
        # A row is one line if lines are not cut.
        before_detail = "\n"
        if soft_wrap:
            before_detail = " "
        return [[_cell(cell, before_detail) for cell in row] for row in self.block.rows]

    def _widths(self, rows: Sequence[Sequence[Text]], most: int) -> list[int]:
        """The widths of the columns, in characters: as wide as the longest line, or less."""
        row_widths = [_row_widths(row) for row in rows]
        widths = [max(column) for column in zip(*row_widths, strict=True)]
        words = [not column.numeric for column in self.block.columns]
        gaps = GAP * (len(widths) - 1)
        return fit(widths, words, most - gaps)

    def _grid(self, widths: Sequence[int]) -> Grid:
        grid = Grid.grid(padding=(0, GAP, 0, 0))
        for column, width in zip(self.block.columns, widths, strict=True):
            justify: JustifyMethod = "left"
            if column.numeric:
                justify = "right"
            grid.add_column(justify=justify, width=width)
        return grid


def _is_heading(row: Sequence[Text]) -> bool:
    return len(row) == 1


def _row_widths(row: Sequence[Text]) -> list[int]:
    return [max(_line_widths(text)) for text in row]


def _line_widths(text: Text) -> Iterator[int]:
    for line in text.plain.split("\n"):
        # Width counts cells of a terminal: a Chinese sign takes two, a combining one none.
        yield cell_len(line)


def fit(widths: list[int], words: list[bool], most: int) -> list[int]:
    """`widths` cut to add up to `most`: the widest column of words first, to a word at least."""
    fitted = list(widths)
    while sum(fitted) > most:
        widest = _widest(fitted, words)
        # Only figures are left: a table that is too wide says more than one with cut figures.
        if widest is None:
            break
        fitted[widest] -= 1
    return fitted


def _widest(widths: Sequence[int], words: Sequence[bool]) -> int | None:
    """The first of the widest columns that can be cut."""
    widest = None
    width = NARROWEST
    for number, is_words in enumerate(words):
        if is_words and widths[number] > width:
            widest = number
            width = widths[number]
    return widest


def _cell(cell: Cell, before_detail: str) -> Text:
    """The text with its verdict, and the detail dimmed."""
    style = ""
    if cell.missing:
        style = "italic yellow"
    line = Text(cell.text, style=style)
    if cell.word:
        line.append(f" {cell.word}", style=_VERDICT_STYLES[cell.word])
    if cell.detail:
        line.append(f"{before_detail}{cell.detail}", style="dim")
    if cell.notes:
        numbers = ",".join(str(number) for number in cell.notes)
        line.append(f" [{numbers}]", style="yellow")
    return line
