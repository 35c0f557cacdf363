"""A document as a page, as Markdown and on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from orchestrator.texts.foreign_text import printable

if TYPE_CHECKING:
    from jinja2 import Template


def filled(
    template: str, filters: Mapping[str, Callable[..., Any]], **values: Any
) -> str:
    """A template of this folder with these values, ending in a newline.

    HTML and XML are escaped. Control characters are too, but in what is marked up already: charts
    and code of ours. Beside `filters` there is `kind`, which says of a block which macro draws it.
    """
    compiled = _compiled(template, tuple(filters.items()))
    return compiled.render(**values).rstrip() + "\n"


@cache
def _compiled(
    template: str, filters: tuple[tuple[str, Callable[..., Any]], ...]
) -> Template:
    """A template that is compiled once, which takes longer than to fill it."""
    # Imported here, because the terminal needs no template and is not to wait for the library.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    is_escaped = ".html." in template or ".xml." in template
    environment = Environment(
        loader=FunctionLoader(text_of),
        autoescape=is_escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printable,
    )
    environment.filters["kind"] = _kind
    environment.filters |= dict(filters)
    return environment.get_template(template)


def _printable(value: Any) -> Any:
    # `Markup`, a kind of `str`, is of ours; printing would make an unmarked text of it, which is
    # escaped once more.
    if type(value) is str:
        return printable(value)
    return value


def _kind(block: object) -> str:
    return type(block).__name__.lower()


def text_of(file: str) -> str:
    """What a file of this folder holds."""
    return (resources.files(__package__) / file).read_text(encoding="utf-8")
