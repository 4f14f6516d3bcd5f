"""Cases of onnx.backend.test on our runner: a model, its inputs and outputs -> passed, failed, or excluded.

    verdict = judge(case, context)

A case passes if the imported graph computes the case's outputs in floats, and if the bundle, calibrated with the case's
inputs, draws the graph's results for the inputs as stored in textures. The error limit is 0.52 of a stored step for
each layer that rounds, or 1.2 times the exact reference's own error.

Cases of one operator have weights, sizes and axes as inputs, and any number of axes. A network does not, so these forms
are tried, and the first that can be imported counts:

    as it is            inputs of integers are constants
    constants           so are all inputs but the first
    axis in front       the network reads (1, ...) and squeezes it: a tensor of up to three axes
    one by one          the first axis is a batch, whose items are run one after the other; only if ONNX's own
                        reference shows that the items do not depend on one another
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import build
from glsl_infer.errors import InputError
from glsl_infer.gl.context import Context
from glsl_infer.graph import reference
from glsl_infer.graph.picture import is_picture
from glsl_infer.importers.core.io_options import IoOptions
from glsl_infer.importers.onnx.reader import Imported, imported
from glsl_infer.program.layout import FeatureMap, FixedMap, FixedPoint, SixteenBitMap
from glsl_infer.runtime.session import Session

PASSED, FAILED, EXCLUDED = "passed", "failed", "excluded"
FLOATS = (np.float16, np.float32, np.float64)
FORMS = ("as it is", "constants", "axis in front", "constants, axis in front", "one by one", "constants, one by one")

STEPS, FACTOR = 0.52, 1.2
MOST_OFF = 4.0 / 255.0
"""Largest error of an output, as a share of its range: the roundings of several 8-bit layers add up."""
RELATIVE = 1e-3
"""Relative tolerance of the graph in floats against a case's outputs, the same as onnx allows its backends."""
EXTREMES = 100.0 - 1e-9
"""Percentile of the calibrated ranges: nothing is clipped, because the cases test operators, not ranges."""

Arrays = Sequence[NDArray[Any]]


@dataclass(frozen=True)
class Case:
    """A model with inputs and expected outputs; ``kind`` is a folder of onnx.backend.test."""

    name: str
    kind: str
    model: onnx.ModelProto
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


@dataclass(frozen=True)
class Verdict:
    """The result of a case; ``reason`` is the form in which it passed, or a line about the failure."""

    verdict: str
    reason: str


class Wrong(Exception):
    """An error in an output's values."""


def judge(case: Case, context: Context) -> Verdict:
    """Return the verdict of a case."""
    ends = (*case.inputs[:1], *case.outputs)
    if not case.inputs or any(getattr(array, "dtype", None) in (None, object) for array in (*case.inputs, *ends)):
        return Verdict(EXCLUDED, "reads or makes what is no tensor of numbers")
    if case.inputs[0].dtype not in FLOATS:
        return Verdict(EXCLUDED, "its first input is not of floats")
    if any(not array.size for array in ends):
        return Verdict(EXCLUDED, "has an empty tensor")
    if any(not (np.abs(array.astype(float)) < np.finfo(np.float32).max).all() for array in ends):
        return Verdict(EXCLUDED, "has numbers that are not finite in 32 bits")
    if case.model.graph.output[0].name in [n.output[0] for n in case.model.graph.node if n.op_type == "QuantizeLinear"]:
        return Verdict(EXCLUDED, "its output is quantised; ours are the numbers that quantised ones stand for")
    if _is_random(case):
        return Verdict(EXCLUDED, "drops values at random")
    refused = ""
    for form in FORMS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                if _tried(case, form, context):
                    return Verdict(PASSED, form)
        except InputError as error:
            refused = " ".join(str(error).split())
        except Wrong as error:
            return Verdict(FAILED, f"{form}: {error}")
        except Exception as error:  # any other exception is a bug of the engine
            return Verdict(FAILED, f"{form}: {type(error).__name__}: {error}")
    return Verdict(EXCLUDED, refused)


