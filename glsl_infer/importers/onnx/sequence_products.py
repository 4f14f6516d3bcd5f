"""Fusion of products of the steps of a sequence before the import."""

from __future__ import annotations

from collections.abc import Sequence

from glsl_infer.importers.onnx.model import Operator, Part, in_order

_OPSET = 13


def with_sequence_products(part: Part) -> Part:
    """Return a graph whose steps are gathered from the product of a sequence instead of multiplied one by one."""
    makers = {name: operator for operator in part.operators for name in operator.outputs}
    groups: dict[tuple[object, ...], list[tuple[Operator, Operator]]] = {}
    for operator in part.operators:
        taken = makers.get(operator.inputs[0]) if operator.inputs else None
        if taken is not None and _is_product(operator, part, makers) and _is_step(taken, operator):
            key = (operator.kind, taken.inputs[0], _axis(taken), operator.inputs[1:], _turned(operator))
            groups.setdefault(key, []).append((taken, operator))
    rewritten: dict[int, Operator] = {}
    added: list[Operator] = []
    known = set(makers) | set(part.constants)
    for steps in groups.values():
        if len(steps) > 1:
            name = _product(steps, added, known)
            for taken, operator in steps:
                inputs = (name, *taken.inputs[1:])
                rewritten[id(operator)] = Operator(
                    "Gather", "", _OPSET, operator.name, inputs, operator.outputs, dict(taken.attributes)
                )
    if not rewritten:
        return part
    operators = [*added, *(rewritten.get(id(operator), operator) for operator in part.operators)]
    return Part(in_order(operators), part.constants, part.outputs)


def _is_product(operator: Operator, part: Part, makers: dict[str, Operator]) -> bool:
    """Return whether an operator multiplies its first input by a constant matrix and adds a constant vector."""
    options = operator.attributes
    plain = not options.get("transA", 0) and options.get("alpha", 1.0) == 1.0 and options.get("beta", 1.0) == 1.0
    others = operator.inputs[1:]
    fixed = all(name in part.constants or (name in makers and not makers[name].inputs) for name in others if name)
    return not operator.domain and operator.kind in ("Gemm", "MatMul") and len(others) > 0 and plain and fixed


def _is_step(taken: Operator, product: Operator) -> bool:
    """Return whether an operator gathers one step of a sequence, along an axis that the product does not sum over."""
    axes = (0, 1) if product.kind == "Gemm" else (0,)  # a Gemm's input has two axes, so the sequence has three
    return not taken.domain and taken.kind == "Gather" and len(taken.inputs) == 2 and _axis(taken) in axes


def _axis(taken: Operator) -> int:
    return int(taken.attributes.get("axis", 0))


def _turned(product: Operator) -> bool:
    return bool(product.attributes.get("transB", 0))


def _product(steps: Sequence[tuple[Operator, Operator]], added: list[Operator], known: set[str]) -> str:
    """Add the product of an entire sequence; return its name."""
    taken, product = steps[0]
    matrix, *bias = product.inputs[1:]

    def add(kind: str, inputs: tuple[str, ...], **attributes: object) -> str:
        name = wanted = f"{product.outputs[0]}/sequence-{kind}"
        while name in known:
            name = f"{name}~" if name != wanted else f"{wanted}~"
        known.add(name)
        added.append(Operator(kind, "", _OPSET, product.name, inputs, (name,), attributes))
        return name

    if _turned(product):
        matrix = add("Transpose", (matrix,), perm=(1, 0))
    made = add("MatMul", (taken.inputs[0], matrix))
    return add("Add", (made, bias[0])) if bias and bias[0] else made
