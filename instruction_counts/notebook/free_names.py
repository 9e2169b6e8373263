"""The names that code reads and does not make itself: what it needs from outside."""

from __future__ import annotations

import ast
from collections.abc import Iterable

import attrs

_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@attrs.frozen
class FreeNames:
    """What a setup and the statements after it read, in the order in which they do."""

    names: tuple[str, ...]
    dotted: tuple[str, ...]
    """The chains of attributes that begin in one of them: ``torch.nn.functional.relu``."""


def free_names(setup: str, stmts: Iterable[str]) -> FreeNames:
    """What ``setup``, and then each of ``stmts`` after it, read before they make it.

    Of code that is no Python nothing is read: running it reports it, with the line.
    """
    after_setup = _Reader()
    after_setup.read(setup)
    found = dict.fromkeys(after_setup.found)
    dotted = dict.fromkeys(after_setup.dotted)
    for stmt in stmts:
        reader = _Reader(after_setup.bound)
        reader.read(stmt)
        found |= dict.fromkeys(reader.found)
        dotted |= dict.fromkeys(reader.dotted)
    return FreeNames(tuple(found), tuple(dotted))


class _Reader(ast.NodeVisitor):
    """Walks through code as it runs; what one branch makes counts as made from there on."""

    def __init__(self, bound: Iterable[str] = ()) -> None:
        self.bound = set(bound)
        self.found: list[str] = []
        self.dotted: list[str] = []

    def read(self, code: str) -> None:
        """Add what ``code`` reads."""
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError):
            return
        self.visit(tree)

    def visit_Name(self, node: ast.Name) -> None:
        """A name that is read or made."""
        if isinstance(node.ctx, ast.Store):
            self.bound.add(node.id)
        elif node.id not in self.bound:
            self.found.append(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """A chain that begins in a name."""
        parts: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id not in self.bound:
            self.dotted.append(".".join([inner.id, *reversed(parts)]))
        self.visit(inner)

    def visit_Assign(self, node: ast.Assign) -> None:
        """The value is computed first."""
        self._visit(node.value, *node.targets)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """The same; a bare annotation makes nothing."""
        if node.value is not None:
            self._visit(node.value, node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """The target is read, too."""
        if isinstance(node.target, ast.Name):
            self.visit(ast.Name(node.target.id, ast.Load()))
        self._visit(node.value, node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        """The value is computed first."""
        self._visit(node.value, node.target)

    def visit_For(self, node: ast.For) -> None:
        """What is looped over is computed first."""
        self._visit(node.iter, node.target, *node.body, *node.orelse)

    def visit_alias(self, node: ast.alias) -> None:
        """An import makes a name."""
        self.bound.add(node.asname or node.name.partition(".")[0])

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        """It may name its exception."""
        self._bind(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        """A pattern may name what it matches."""
        self._bind(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        """It may name the rest of a sequence."""
        self._bind(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        """It may name the rest of a mapping."""
        self._bind(node.rest)
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Its body has names of its own."""
        self._bind(node.name)
        self._visit(*node.decorator_list)
        self._function(node, node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """The same."""
        self._bind(node.name)
        self._visit(*node.decorator_list)
        self._function(node, node.body)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """The same."""
        self._function(node, [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Its body has names of its own."""
        self._visit(*node.decorator_list, *node.bases, *node.keywords)
        self._inside(node.body, ())
        self._bind(node.name)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        """Its loops come before its element."""
        self._comprehension(node, node.elt)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        """The same."""
        self._comprehension(node, node.elt)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        """The same."""
        self._comprehension(node, node.elt)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        """The same."""
        self._comprehension(node, node.key, node.value)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """What is looped over is computed first."""
        self._visit(node.iter, node.target, *node.ifs)

    def _visit(self, *nodes: ast.AST) -> None:
        for node in nodes:
            self.visit(node)

    def _bind(self, name: str | None) -> None:
        if name is not None:
            self.bound.add(name)

    def _function(self, node: _Scope, body: Iterable[ast.AST]) -> None:
        arguments = node.args
        self._visit(*arguments.defaults, *(default for default in arguments.kw_defaults if default))
        own = {found.arg for found in ast.walk(arguments) if isinstance(found, ast.arg)}
        made = (found for inner in body for found in ast.walk(inner))
        stored = {
            found.id
            for found in made
            if isinstance(found, ast.Name) and isinstance(found.ctx, ast.Store)
        }
        self._inside(body, own | stored)

    def _comprehension(self, node: _Comprehension, *elements: ast.expr) -> None:
        self._inside([*node.generators, *elements], ())

    def _inside(self, nodes: Iterable[ast.AST], own: Iterable[str]) -> None:
        """Visit a scope of its own: what it makes is not made outside."""
        before = set(self.bound)
        self.bound.update(own)
        self._visit(*nodes)
        self.bound = before
