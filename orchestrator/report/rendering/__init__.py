"""A document as a page, as Markdown and on the terminal."""

from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any


def filled(
    template: str, filters: Mapping[str, Callable[..., Any]], **values: Any
) -> str:
    """A template of this folder with these values, ending in a newline. HTML and XML are escaped.
    Beside `filters` there is `kind`, which says of a block which macro draws it."""
    from jinja2 import (
        Environment,
        FunctionLoader,
        StrictUndefined,
    )  # the terminal does without

    environment = Environment(
        loader=FunctionLoader(text_of),
        autoescape=".html." in template or ".xml." in template,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "kind": lambda block: type(block).__name__.lower(),
        **filters,
    }
    return environment.get_template(template).render(**values).rstrip() + "\n"


def text_of(file: str) -> str:
    """What a file of this folder holds."""
    return (resources.files(__package__) / file).read_text(encoding="utf-8")
