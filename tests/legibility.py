"""How the package reads, in four figures with limits, which `tests/unit/test_tidy.py` keeps.

The figures are a report: what counts is whether somebody who has not seen the code reads it once.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from tests import ROOT
from tests.sources import MODULES, tree

# Names that say nothing of what they hold.
PRONOUNS = frozenset(
    [
        "one",
        "found",
        "made",
        "theirs",
        "own",
        "of",
        "each",
        "known",
        "said",
        "told",
        "every",
    ]
)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FOLDED = (*_COMPREHENSIONS, ast.IfExp, ast.NamedExpr, ast.Lambda)


@dataclass(frozen=True)
class Legibility:
    """What a reader meets in one folder.

    `folded`: comprehensions, conditional expressions, walruses, lambdas, `map` and
    `filter` in 1,000 statements. `packed`: assignments and loops that bind several
    targets from a written tuple, in 1,000 statements. `names`: different local names
    that a function binds, 90th percentile. `pronouns`: bindings of `PRONOUNS`.
    """

    folded: int
    packed: int
    names: int
    pronouns: int


# The most in one folder. A small folder may have one function that binds many names.
FOLDER = Legibility(folded=66, packed=3, names=9, pronouns=1)
# The most in the whole package. It is what there is, so that it only gets better.
PACKAGE = Legibility(folded=25, packed=1, names=6, pronouns=1)


def too_much(place: str, now: Legibility, most: Legibility) -> Iterator[str]:
    """What to say of each figure that is above its limit."""
    for field in fields(now):
        figure = getattr(now, field.name)
        limit = getattr(most, field.name)
        if figure > limit:
            yield f"{place}: {field.name} {figure}, at most {limit}"


def is_docstring(node: ast.AST) -> bool:
    """A text that stands alone."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)


def statements(node: ast.AST) -> int:
    """How many statements are within `node`, without docstrings and itself."""
    return sum(_is_statement(inner) for inner in ast.walk(node) if inner is not node)


def _is_statement(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt) and not is_docstring(node)


def _name_bound(node: ast.AST) -> str:
    """The name that is given a value here; empty if none is."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    if isinstance(node, ast.arg):
        return node.arg
    return ""


def _is_folded(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("map", "filter")
    return isinstance(node, _FOLDED)


def _is_packed(node: ast.AST) -> bool:
    written = (ast.Tuple, ast.List)
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], written) and isinstance(node.value, written)
    if not isinstance(node, (ast.For, ast.comprehension)):
        return False
    # A loop over a list of one is an assignment in disguise.
    if not isinstance(node.iter, written) or len(node.iter.elts) != 1:
        return False
    return isinstance(node.target, written) and isinstance(node.iter.elts[0], written)


def _local_names(function: ast.FunctionDef) -> int:
    bound: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
    return len(bound)


def _percentile_90(values: Sequence[int]) -> int:
    if not values:
        return 0
    return sorted(values)[min(len(values) - 1, int(0.9 * len(values)))]


def measured(trees: Sequence[ast.Module]) -> Legibility:
    """The figures of these modules together."""
    folded = 0
    packed = 0
    pronouns = 0
    local_names: list[int] = []
    count = 0
    for module in trees:
        for node in ast.walk(module):
            count += _is_statement(node)
            pronouns += _name_bound(node) in PRONOUNS
            folded += _is_folded(node)
            packed += _is_packed(node)
            if isinstance(node, ast.FunctionDef):
                local_names.append(_local_names(node))
    thousands = max(count, 1) / 1000
    return Legibility(
        folded=math.ceil(folded / thousands),
        packed=math.ceil(packed / thousands),
        names=_percentile_90(local_names),
        pronouns=pronouns,
    )


def by_folder() -> dict[str, Legibility]:
    """The figures of each folder of the package, by its path."""
    trees: dict[str, list[ast.Module]] = {}
    for file in MODULES:
        folder = file.parent.relative_to(ROOT).as_posix()
        trees.setdefault(folder, []).append(tree(file))
    return {folder: measured(modules) for folder, modules in trees.items()}


def of_package() -> Legibility:
    """The figures of all modules together."""
    return measured([tree(file) for file in MODULES])
