"""YAML files that stand beside the modules that use them, and the values that their texts name."""

from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from importlib import resources
from typing import Any

from orchestrator.keys.yaml_text import parse


@cache
def shipped(package: str, name: str) -> Mapping[str, Any]:
    """What the YAML file of that name holds that stands beside the modules of a package."""
    file = resources.files(package) / name
    return parse(name, file.read_text(encoding="utf-8"))


def filled(content: Any, values: Mapping[str, Any]) -> Any:
    """Content of a shipped file with the values that its texts `$name` stand for. Where that is
    None, or none is given, its key is left out, and so is what has nothing else in it; a null of
    the file stays."""
    if isinstance(content, str) and content.startswith("$"):
        return deepcopy(values.get(content[1:]))  # a value may stand twice
    if isinstance(content, Mapping):
        mapping = {}
        for key, part in content.items():
            value = filled(part, values)
            if value is not None or part is None:
                mapping[key] = value
        return mapping or None
    if isinstance(content, list):
        entries = []
        for part in content:
            value = filled(part, values)
            if value is not None:
                entries.append(value)
        return entries or None
    return content
