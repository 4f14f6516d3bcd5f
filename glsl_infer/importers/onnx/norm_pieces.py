"""Fusion of decomposed normalisations before the import, because the layout of later tensors follows from them.

``core.patterns`` fuses the others, and decomposed functions, in the imported graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.importers.core.folding import MISFITS
from glsl_infer.importers.onnx.folding import fold
from glsl_infer.importers.onnx.model import Numbers, Operator, Part

MOST_NUMBERS = 1 << 16
"""Largest number of elements of a constant that is read before the import."""


class Network:
    """The operators of one part of a file, by the tensors between them.

    Attributes:
        part: the operators.
        producers: index of the operator that computes a tensor, by the tensor's name.
        readers: indices of the operators that read a tensor.
    """

    def __init__(self, part: Part) -> None:
        self.part = part
        self.producers: dict[str, int] = {}
        self.readers: dict[str, list[int]] = {}
        self._constants: dict[str, Numbers | None] = {}
        for index, operator in enumerate(part.operators):
            for name in operator.outputs:
                self.producers.setdefault(name, index)
            for name in operator.reads:
                self.readers.setdefault(name, []).append(index)

    def producer(self, name: str, *kinds: str) -> Operator | None:
        """Return the ONNX operator that computes a tensor, if its type is one of ``kinds``."""
        index = self.producers.get(name)
        operator = None if index is None else self.part.operators[index]
        return operator if operator is not None and not operator.domain and operator.kind in kinds else None

    def only_reader(self, name: str) -> tuple[int, Operator] | None:
        """Return (index, operator) of the only reader of a tensor; None for an output, or for several readers."""
        readers = self.readers.get(name, [])
        if len(readers) != 1 or name in self.part.outputs:
            return None
        return readers[0], self.part.operators[readers[0]]

    def constant(self, name: str, depth: int = 0) -> Numbers | None:
        """Return a small constant, including the result of operators on small constants; else None."""
        if name in self._constants:
            return self._constants[name]
        self._constants[name] = None  # guards against cycles in a damaged file
        value = self._computed(name, depth)
        self._constants[name] = value if value is not None and value.size <= MOST_NUMBERS else None
        return self._constants[name]

    def _computed(self, name: str, depth: int) -> Numbers | None:
        """Return a stored constant, or the result of an operator on constants; None for any other tensor."""
        try:
            if name in self.part.constants:
                return self.part.constants[name]()
            index = self.producers.get(name)
            if index is None or depth > 64:
                return None
            operator = self.part.operators[index]
            constants = [self.constant(source, depth + 1) for source in operator.inputs]
            if any(value is None and source for value, source in zip(constants, operator.inputs)):
                return None
            results = fold(operator, constants, 8 * MOST_NUMBERS)
            return None if results is None else results[operator.outputs.index(name)]
        except ModelError:
            return None

    def number(self, name: str) -> float | None:
        """Return a scalar constant, or None."""
        value = self.constant(name)
        if value is None or value.size != 1 or value.dtype.kind not in "fiu":
            return None
        return float(np.asarray(value).reshape(-1)[0])

    def replaced(self, changed: dict[int, Operator]) -> Part:
        """Return the part with operators replaced by index. The import drops operators without a reader."""
        operators = tuple(changed.get(index, operator) for index, operator in enumerate(self.part.operators))
        return Part(operators, self.part.constants, self.part.outputs)


NORM = "norm in pieces"
"""The type of the fused operator. Its attributes are ``norm`` (layer, rms or unit), ``axes`` and ``epsilon``. Its
inputs are the tensor, and factors and offsets or nothing."""

_SMALL = 1e-3
"""Largest value accepted as an epsilon."""

_Axes = tuple[int, ...]


@dataclass(frozen=True)
class _Norm:
    """A normalisation in pieces, before its factor and offset.

    Attributes:
        source: the tensor that it normalises.
        kind: ``layer``, ``rms`` or ``unit``.
        axes: the axes that it normalises over.
        epsilon: added to the mean of the squares.
    """

    source: str
    kind: str
    axes: _Axes
    epsilon: float


def with_norms(part: Part) -> Part:
    """Return the operators of a file with each normalisation fused into its last operator."""
    network = Network(part)
    changed: dict[int, Operator] = {}
    for index, operator in enumerate(part.operators):
        if operator.domain or operator.kind not in ("Div", "Mul") or len(operator.inputs) != 2:
            continue
        try:
            norm = _norm(network, operator)
        except MISFITS:
            continue
        if norm is None:
            continue
        is_weight = (lambda _: True) if norm.kind != "unit" else None
        last_index, last, weights = _scaled(network, (index, operator), is_weight)
        attributes = {"norm": norm.kind, "axes": norm.axes, "epsilon": norm.epsilon}
        changed[last_index] = replace(last, kind=NORM, domain="", inputs=(norm.source, *weights), attributes=attributes)
    return network.replaced(changed) if changed else part


def _norm(network: Network, operator: Operator) -> _Norm | None:
    """Return the normalisation that a quotient, or a product with an inverse, computes; else None."""
    if operator.kind == "Div":
        dividend, divisor = operator.inputs
        return _norm_of_quotient(network, dividend, divisor)
    for dividend, inverse in (operator.inputs, operator.inputs[::-1]):
        producer = network.producer(inverse, "Reciprocal", "Pow", "Div")
        if producer is None:
            continue
        norm = None
        if producer.kind == "Reciprocal":
            norm = _norm_of_quotient(network, dividend, producer.inputs[0])
        elif producer.kind == "Div" and network.number(producer.inputs[0]) == 1.0:
            norm = _norm_of_quotient(network, dividend, producer.inputs[1])
        elif producer.kind == "Pow" and network.number(producer.inputs[1]) == -0.5:
            norm = _norm_by_root(network, dividend, producer.inputs[0])
        if norm is not None:
            return norm
    return None


def _norm_of_quotient(network: Network, dividend: str, divisor: str) -> _Norm | None:
    """Return the normalisation of a tensor divided by its length or by a root, or None."""
    divisor = _plain(network, divisor)
    length = network.producer(divisor, "ReduceL2")
    if length is not None and length.inputs[0] == dividend and length.attributes.get("keepdims", 1):
        axes = _axes(network, length)
        return None if axes is None else _Norm(dividend, "unit", axes, 0.0)
    root = network.producer(divisor, "Sqrt", "Pow")
    if root is None or (root.kind == "Pow" and network.number(root.inputs[1]) != 0.5):
        return None
    return _norm_by_root(network, dividend, root.inputs[0])


def _norm_by_root(network: Network, dividend: str, radicand: str) -> _Norm | None:
    """Return the normalisation of a tensor divided by the root of another, or None.

    The radicand is a mean or a sum of squares, plus an epsilon.
    """
    epsilon = 0.0
    added = network.producer(radicand, "Add")
    if added is not None:
        addends = [network.number(name) for name in added.inputs]
        constants = [addend for addend in addends if addend is not None]
        if len(constants) != 1 or not 0.0 <= constants[0] <= _SMALL:
            return None
        epsilon, radicand = constants[0], added.inputs[0 if addends[0] is None else 1]
    mean = network.producer(_plain(network, radicand), "ReduceMean", "ReduceSum", "ReduceSumSquare")
    if mean is None or not mean.attributes.get("keepdims", 1):
        return None
    axes = _axes(network, mean)
    squared = mean.inputs[0] if mean.kind == "ReduceSumSquare" else _squared(network, mean.inputs[0])
    if axes is None or squared is None:
        return None
    if mean.kind != "ReduceMean":
        return _Norm(dividend, "unit", axes, 0.0) if squared == dividend and epsilon <= 1e-6 else None
    source, source_of_squares = _centred(network, dividend, axes), _centred(network, squared, axes)
    if source is not None and source == source_of_squares:
        return _Norm(source, "layer", axes, epsilon)
    return _Norm(dividend, "rms", axes, epsilon) if squared == dividend else None


def _squared(network: Network, name: str) -> str | None:
    """Return the tensor whose square is computed, or None."""
    producer = network.producer(name, "Pow", "Mul")
    if producer is None or len(producer.inputs) != 2:
        return None
    if producer.kind == "Pow":
        return producer.inputs[0] if network.number(producer.inputs[1]) == 2.0 else None
    return producer.inputs[0] if producer.inputs[0] == producer.inputs[1] else None


def _centred(network: Network, name: str, axes: _Axes) -> str | None:
    """Return the tensor from which its mean over the axes is subtracted, or None."""
    producer = network.producer(name, "Sub")
    mean = network.producer(producer.inputs[1], "ReduceMean") if producer is not None else None
    if (
        producer is None
        or mean is None
        or mean.inputs[0] != producer.inputs[0]
        or not mean.attributes.get("keepdims", 1)
    ):
        return None
    return producer.inputs[0] if _axes(network, mean) == axes else None


def _plain(network: Network, name: str) -> str:
    """Return a length without the operators that keep it above 0 or expand it to the tensor's shape."""
    for _ in range(4):
        producer = network.producer(name, "Clip", "Max", "Expand", "Cast", "Add", "Identity")
        if producer is None:
            return name
        if producer.kind in ("Max", "Add"):
            constants = [network.number(source) for source in producer.inputs]
            computed = [source for source, constant in zip(producer.inputs, constants) if constant is None]
            if len(computed) != 1 or any(constant is not None and abs(constant) > 1e-6 for constant in constants):
                return name
            name = computed[0]
            continue
        if producer.kind == "Clip":
            low = producer.attributes.get(
                "min", network.number(producer.inputs[1]) if len(producer.inputs) > 1 else None
            )
            high = producer.attributes.get("max", 1e30) if len(producer.inputs) < 3 or not producer.inputs[2] else 0.0
            if low is None or low > 1e-6 or high < 1e9:
                return name
        name = producer.inputs[0]
    return name


