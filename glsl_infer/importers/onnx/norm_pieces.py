"""Fusion of decomposed normalisations before the import, because the layout of later tensors follows from them.

``core.patterns`` fuses the others, and decomposed functions, in the imported graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

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
        makers: index of the operator that computes a tensor, by the tensor's name.
        readers: indices of the operators that read a tensor.
    """

    def __init__(self, part: Part) -> None:
        self.part = part
        self.makers: dict[str, int] = {}
        self.readers: dict[str, list[int]] = {}
        self._constants: dict[str, Numbers | None] = {}
        for index, operator in enumerate(part.operators):
            for name in operator.outputs:
                self.makers.setdefault(name, index)
            for name in operator.reads:
                self.readers.setdefault(name, []).append(index)

    def maker(self, name: str, *kinds: str) -> Operator | None:
        """Return the ONNX operator that computes a tensor, if its type is one of ``kinds``."""
        index = self.makers.get(name)
        operator = None if index is None else self.part.operators[index]
        return operator if operator is not None and not operator.domain and operator.kind in kinds else None

    def only_reader(self, name: str) -> tuple[int, Operator] | None:
        """Return (index, operator) of the only reader of a tensor; None for an output, or for several readers."""
        places = self.readers.get(name, [])
        if len(places) != 1 or name in self.part.outputs:
            return None
        return places[0], self.part.operators[places[0]]

    def constant(self, name: str, depth: int = 0) -> Numbers | None:
        """Return a small constant, including the result of operators on small constants; else None."""
        if name in self._constants:
            return self._constants[name]
        self._constants[name] = None  # guards against cycles in a damaged file
        value = self._read(name, depth)
        self._constants[name] = value if value is not None and value.size <= MOST_NUMBERS else None
        return self._constants[name]

    def _read(self, name: str, depth: int) -> Numbers | None:
        try:
            if name in self.part.constants:
                return self.part.constants[name]()
            index = self.makers.get(name)
            if index is None or depth > 64:
                return None
            operator = self.part.operators[index]
            constants = [self.constant(read, depth + 1) for read in operator.inputs]
            if any(value is None and read for value, read in zip(constants, operator.inputs)):
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
        operators: Sequence[Operator] = [changed.get(index, each) for index, each in enumerate(self.part.operators)]
        return Part(tuple(operators), self.part.constants, self.part.outputs)


NORM = "norm in pieces"
"""The type of the fused operator. Its attributes are ``norm`` (layer, rms or unit), ``axes`` and ``epsilon``. Its
inputs are the tensor, and factors and offsets or nothing."""

_SMALL = 1e-3
"""Largest value accepted as an epsilon."""

_Axes = tuple[int, ...]


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
        source, kind, axes, epsilon = norm
        where, last, weights = _scaled(network, (index, operator), (lambda _: True) if kind != "unit" else None)
        attributes = {"norm": kind, "axes": axes, "epsilon": epsilon}
        changed[where] = replace(last, kind=NORM, domain="", inputs=(source, *weights), attributes=attributes)
    return network.replaced(changed) if changed else part


def _norm(network: Network, operator: Operator) -> tuple[str, str, _Axes, float] | None:
    """Return (tensor, kind, axes, epsilon) of the normalisation that a quotient computes."""
    if operator.kind == "Div":
        above, below = operator.inputs
        return _quotient(network, above, below)
    for above, inverse in (operator.inputs, operator.inputs[::-1]):
        maker = network.maker(inverse, "Reciprocal", "Pow", "Div")
        if maker is None:
            continue
        if maker.kind == "Reciprocal":
            norm = _quotient(network, above, maker.inputs[0])
        elif maker.kind == "Div":
            norm = _quotient(network, above, maker.inputs[1]) if network.number(maker.inputs[0]) == 1.0 else None
        else:
            norm = None if network.number(maker.inputs[1]) != -0.5 else _of_squares(network, above, maker.inputs[0])
        if norm is not None:
            return norm
    return None


def _quotient(network: Network, above: str, below: str) -> tuple[str, str, _Axes, float] | None:
    below = _plain(network, below)
    length = network.maker(below, "ReduceL2")
    if length is not None and length.inputs[0] == above and length.attributes.get("keepdims", 1):
        axes = _axes(network, length)
        return None if axes is None else (above, "unit", axes, 0.0)
    root = network.maker(below, "Sqrt", "Pow")
    if root is None or (root.kind == "Pow" and network.number(root.inputs[1]) != 0.5):
        return None
    return _of_squares(network, above, root.inputs[0])


