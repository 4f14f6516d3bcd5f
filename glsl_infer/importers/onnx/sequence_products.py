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
        gather = makers.get(operator.inputs[0]) if operator.inputs else None
        if gather is not None and _is_product(operator, part, makers) and _is_step(gather, operator):
            key = (operator.kind, gather.inputs[0], _axis(gather), operator.inputs[1:], _is_transposed(operator))
            groups.setdefault(key, []).append((gather, operator))
    rewritten: dict[int, Operator] = {}
    added: list[Operator] = []
    used_names = set(makers) | set(part.constants)
    for steps in groups.values():
        if len(steps) > 1:
            name = _product(steps, added, used_names)
            for gather, operator in steps:
                inputs = (name, *gather.inputs[1:])
                rewritten[id(operator)] = Operator(
                    "Gather", "", _OPSET, operator.name, inputs, operator.outputs, dict(gather.attributes)
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


def _is_step(gather: Operator, product: Operator) -> bool:
    """Return whether an operator gathers one step of a sequence, along an axis that the product does not sum over."""
    axes = (0, 1) if product.kind == "Gemm" else (0,)  # a Gemm's input has two axes, so the sequence has three
    return not gather.domain and gather.kind == "Gather" and len(gather.inputs) == 2 and _axis(gather) in axes


def _axis(gather: Operator) -> int:
    return int(gather.attributes.get("axis", 0))


def _is_transposed(product: Operator) -> bool:
    return bool(product.attributes.get("transB", 0))


def _product(steps: Sequence[tuple[Operator, Operator]], added: list[Operator], used_names: set[str]) -> str:
    """Add the product of an entire sequence; return its name."""
    gather, product = steps[0]
    matrix, *bias = product.inputs[1:]

    def add(kind: str, inputs: tuple[str, ...], **attributes: object) -> str:
        name = plain_name = f"{product.outputs[0]}/sequence-{kind}"
        while name in used_names:
            name = f"{name}~" if name != plain_name else f"{plain_name}~"
        used_names.add(name)
        added.append(Operator(kind, "", _OPSET, product.name, inputs, (name,), attributes))
        return name

    if _is_transposed(product):
        matrix = add("Transpose", (matrix,), perm=(1, 0))
    product_of_all = add("MatMul", (gather.inputs[0], matrix))
    return add("Add", (product_of_all, bias[0])) if bias and bias[0] else product_of_all
