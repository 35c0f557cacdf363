"""A reference names an object as `module:attribute`; its module is imported when it is used."""

from importlib import import_module
from typing import Any


def referenced(reference: str) -> Any:
    """The object that a reference names.

    Raises what importing its module raises, and AttributeError if the module has no such name."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)