def _is_random(case: Case) -> bool:
    """Return whether a Dropout is in training mode. Its expected values depend on the random numbers of ONNX."""
    values = dict(zip((value.name for value in case.model.graph.input), case.inputs))
    for node in case.model.graph.node:
        _, ratio, training = [*node.input, "", "", ""][:3]
        if node.op_type == "Dropout" and values.get(training, False) and values.get(ratio, 0.5) != 0.0:
            return True
    return False


def _tried(case: Case, form: str, context: Context) -> bool:
    """Import, build, run and compare in a form; return False if the form does not apply to this case."""
    constants, front, single = "constants" in form, "front" in form, "one by one" in form
    shape = case.inputs[0].shape
    variable = [index for index, array in enumerate(case.inputs) if array.dtype in FLOATS and not (constants and index)]
    if constants and not any(array.dtype in FLOATS for array in case.inputs[1:]):
        return False
    if front:
        if len(shape) > 3 or any(case.inputs[index].ndim > 3 for index in variable):
            return False
        model = _edited(case, variable, lambda array: (1, *array.shape))
        _compared(model, [[case.inputs[index][None] for index in variable]], case.outputs, context)
        return True
    if single:
        batch = shape[0] if shape else 1
        if batch < 2 or any(case.inputs[index].shape[:1] != (batch,) for index in variable):
            return False
        model = _edited(case, variable, lambda array: (1, *array.shape[1:]), batched=True)
        items = [[case.inputs[index][item : item + 1] for index in variable] for item in range(batch)]
        if not _independent(model, items, case.outputs):
            return False
        _compared(model, items, case.outputs, context)
        return True
    model = _edited(case, variable, lambda array: array.shape)
    _compared(model, [[case.inputs[index] for index in variable]], case.outputs, context)
    return True


def _edited(case: Case, variable: Sequence[int], shape_of: Any, *, batched: bool = False) -> onnx.ModelProto:
    """Return the model with some inputs as constants, and others with another shape that a Reshape restores."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    constants = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in constants][: len(case.inputs)]
    inputs = [value for value in model.graph.input if value.name in constants]
    squeezes = []
    for index, (name, array) in enumerate(zip(names, case.inputs)):
        if index not in variable:
            model.graph.initializer.append(numpy_helper.from_array(array, name))
            continue
        shape = shape_of(array)
        outer = name if batched or shape == array.shape else f"{name} in front"
        inputs.append(helper.make_tensor_value_info(outer, helper.np_dtype_to_tensor_dtype(array.dtype), shape))
        if outer != name:
            axes = numpy_helper.from_array(np.array(array.shape, np.int64), f"{name} shape")
            model.graph.initializer.append(axes)
            squeezes.append(helper.make_node("Reshape", [outer, axes.name], [name]))
    nodes = [*squeezes, *model.graph.node]
    del model.graph.input[:], model.graph.node[:]
    model.ir_version = max(model.ir_version, 8)  # constants need not be inputs
    model.graph.input.extend(inputs)
    model.graph.node.extend(nodes)
    if batched:
        for value in model.graph.output:
            value.type.tensor_type.ClearField("shape")
        del model.graph.value_info[:]
    return model


def _independent(model: onnx.ModelProto, items: Sequence[Arrays], expected: Arrays) -> bool:
    """Return whether ONNX's own reference gives the same outputs for the items of a batch one by one."""
    names = [value.name for value in model.graph.input][-len(items[0]) :]
    try:
        evaluator = ReferenceEvaluator(model)
        each = [evaluator.run(None, dict(zip(names, item))) for item in items]
        together = [np.concatenate(parts) for parts in zip(*each)]
    except Exception:  # of any type: from numpy, or for a missing operator
        return False
    return all(
        result.shape == other.shape and np.allclose(result, other, 1e-3, 1e-5)
        for result, other in zip(together, expected)
    )


