"""Small mistakes in the package's sources: which are possible, and each by what it says."""

from __future__ import annotations

import ast
import copy
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests import ROOT
from tests.bench.executed_blocks import Marking

EQUIVALENT = Path(__file__).with_name("equivalent_mutants.tsv")
OPERATORS: dict[str, dict[type[ast.AST], type[ast.AST]]] = {
    "border": {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    "comparison": {
        ast.Eq: ast.NotEq,
        ast.NotEq: ast.Eq,
        ast.In: ast.NotIn,
        ast.NotIn: ast.In,
        ast.Is: ast.IsNot,
        ast.IsNot: ast.Is,
    },
    "arithmetic": {
        ast.Add: ast.Sub,
        ast.Sub: ast.Add,
        ast.Mult: ast.Div,
        ast.Div: ast.Mult,
    },
    "and, or": {ast.And: ast.Or, ast.Or: ast.And},
}
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mistake:
    """`place`: the node's, among all nodes of the module."""

    module: Path
    place: int
    kind: str


@dataclass(frozen=True)
class Mutant:
    """A mistake, and what it says. `function`: where the outermost function
    begins whose code has the mistake, 0 if it is made while the module is imported; `block`: where
    its run of statements begins (`executed_blocks`). `used_in`: the blocks of the module that use
    what a mistake is in that is made while it is imported, as a constant or a default. `names`:
    those in its statement, by which tests that speak of it are found.
    """

    module: str
    place: int
    kind: str
    line: int
    within: str
    before: str
    after: str
    function: int
    block: int
    used_in: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def content(self) -> tuple[str, str, str, str]:
        """What names it as long as the function is not rewritten."""
        return self.module, self.within, self.before, self.after


# A change takes a node, changes it in place, and tells whether there was anything to change.
Change = Callable[[ast.AST], bool]


def _operator_of(node: ast.AST, kind: str) -> bool:
    others = OPERATORS[kind]
    if isinstance(node, ast.Compare):
        first = type(node.ops[0])
        if first not in others:
            return False
        node.ops[0] = others[first]()  # type: ignore[call-overload]
        return True
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in others:
        node.op = others[type(node.op)]()  # type: ignore[assignment]
        return True
    return False


def _border(node: ast.AST) -> bool:
    return _operator_of(node, "border")


def _comparison(node: ast.AST) -> bool:
    return _operator_of(node, "comparison")


def _arithmetic(node: ast.AST) -> bool:
    return _operator_of(node, "arithmetic")


def _and_or(node: ast.AST) -> bool:
    return _operator_of(node, "and, or")


def _negation(node: ast.AST) -> bool:
    if not isinstance(node, ast.UnaryOp) or not isinstance(node.op, ast.Not):
        return False
    node.operand = ast.UnaryOp(ast.Not(), node.operand)
    return True


def _number(node: ast.AST) -> bool:
    if not isinstance(node, ast.Constant):
        return False
    if type(node.value) is int:
        node.value = node.value + 1
        return True
    if type(node.value) is float:
        node.value = node.value * 1.5 or 1.0
        return True
    return False


def _truth(node: ast.AST) -> bool:
    if not isinstance(node, ast.Constant) or type(node.value) is not bool:
        return False
    node.value = not node.value
    return True


def _returned(node: ast.AST) -> bool:
    if not isinstance(node, ast.Return) or node.value is None:
        return False
    if isinstance(node.value, ast.Constant):
        return False
    node.value = ast.Constant(None)
    return True


def _extreme(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    if node.func.id not in FUNCTIONS:
        return False
    node.func.id = FUNCTIONS[node.func.id]
    return True


def _step(node: ast.AST) -> bool:
    """A call for its effect is left out."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    node.value = ast.Constant(None)
    return True


CHANGES: dict[str, Change] = {
    "border": _border,
    "comparison": _comparison,
    "arithmetic": _arithmetic,
    "and, or": _and_or,
    "not": _negation,
    "number": _number,
    "truth": _truth,
    "returned": _returned,
    "min, max": _extreme,
    "step": _step,
}


class _Places(ast.NodeVisitor):
    """Of each node: its innermost statement, its outermost function and the names around it."""

    def __init__(self) -> None:
        self.statement: dict[ast.AST, ast.stmt] = {}
        self.function: dict[ast.AST, ast.stmt] = {}
        self.within: dict[ast.AST, str] = {}
        # Those around the node that is visited.
        self._statements: list[ast.stmt] = []
        self._functions: list[ast.stmt] = []
        self._names: list[str] = []

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            self._statements.append(node)
        if self._statements:
            self.statement[node] = self._statements[-1]
        if self._functions:
            self.function[node] = self._functions[0]
        self.within[node] = ".".join(self._names)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._visit_function(node)
        elif isinstance(node, ast.ClassDef):
            self._names.append(node.name)
            self._visit_all(node.body)
            self._names.pop()
        elif not _means_nothing(node):
            self._visit_all(_children_that_run(node))
        if isinstance(node, ast.stmt):
            self._statements.pop()

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._names.append(node.name)
        # Nobody calls what a protocol declares: its defaults are for a type checker.
        if not _is_declared_only(node):
            self._visit_all(node.args.defaults)
            self._visit_all([default for default in node.args.kw_defaults if default])
        self._functions.append(node)
        self._visit_all(node.body)
        self._functions.pop()
        self._names.pop()

    def _visit_all(
        self, nodes: list[ast.expr] | list[ast.stmt] | list[ast.AST]
    ) -> None:
        for node in nodes:
            self.visit(node)


def _children_that_run(node: ast.AST) -> list[ast.AST]:
    """All but annotations, which nothing evaluates."""
    if isinstance(node, ast.AnnAssign):
        return [node.target, node.value] if node.value else []
    return list(ast.iter_child_nodes(node))


def _is_declared_only(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether its body is a docstring or `...` alone."""
    for statement in node.body:
        is_constant = isinstance(statement, ast.Expr) and isinstance(
            statement.value, ast.Constant
        )
        if not is_constant:
            return False
    return True


def _means_nothing(node: ast.AST) -> bool:
    """A check of lengths that are equal by construction, and what is only for a type checker."""
    if isinstance(node, ast.keyword):
        return node.arg == "strict"
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    return False


def possible(module: Path) -> list[Mistake]:
    """Every mistake that can be made in a module."""
    tree = ast.parse(module.read_text())
    nodes = list(ast.walk(tree))
    places = _Places()
    places.visit(tree)
    mistakes: list[Mistake] = []
    for place, node in enumerate(nodes):
        if node not in places.statement:
            continue
        for kind, change in CHANGES.items():
            if change(node):
                mistakes.append(Mistake(module, place, kind))
    return mistakes


def mutants(module: Path, mistakes: list[Mistake]) -> list[Mutant]:
    """What mistakes in a module say."""
    tree = ast.parse(module.read_text())
    nodes = list(ast.walk(tree))
    places = _Places()
    places.visit(tree)
    # Marks are put between the statements: the nodes stay what they are.
    marking = Marking()
    marking.visit(tree)
    described: list[Mutant] = []
    for mistake in mistakes:
        node = nodes[mistake.place]
        statement = places.statement[node]
        function = places.function.get(node)
        begins = 0
        block = 0
        used_in: tuple[int, ...] = ()
        if function is not None:
            begins = first_line(function)
            block = marking.block_of[statement]
        else:
            used_in = tuple(_blocks_that_use(statement, tree, marking))
        mistaken = copy.deepcopy(node)
        CHANGES[mistake.kind](mistaken)
        mutant = Mutant(
            module=str(module.relative_to(ROOT)),
            place=mistake.place,
            kind=mistake.kind,
            line=int(getattr(node, "lineno", statement.lineno)),
            within=places.within[node],
            before=_one_line(node),
            after=_one_line(mistaken),
            function=begins,
            block=block,
            used_in=used_in,
            names=tuple(_names_in(statement)),
        )
        described.append(mutant)
    return described


def _blocks_that_use(
    statement: ast.stmt, tree: ast.Module, marking: Marking
) -> list[int]:
    """Where the blocks begin that name what a statement of the module makes; of a function with a
    default, where its own begins."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        inside = [marking.block_of.get(part) for part in statement.body]
        return [block for block in inside if block][:1]
    names: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    blocks: set[int] = set()
    for other, block in marking.block_of.items():
        for node in ast.walk(other):
            if isinstance(node, ast.Name) and node.id in names:
                blocks.add(block)
            if isinstance(node, ast.Attribute) and node.attr in names:
                blocks.add(block)
    return sorted(blocks)


def _names_in(statement: ast.stmt) -> list[str]:
    """What a statement names, without private signs: of one with a body, what its head and its
    first step name."""
    parts: list[ast.AST] = [statement]
    body = getattr(statement, "body", None)
    if body:
        parts = [body[0]]
        parts += [child for child in ast.iter_child_nodes(statement) if _is_head(child)]
    names: set[str] = set()
    for part in parts:
        for node in ast.walk(part):
            if isinstance(node, ast.Name):
                names.add(node.id.strip("_"))
            elif isinstance(node, ast.Attribute):
                names.add(node.attr.strip("_"))
            elif isinstance(node, ast.keyword) and node.arg:
                names.add(node.arg)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.add(node.value.strip())
    return sorted(name for name in names if len(name) > 3)


def _is_head(child: ast.AST) -> bool:
    return isinstance(child, ast.expr)


def first_line(function: ast.stmt) -> int:
    """Where its code begins for Python: at its first decorator."""
    decorators = getattr(function, "decorator_list", [])
    if decorators:
        return int(decorators[0].lineno)
    return function.lineno


def _one_line(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def tree_of(mutant: Mutant) -> ast.Module:
    """The module with its mistake."""
    tree = ast.parse((ROOT / mutant.module).read_text())
    node = list(ast.walk(tree))[mutant.place]
    CHANGES[mutant.kind](node)
    return ast.fix_missing_locations(tree)


def drawn(mistakes: list[Mistake], count: int, dice: random.Random) -> list[Mistake]:
    """So many by lot, of each kind alike as long as there are any: those of a kind that is found
    easily, as a result that is left out, would be most of all."""
    by_kind: defaultdict[str, list[Mistake]] = defaultdict(list)
    for mistake in mistakes:
        by_kind[mistake.kind].append(mistake)
    for same in by_kind.values():
        dice.shuffle(same)
    chosen: list[Mistake] = []
    while by_kind and len(chosen) < count:
        kinds = list(by_kind)
        dice.shuffle(kinds)
        for kind in kinds[: count - len(chosen)]:
            chosen.append(by_kind[kind].pop())
            if not by_kind[kind]:
                del by_kind[kind]
    return chosen


def equivalent() -> dict[tuple[str, str, str, str], str]:
    """Those that change nothing that anybody could see, with the reason: found by reading."""
    reasons: dict[tuple[str, str, str, str], str] = {}
    for line in EQUIVALENT.read_text().splitlines()[1:]:
        module, within, before, after, reason = line.split("\t")
        reasons[module, within, before, after] = reason
    return reasons
