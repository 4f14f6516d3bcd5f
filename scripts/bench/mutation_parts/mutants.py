"""Mutants of Python modules: one small change each, as text."""

from __future__ import annotations

import ast
import copy
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
EXTREMES = {"min": "max", "max": "min"}
SKIPPED = (ast.Raise, ast.Import, ast.ImportFrom)
CACHES = ("cache", "lru_cache", "cached_property")


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes:
        module: dotted name.
        function: qualified name of the enclosing function or class; empty at the top level of the module.
        kind: name of the change.
        before: the original text.
        after: the replacement.
        index: index among the changes of this function with equal texts.
        line: first line of the change.
        lines: the lines whose execution reaches it; empty if every test of the module reaches it.
        start: byte offset of the text.
        end: byte offset after the text.
    """

    module: str
    function: str
    kind: str
    before: str
    after: str
    index: int
    line: int
    lines: tuple[int, ...]
    start: int
    end: int

    @property
    def key(self) -> str:
        """An identifier unaffected by changes elsewhere in the module."""
        return f"{self.module}:{self.function}:{self.kind}:{self.before}:{self.after}:{self.index}"

    def apply(self, source: str) -> str:
        """Return the module's text with the change."""
        data = source.encode()
        return (data[: self.start] + self.after.encode() + data[self.end :]).decode()

    def fields(self) -> dict[str, Any]:
        """Return the attributes as JSON data."""
        return {**asdict(self), "key": self.key}


def of_module(module: str, source: str) -> list[Mutant]:
    """Return every mutant of a module that compiles, in the order of the text."""
    data = source.encode()
    starts = [0]
    for line in data.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    seen: Counter[tuple[str, ...]] = Counter()
    mutants = []
    for scope, lines, change, node, after in sorted(
        _changes(ast.parse(source)), key=lambda change: (change[3].lineno, change[3].col_offset, change[2], change[4])
    ):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        before = data[start:end].decode()
        seen[scope, change, before, after] += 1
        mutant = Mutant(
            module, scope, change, before, after, seen[scope, change, before, after], node.lineno, lines, start, end
        )
        try:
            compile(mutant.apply(source), module, "exec")
        except SyntaxError:
            continue
        mutants.append(mutant)
    return mutants


def modules(root: Path, packages: Sequence[str]) -> dict[str, Path]:
    """Return the files of the packages' modules by their dotted names."""
    mutants_of = {}
    for package in packages:
        for path in sorted((root / package.replace(".", "/")).glob("*.py")):
            mutants_of[package if path.stem == "__init__" else f"{package}.{path.stem}"] = path
    return mutants_of