def _compared(model: onnx.ModelProto, items: Sequence[Arrays], expected: Arrays, context: Context) -> None:
    """Compare a model's outputs for all items.

    Raises:
        GlslInferError: it cannot be exported.
        Wrong: an output's error is too large.
    """
    if any(not opset.domain and opset.version < 7 for opset in model.opset_import):
        try:
            model = onnx.version_converter.convert_version(model, 13)
        except Exception as error:  # from onnx's C++ code
            raise InputError(f"onnx cannot convert it from its opset: {str(error).splitlines()[0][:80]}") from None
    imported = _imported(model)
    names = list(imported.inputs)
    samples = [{name: imported.stored_input(name, array) for name, array in zip(names, item)} for item in items]
    graph = imported.survey.whole()
    runs = [reference.run(graph, sample, mode="float") for sample in samples]
    exact = [[imported.file_output(name, array) for name, array in results.items()] for results in runs]
    for index, array in enumerate(expected):
        result = np.concatenate([outputs[index] for outputs in exact]) if len(items) > 1 else exact[0][index]
        limit = RELATIVE * max(1e-3, float(np.abs(array[np.isfinite(array)]).max(initial=0.0)))
        if result.shape != array.shape or not np.allclose(result, array, RELATIVE, limit, equal_nan=True):
            off = "" if result.shape != array.shape else f", off by {np.abs(result.astype(float) - array).max():.3g}"
            raise Wrong(f"output {index} of the imported graph: {result.shape} beside {array.shape}{off}")
    bundle = build(graph, (), options=Options(percentile=EXTREMES), calibration=samples).bundle
    with Session(bundle, context=context, cache=False) as session:
        for sample in samples:
            for name, off, limit in _errors(bundle, session, sample):
                if not off <= limit:
                    raise Wrong(f"output '{name}' as drawn: {off:.2f} steps, where {limit:.2f} are right")


def _imported(model: onnx.ModelProto) -> Imported:
    """Import a model with arrays as inputs (not images) and outputs without a special purpose."""
    first = imported(model)
    graph = first.survey.whole()
    fits = {node.name: "none" for node in graph.inputs if is_picture(node)}
    return imported(model, None, IoOptions(fits=fits, purposes={output.name: "values" for output in graph.outputs}))


def _errors(bundle: Any, session: Session, sample: Any) -> Iterator[tuple[str, float, float]]:
    """Yield each output's name, largest error and allowed error, in steps of the output."""
    errors = {}
    for node in bundle.graph.inputs:
        errors[node.name] = node.operator.store(node, np.asarray(sample[node.name], np.float64))
    drawn, stored = session.run(sample), reference.run(bundle.graph, sample)
    # A CPU part reads an input unchanged, but a texture stores it rounded.
    floats = [reference.run(bundle.graph, values, mode="float") for values in (errors, sample)]
    rounding = sum(bool({"scale", "scales"} & node.attrs.keys()) for node in bundle.graph.nodes) - len(errors)
    for output in bundle.graph.outputs:
        right = np.asarray(floats[0][output.name], np.float64)
        span = max(float(np.ptp(right)), float(np.abs(right).max()), 1e-6)
        step = _step(bundle, output, span)
        own, off = (
            min(float(np.max(np.abs(ours[output.name] - theirs[output.name]) / step)) for theirs in floats)
            for ours in (stored, drawn)
        )
        wide = float(np.max(MOST_OFF * span / step))
        yield output.name, off, max(STEPS, min(wide, max(STEPS * rounding, FACTOR * own)))


def _step(bundle: Any, output: Any, span: float) -> Any:
    """Return the size of a stored step of an output; for a CPU output it is a 255th of its range."""
    value = bundle.values.get(output.layers[0]) if len(output.layers) == 1 and not output.steps else None
    if isinstance(value, (FeatureMap, SixteenBitMap)):
        # The step for 16 bits is four stored steps, because sums are floats.
        return np.abs(value.scale_of) / (255.0 if value.bits == 8 else 255.0 * 64.0)
    if isinstance(value, (FixedPoint, FixedMap)):
        return value.scale / 256.0
    return span / 255.0