def _axes(network: Network, operator: Operator) -> _Axes | None:
    """Return the axes of a reduction, or None."""
    axes = operator.attributes.get("axes")
    if axes is None and len(operator.inputs) > 1:
        value = network.constant(operator.inputs[1])
        axes = None if value is None else tuple(int(axis) for axis in np.asarray(value).reshape(-1))
    return axes or None


GROUP = "group"
"""The attribute ``norm`` of the fused operator. Its other attributes are ``groups``, ``epsilon``, and ``shape``: the
result's shape in the file, or nothing. Its inputs are the tensor, a factor and an offset per group, and a factor and an
offset per channel, or nothing."""


def with_group_norms(part: Part) -> Part:
    """Return the operators of a file with each group normalisation fused into its last operator."""
    network = Network(part)
    changed: dict[int, Operator] = {}
    for operator in part.operators:
        if operator.domain or operator.kind != "InstanceNormalization" or len(operator.inputs) != 3:
            continue
        try:
            replacement = _group_norm(network, operator)
        except MISFITS:
            continue
        if replacement is not None:
            changed[replacement[0]] = replacement[1]
    return network.replaced(changed) if changed else part


def _scaled(
    network: Network, last: tuple[int, Operator], fits: Callable[[Numbers], bool] | None
) -> tuple[int, Operator, list[str]]:
    """Return the last operator of a normalisation with its factor and addend, their names, and its index.

    Args:
        network: the network.
        last: index and operator before a multiplication and an addition, either of which can be missing.
        fits: function of a constant: whether it can be the factor or the addend; None if there are none.
    """
    index, operator = last
    weights = ["", ""]
    for position, kind in enumerate(("Mul", "Add") if fits else ()):
        after = network.only_reader(operator.outputs[0])
        if after is None or after[1].domain or after[1].kind != kind or len(after[1].inputs) != 2:
            continue
        other = after[1].inputs[1 - after[1].inputs.index(operator.outputs[0])]
        value = network.constant(other)
        if fits and value is not None and value.dtype.kind == "f" and fits(value):
            weights[position] = other
            index, operator = after
    return index, operator, weights