def pick(candidates: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """Return mutants from all modules: more from longer ones, and of as many kinds as possible.

    Args:
        candidates: all mutants.
        count: approximate number of mutants.
        seed: seed of the choice.
    """
    rng = random.Random(seed)
    by_module: dict[str, dict[str, list[Mutant]]] = defaultdict(lambda: defaultdict(list))
    for mutant in candidates:
        by_module[mutant.module][mutant.kind].append(mutant)
    roots = {module: sum(map(len, kinds.values())) ** 0.5 for module, kinds in by_module.items()}
    picked = []
    for module, kinds in by_module.items():
        missing = max(1, round(count * roots[module] / sum(roots.values())))
        while missing and any(kinds.values()):
            names = [name for name, mutants in kinds.items() if mutants]
            rng.shuffle(names)
            for name in names[:missing]:
                picked.append(kinds[name].pop(rng.randrange(len(kinds[name]))))
                missing -= 1
    rng.shuffle(picked)
    return picked


Change = tuple[str, tuple[int, ...], str, Any, str]


def _changes(parent: ast.AST, scope: str = "") -> Iterator[Change]:
    """Yield (scope, lines, kind, node, new text) of the changes in a module or class."""
    for child in ast.iter_child_nodes(parent):
        name = f"{scope}.{getattr(child, 'name', '')}".lstrip(".")
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for default in (*child.args.defaults, *filter(None, child.args.kw_defaults)):
                yield from _expressions(default, name, ())
            cached = any(mark in ast.unparse(used) for used in child.decorator_list for mark in CACHES)
            for statement in child.body:
                yield from _statement(statement, name, reached=not cached)
        elif isinstance(child, ast.ClassDef):
            yield from _changes(child, name)
        elif isinstance(child, ast.stmt) and not isinstance(child, SKIPPED) and not _typing(child):
            yield from _expressions_of(child, scope, ())
            yield from _changes(child, scope)


def _statement(node: ast.stmt, scope: str, *, reached: bool) -> Iterator[Change]:
    """Yield the changes of a statement of a function."""
    if isinstance(node, SKIPPED) or _typing(node):
        return
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for statement in node.body:
            yield from _statement(statement, f"{scope}.{node.name}", reached=reached)
        return
    lines = _own_lines(node) if reached else ()
    yield from _of_statement(node, scope, lines)
    yield from _expressions_of(node, scope, lines)
    for _, value in ast.iter_fields(node):
        for statement in value if isinstance(value, list) else []:
            if isinstance(statement, ast.stmt):
                yield from _statement(statement, scope, reached=reached)
            elif isinstance(statement, (ast.ExceptHandler, ast.match_case)):
                for deeper in statement.body:
                    yield from _statement(deeper, scope, reached=reached)


def _own_lines(node: ast.stmt) -> tuple[int, ...]:
    """Return the lines of a statement, without those of nested statements."""
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    first = body[0] if body else None
    last = node.end_lineno if first is None else max(node.lineno, getattr(first, "lineno", node.lineno + 1) - 1)
    return tuple(range(node.lineno, last + 1))


def _of_statement(node: ast.stmt, scope: str, lines: tuple[int, ...]) -> Iterator[Change]:
    """Yield the changes of an entire statement: deleted, or with another value."""
    guard = (
        isinstance(node, ast.If)
        and not node.orelse
        and all(isinstance(statement, ast.Raise) for statement in node.body)
    )
    call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    stored = isinstance(node, ast.Assign) and all(
        isinstance(target, (ast.Attribute, ast.Subscript)) for target in node.targets
    )
    if guard or call or stored or isinstance(node, (ast.AugAssign, ast.Continue, ast.Break, ast.Assert)):
        yield scope, lines, "deleted", node, "pass"
    if isinstance(node, ast.Return) and node.value is not None:
        value = node.value
        if isinstance(value, ast.Tuple) and len(value.elts) > 1:
            new: ast.expr = ast.Tuple([value.elts[1], value.elts[0], *value.elts[2:]], ast.Load())
        elif isinstance(value, (ast.Compare, ast.BoolOp)):
            new = ast.UnaryOp(ast.Not(), value)
        else:
            new = ast.Constant(None)
        if ast.unparse(new) != ast.unparse(value):
            yield scope, lines, "returned", node, f"return {ast.unparse(new)}"


def _expressions_of(node: ast.stmt, scope: str, lines: tuple[int, ...]) -> Iterator[Change]:
    """Yield the changes of a statement's own expressions, not of nested statements."""
    if isinstance(node, (ast.Expr, ast.AnnAssign)):
        if isinstance(node.value, ast.expr):
            yield from _expressions(node.value, scope, lines)
        return
    if isinstance(node, ast.Assert):
        yield from _expressions(node.test, scope, lines)
        return
    if isinstance(node, (ast.If, ast.While)):
        yield scope, lines, "condition", node.test, f"(not ({ast.unparse(node.test)}))"
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _expressions(child, scope, lines)


def _expressions(node: ast.AST, scope: str, lines: tuple[int, ...]) -> Iterator[Change]:
    """Yield the changes of an expression and of its parts."""
    if isinstance(node, ast.JoinedStr):
        return
    if isinstance(node, ast.expr):
        for change, new in _replaced(node):
            yield scope, lines, change, node, f"({ast.unparse(new)})"
    if isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield scope, lines, "condition", test, f"(not ({ast.unparse(test)}))"
    for child in ast.iter_child_nodes(node):
        yield from _expressions(child, scope, lines)


def _replaced(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield (kind, expression) of all replacements of an expression."""
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            if type(operator) in COMPARISONS:
                new = copy.deepcopy(node)
                new.ops[index] = COMPARISONS[type(operator)]()
                yield "comparison", new
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not _text(node):
        yield "arithmetic", ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield "logic", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield ("logic" if isinstance(node.op, ast.Not) else "arithmetic"), node.operand
    elif isinstance(node, ast.IfExp):
        yield "condition", ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        yield "constant", ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    elif isinstance(node, ast.Call):
        new_call = copy.deepcopy(node)
        if isinstance(node.func, ast.Name) and node.func.id in EXTREMES:
            new_call.func = ast.Name(EXTREMES[node.func.id], ast.Load())
            yield "arguments", new_call
        elif (
            len(node.args) > 1
            and not any(isinstance(argument, ast.Starred) for argument in node.args[:2])
            and ast.unparse(node.args[0]) != ast.unparse(node.args[1])
            and ast.unparse(node.func) not in ("isinstance", "cast", "getattr")
        ):
            new_call.args[:2] = new_call.args[1::-1]
            yield "arguments", new_call


def _text(node: ast.BinOp) -> bool:
    """Return whether a sum concatenates literal strings or lists; every test would notice such a change."""
    return any(
        isinstance(operand, (ast.JoinedStr, ast.List, ast.Tuple))
        or (isinstance(operand, ast.Constant) and isinstance(operand.value, (str, bytes)))
        for operand in (node.left, node.right)
    )


def _typing(node: ast.stmt) -> bool:
    """Return whether a statement is for type checkers only."""
    if isinstance(node, ast.Assert):
        return ast.unparse(node.test).startswith("isinstance(")
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
