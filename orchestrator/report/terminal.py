"""The report's first screen for a terminal: rich renderables, returned and never printed here."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from orchestrator.report.blocks import Answer, Cell, Footnote, Stamp, StatusWord, Table

_STATUS_STYLE: dict[StatusWord, str] = {
    "conclusive": "bold green",
    "partly conclusive": "bold yellow",
    "not conclusive": "bold red",
    "nothing to compare": "bold",
}
_WORD_STYLE = {"better": "green", "worse": "red", "same": "dim", "inconclusive": "yellow"}


def status(word: StatusWord, text: str) -> Text:
    return Text.assemble((word.upper(), _STATUS_STYLE[word]), "  ", text)


def stamps(found: tuple[Stamp, ...]) -> Text:
    """The labels alone: the sentences are in the report."""
    line = Text()
    for stamp in found:
        line.append(f" {stamp.label} ", style="black on yellow")
        line.append(" ")
    return line


def answers(found: tuple[Answer, ...], tiers: int) -> RenderableType:
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for answer in found:
        line = Text()
        if answer.tier:
            line.append(answer.tier, style="bold")
            line.append(f" ({answer.price})  " if answer.price else "  ")
        elif tiers > 1:
            line.append("no answer  ", style="bold yellow")
        line.append(answer.text)
        grid.add_row(Text(answer.workload), line)
    return grid


def table(block: Table) -> RenderableType:
    """The verdict table, its remarks below. Headings within it span their row as first cell."""
    grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in block.columns:
        grid.add_column(column.title, justify="right" if column.numeric else "left", no_wrap=True)
    for row in block.rows:
        if len(row) == 1:
            grid.add_row(Text(row[0].text, style="bold"))
        else:
            first, *others = row
            grid.add_row(Padding(_cell(first), (0, 0, 0, 2)), *(_cell(cell) for cell in others))
    remarks = [Text(remark, style="dim") for remark in block.remarks]
    return Group(grid, Text(), *remarks)


def _cell(cell: Cell) -> Text:
    line = Text(cell.text, style="italic yellow" if cell.missing else "")
    if cell.word:
        line.append(f" {cell.word}", style=_WORD_STYLE[cell.word])
    if cell.notes:
        line.append(f" [{','.join(str(number) for number in cell.notes)}]", style="yellow")
    if cell.detail:
        line.append(f" ({cell.detail})", style="dim")
    return line


def doubts(footnotes: tuple[Footnote, ...]) -> RenderableType:
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(justify="right", style="yellow", no_wrap=True)
    grid.add_column()
    for note in footnotes:
        line = Text.assemble(note.text, " ", (note.advice, "italic"), (f" ({note.where})", "dim"))
        grid.add_row(f"[{note.number}]", line)
    return grid