def _group_norm(network: Network, norm: Operator) -> tuple[int, Operator] | None:
    """Return the index and the operator into which the operators around an instance normalisation are fused."""
    to_groups, reader = network.producer(norm.inputs[0], "Reshape"), network.only_reader(norm.outputs[0])
    if to_groups is None or reader is None or reader[1].domain or reader[1].kind != "Reshape":
        return None
    source, (index, last) = to_groups.inputs[0], reader
    groups = network.constant(to_groups.inputs[1])
    if groups is None or groups.size != 3 or groups[0] not in (0, 1) or groups[2] != -1 or groups[1] < 1:
        return None
    shape = network.constant(last.inputs[1])
    measured = network.producer(last.inputs[1], "Shape")
    if shape is None and (measured is None or measured.inputs[0] != source or measured.attributes):
        return None
    index, last, weights = _scaled(
        network, (index, last), lambda value: value.ndim in (3, 4) and value.size == value.shape[-3]
    )
    attributes = {
        "norm": GROUP,
        "groups": int(groups[1]),
        "epsilon": float(norm.attributes.get("epsilon", 1e-5)),
        "shape": () if shape is None else tuple(int(size) for size in shape),
    }
    inputs = (source, *norm.inputs[1:], *weights)
    return index, replace(last, kind=NORM, domain="", inputs=inputs, attributes=attributes)