def _of_squares(network: Network, above: str, under_root: str) -> tuple[str, str, _Axes, float] | None:
    """Return the normalisation of a tensor divided by the root of another."""
    epsilon = 0.0
    added = network.maker(under_root, "Add")
    if added is not None:
        numbers = [network.number(name) for name in added.inputs]
        constants = [number for number in numbers if number is not None]
        if len(constants) != 1 or not 0.0 <= constants[0] <= _SMALL:
            return None
        epsilon, under_root = constants[0], added.inputs[0 if numbers[0] is None else 1]
    mean = network.maker(_plain(network, under_root), "ReduceMean", "ReduceSum", "ReduceSumSquare")
    if mean is None or not mean.attributes.get("keepdims", 1):
        return None
    axes = _axes(network, mean)
    squared = mean.inputs[0] if mean.kind == "ReduceSumSquare" else _squared(network, mean.inputs[0])
    if axes is None or squared is None:
        return None
    if mean.kind != "ReduceMean":
        return (above, "unit", axes, 0.0) if squared == above and epsilon <= 1e-6 else None
    source, other = _centred(network, above, axes), _centred(network, squared, axes)
    if source is not None and source == other:
        return source, "layer", axes, epsilon
    return (above, "rms", axes, epsilon) if squared == above else None


def _squared(network: Network, name: str) -> str | None:
    """Return the tensor whose square is computed, or None."""
    maker = network.maker(name, "Pow", "Mul")
    if maker is None or len(maker.inputs) != 2:
        return None
    if maker.kind == "Pow":
        return maker.inputs[0] if network.number(maker.inputs[1]) == 2.0 else None
    return maker.inputs[0] if maker.inputs[0] == maker.inputs[1] else None


def _centred(network: Network, name: str, axes: _Axes) -> str | None:
    """Return the tensor from which its mean over the axes is subtracted, or None."""
    maker = network.maker(name, "Sub")
    mean = network.maker(maker.inputs[1], "ReduceMean") if maker is not None else None
    if maker is None or mean is None or mean.inputs[0] != maker.inputs[0] or not mean.attributes.get("keepdims", 1):
        return None
    return maker.inputs[0] if _axes(network, mean) == axes else None


def _plain(network: Network, name: str) -> str:
    """Return a length without the operators that keep it above 0 or expand it to the tensor's shape."""
    for _ in range(4):
        maker = network.maker(name, "Clip", "Max", "Expand", "Cast", "Add", "Identity")
        if maker is None:
            return name
        if maker.kind in ("Max", "Add"):
            others = [each for each in maker.inputs if network.number(each) is None]
            numbers = [number for each in maker.inputs if (number := network.number(each)) is not None]
            if len(others) != 1 or any(abs(number) > 1e-6 for number in numbers):
                return name
            name = others[0]
            continue
        if maker.kind == "Clip":
            low = maker.attributes.get("min", network.number(maker.inputs[1]) if len(maker.inputs) > 1 else None)
            high = maker.attributes.get("max", 1e30) if len(maker.inputs) < 3 or not maker.inputs[2] else 0.0
            if low is None or low > 1e-6 or high < 1e9:
                return name
        name = maker.inputs[0]
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
    for number, kind in enumerate(("Mul", "Add") if fits else ()):
        after = network.only_reader(operator.outputs[0])
        if after is None or after[1].domain or after[1].kind != kind or len(after[1].inputs) != 2:
            continue
        other = after[1].inputs[1 - after[1].inputs.index(operator.outputs[0])]
        value = network.constant(other)
        if fits and value is not None and value.dtype.kind == "f" and fits(value):
            weights[number] = other
            index, operator = after
    return index, operator, weights


def _group_norm(network: Network, norm: Operator) -> tuple[int, Operator] | None:
    """Return the index and the operator into which the operators around an instance normalisation are fused."""
    apart, after = network.maker(norm.inputs[0], "Reshape"), network.only_reader(norm.outputs[0])
    if apart is None or after is None or after[1].domain or after[1].kind != "Reshape":
        return None
    source, index, last = apart.inputs[0], *after
    groups = network.constant(apart.inputs[1])
    if groups is None or groups.size != 3 or groups[0] not in (0, 1) or groups[2] != -1 or groups[1] < 1:
        return None
    shape = network.constant(last.inputs[1])
    measured = network.maker(last.inputs[1], "Shape")
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
