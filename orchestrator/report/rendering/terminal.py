"""The report's first screen for a terminal: rich renderables, returned and never printed here."""

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

from orchestrator.analysis.answers.record import SurenessWord
from orchestrator.report.blocks import Cell, Footnote, ShownAnswer, Stamp, Table
from orchestrator.report.prose import words

_STATUS_STYLE = words("status.styles")
_WORD_STYLE = words("verdict.styles")
GAP = 2
NARROWEST = 14  # "not declared", "inconclusive"


def status(word: SurenessWord, text: str) -> Text:
    return Text.assemble((word.upper(), _STATUS_STYLE[word]), "  ", text)


def stamps(stamps: tuple[Stamp, ...]) -> Text:
    """The labels alone, for the top."""
    line = Text()
    for stamp in stamps:
        line.append(f" {stamp.label} ", style="black on yellow").append(" ")
    return line


def answers(answers: tuple[ShownAnswer, ...], tiers: int) -> RenderableType:
    grid = _pairs(padding=2, style="dim")
    for answer in answers:
        line = Text()
        if answer.tier:
            line.append(answer.tier, style="bold")
            line.append(f" ({answer.price})  " if answer.price else "  ")
        elif tiers > 1 and answer.tier is None:
            line.append("no answer  ", style="bold yellow")
        line.append(answer.text)
        grid.add_row(Text(answer.workload), line)
    return grid


@dataclass(frozen=True)
class TableView:
    """A table of the report: a grid per group under its heading, all with the same widths; the
    remarks below. If the terminal is too narrow, words wrap and numbers stay whole."""

    block: Table

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        block = self.block
        heads = [Text(column.title, style="dim") for column in block.columns]
        # there a row is one line
        below = "\n"
        if console.soft_wrap:
            below = " "
        drawn = [[_cell(cell, below) for cell in row] for row in block.rows]
        rows = [heads, *(row for row in drawn if len(row) > 1)]
        lines = [
            [max(map(cell_len, text.plain.split("\n"))) for text in row] for row in rows
        ]
        natural = [
            max(column) for column in zip(*lines, strict=True)
        ]  # the longest line of each
        words = [not column.numeric for column in block.columns]
        widths = fit(natural, words, options.max_width - GAP * (len(natural) - 1))
        grid = _grid(block, widths)
        grid.add_row(*heads)
        for row in drawn:
            if len(row) == 1:
                yield grid
                yield Text(row[0].plain, style="bold")
                grid = _grid(block, widths)
            else:
                grid.add_row(*row)
        yield grid
        for remark in block.remarks:
            yield Text(remark, style="dim")


def fit(widths: list[int], words: list[bool], most: int) -> list[int]:
    """`widths` cut to add up to `most`: the widest column of words first, to a word at least."""
    fitted = list(widths)
    while sum(fitted) > most:
        wide = [n for n, width in enumerate(fitted) if words[n] and width > NARROWEST]
        if not wide:
            break
        fitted[max(wide, key=lambda n: fitted[n])] -= 1
    return fitted


def _pairs(padding: int, style: str, justify: JustifyMethod = "left") -> Grid:
    """A grid of a word and what belongs to it."""
    grid = Grid.grid(padding=(0, padding, 0, 0))
    grid.add_column(justify=justify, style=style, no_wrap=True)
    grid.add_column()
    return grid


def _grid(block: Table, widths: list[int]) -> Grid:
    grid = Grid.grid(padding=(0, GAP, 0, 0))
    for column, width in zip(block.columns, widths, strict=True):
        grid.add_column(justify="right" if column.numeric else "left", width=width)
    return grid


def _cell(cell: Cell, below: str) -> Text:
    """The text with its verdict, and the detail dimmed below."""
    line = Text(cell.text, style="italic yellow" if cell.missing else "")
    if cell.word:
        line.append(f" {cell.word}", style=_WORD_STYLE[cell.word])
    if cell.detail:
        line.append(f"{below}{cell.detail}", style="dim")
    if cell.notes:
        line.append(
            f" [{','.join(str(number) for number in cell.notes)}]", style="yellow"
        )
    return line


def doubts(footnotes: tuple[Footnote, ...]) -> RenderableType:
    grid = _pairs(padding=1, style="yellow", justify="right")
    for note in footnotes:
        line = Text.assemble(
            note.text, " ", (note.advice, "italic"), (f" ({note.where})", "dim")
        )
        grid.add_row(f"[{note.number}]", line)
    return grid


def meanings(stamps: tuple[Stamp, ...]) -> RenderableType:
    """What the stamps mean, for the end."""
    grid = _pairs(padding=2, style="yellow")
    for stamp in stamps:
        grid.add_row(
            stamp.label, Text.assemble(stamp.text, " ", (stamp.advice, "italic"))
        )
    return grid
