"""Inlining of the functions that a file defines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from glsl_infer.errors import ModelError

_MOST_DEEP = 32
"""Largest depth of calls of functions."""


def inlined(proto: Any, source: str, most: int) -> Any:
    """Return the graph of a model with its own functions inlined.

    Raises:
        ModelError: functions call each other in a cycle, or the result has more than ``most`` operators.
    """
    functions = {(function.domain, function.name): function for function in proto.functions}
    if not functions:
        return proto.graph
    return _Inliner(functions, source, most).graph(proto.graph)


class _Inliner:
    def __init__(self, functions: dict[tuple[str, str], Any], source: str, most: int) -> None:
        self._functions, self._source, self._most = functions, source, most
        self._calls = 0

    def graph(self, graph: Any) -> Any:
        result = type(graph)()
        result.CopyFrom(graph)
        del result.node[:]
        for node in graph.node:
            self._add(result.node, node, 0)
        return result

    def _add(self, nodes: Any, node: Any, depth: int) -> None:
        function = self._functions.get((node.domain, node.op_type))
        if function is None:
            if len(nodes) >= self._most:
                raise ModelError(f"{self._source}: its functions make more than {self._most:,} operators")
            copy = nodes.add()
            copy.CopyFrom(node)
            for attribute in copy.attribute:
                if attribute.HasField("g"):
                    attribute.g.CopyFrom(self.graph(attribute.g))
            return
        self._calls += 1
        if depth > _MOST_DEEP or self._calls > self._most:
            raise ModelError(f"{self._source}: its function '{node.op_type:.60}' calls itself, or others without end")
        for inner in called(function, node, f"{node.name or node.op_type}~{self._calls}/"):
            self._add(nodes, inner, depth + 1)


def called(function: Any, node: Any, prefix: str, defaults: Sequence[Any] = ()) -> Iterator[Any]:
    """Yield the operators of a function that an operator calls, with the names and attributes of the call.

    Args:
        function: the function.
        node: the operator.
        prefix: of the names of tensors inside the function.
        defaults: attributes that the operator can leave out.
    """
    names = dict(zip(function.input, node.input))
    names.update(dict.fromkeys(function.input[len(node.input) :], ""))
    names.update(zip(function.output, node.output))
    attributes = {attribute.name: attribute for attribute in (*defaults, *function.attribute_proto, *node.attribute)}
    for inner in function.node:
        yield _renamed(inner, names, prefix, attributes)


def _renamed(inner: Any, names: dict[str, str], prefix: str, attributes: dict[str, Any]) -> Any:
    """Return an operator of a function with the names and attributes of the caller."""
    node = type(inner)()
    node.CopyFrom(inner)
    node.name = prefix + inner.name

    def outside(name: str) -> str:
        return names.setdefault(name, prefix + name) if name else ""

    for index, name in enumerate(inner.input):
        node.input[index] = outside(name)
    for index, name in enumerate(inner.output):
        node.output[index] = outside(name)
    del node.attribute[:]
    for attribute in inner.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in attributes:
                own = node.attribute.add()
                own.CopyFrom(attributes[attribute.ref_attr_name])
                own.name = attribute.name
        else:
            node.attribute.add().CopyFrom(attribute)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            _rename_inside(attribute.g, outside)
    return node


def _rename_inside(graph: Any, outside: Any) -> None:
    """Rename the tensors of a graph inside a function to the caller's names."""
    for value in (*graph.input, *graph.output, *graph.initializer):
        value.name = outside(value.name)
    for node in graph.node:
        for index, name in enumerate(node.input):
            node.input[index] = outside(name)
        for index, name in enumerate(node.output):
            node.output[index] = outside(name)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename_inside(attribute.g, outside)
