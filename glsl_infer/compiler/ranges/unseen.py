"""Error of the outputs on held-out calibration images: measurement, figures, the warning, and its remedy.

The images are split into parts. Each image is computed with the ranges learnt from all other parts, like an image of
the user. An error measured on the images of the calibration itself contains no clipping. A few images are often
similar, so copies with another contrast or brightness are computed, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from glsl_infer.compiler.ranges import precision, varied
from glsl_infer.compiler.ranges.cross_validation import Fold, part_of
from glsl_infer.compiler.ranges.headroom import widen_ranges
from glsl_infer.graph import Array, Graph, Node, host_steps, reference
from glsl_infer.graph.picture import input_values, is_picture
from glsl_infer.graph.reference import Inputs
from glsl_infer.program.layout import Range
from glsl_infer.support.parallel import parallel_map

MOST_ERROR, LEAST_COSINE = 0.05, 0.99
"""Largest error of an output, as a share of its range, and least cosine similarity, without a warning."""

SHARE, EXACT = 0.95, 0.01
"""Share of images whose error is expected to be within the bound, and the error, as a multiple of the limits, below
which differences between images do not count.
"""

WORST_LAYERS = 3

IMAGES = 12
"""Largest number of measured images and copies, evenly spaced in the list, without those of ``Runs.with_clipped``."""

MOST_WORK = 2e10
"""Largest number of operations of the float network in one measurement: half a minute of one core.

At least two images are measured in any case.
"""

FEW_NUMBERS = 16

COPIES = (varied.with_contrast, varied.inverted, varied.darker)
"""Copies of each image if there are few."""


@dataclass(frozen=True)
class OutputError:
    """Difference between an output and the float network's, on the image where it is largest.

    Attributes:
        output: its name.
        error: root mean square, as a share of the output's range over all measured images, 0 included.
        cosine: the smallest cosine similarity of an image's output, or of all images together if an output has few
            values.
        clipped: error of this image if values are clipped to the ranges and not rounded.
        rounded: error of this image if they are rounded and not clipped.
        bound: error that a share of ``SHARE`` of other images is expected not to exceed, as a multiple of the limits.
        few: whether copies were measured as well, because there are few images.
    """

    output: str
    error: float
    cosine: float
    clipped: float
    rounded: float
    bound: float
    few: bool = False

    @property
    def is_small(self) -> bool:
        """True if the output needs no warning.

        A single image of 40 does not decide: the network can be exact enough for most others.
        """
        return self.bound <= 1.0

    @property
    def badness(self) -> float:
        """Error of the worst image, as a multiple of the limits."""
        return multiple_of_limits(self.error, self.cosine)

    @property
    def cause(self) -> str:
        """The larger cause of the error, ``clipping`` or ``rounding``."""
        return "clipping" if self.clipped > self.rounded else "rounding"


def multiple_of_limits(error: float, cosine: float) -> float:
    """Return an error as a multiple of the limits for a warning."""
    return max(error / MOST_ERROR, (1.0 - cosine) / (1.0 - LEAST_COSINE))


def bound_of(errors: Sequence[float], weights: Sequence[float], images: int) -> float:
    """Return the error that a share of ``SHARE`` of other images is expected not to exceed.

    This is the prediction interval of a normal distribution of the errors' logarithms: a few images whose errors differ
    by factors can be followed by one with a far larger error. The deviation is that of the errors above the median,
    because an image with an unusually small error does not make larger ones likely. The bound is at least the error
    that the remaining share of the measured images reached.

    Args:
        errors: errors of the measured images and copies.
        weights: number of images for which each of them stands.
        images: number of independent images, without copies.
    """
    sizes, shares = np.log(np.maximum(errors, EXACT)), np.asarray(weights) / np.sum(weights)
    order, freedom = np.argsort(sizes), max(images - 1, 1)
    median = float(sizes[order][np.searchsorted(np.cumsum(shares[order]), 0.5)])
    variance = 2.0 * float(shares @ np.maximum(sizes - median, 0.0) ** 2)
    deviation = math.sqrt(variance * (freedom + 1) / freedom)
    z = NormalDist().inv_cdf(SHARE)
    # Student's t by the first terms of its Cornish-Fisher expansion.
    terms = (
        z**3 + z,
        (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 6.0,
        (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 6.0,
    )
    t = z + sum(term / (4.0 * freedom) ** power for power, term in enumerate(terms, 1))
    descending = order[::-1]
    reached = float(sizes[descending][np.searchsorted(np.cumsum(shares[descending]), 1.0 - SHARE - 1e-9)])
    return math.exp(max(median + t * deviation * math.sqrt(1.0 + 1.0 / (freedom + 1)), reached))


@dataclass(frozen=True)
class LayerLoss:
    """Loss of a stored feature map, as a share of its energy around its mean.

    Attributes:
        layer: its name.
        clipped: share lost by clipping to its range.
        rounded: share lost by rounding to its steps.
    """

    layer: str
    clipped: float
    rounded: float


@dataclass(frozen=True)
class Remedy:
    """A change of the export that was tried.

    Attributes:
        change: the options.
        error: error of the worst output with the change; see ``OutputError``.
        cosine: the smallest cosine similarity with the change.
        helps: whether none of the outputs needs a warning after the change.
        time: estimated time of a frame, as a multiple of the time without the change.
    """

    change: str
    error: float
    cosine: float
    helps: bool
    time: float

    @staticmethod
    def of(change: str, outputs: Sequence[OutputError], time: float) -> Remedy:
        """Return the remedy of a change, from the errors of the outputs with it."""
        error, cosine = max(output.error for output in outputs), min(output.cosine for output in outputs)
        return Remedy(change, error, cosine, all(output.is_small for output in outputs), time)


@dataclass(frozen=True)
class UnseenError:
    """Measured error of a network, or of a part of one.

    Attributes:
        outputs: the outputs, the worst first.
        layers: all feature maps with a loss, in the order of computation.
        images: number of measured images, including copies.
        held_out: whether the ranges were chosen without these images.
        remedies: changes tried because an output has a large error, the best first.
    """

    outputs: tuple[OutputError, ...]
    layers: tuple[LayerLoss, ...]
    images: int
    held_out: bool
    remedies: tuple[Remedy, ...] = ()

    @property
    def worst(self) -> OutputError:
        """The output with the largest error."""
        return self.outputs[0]

    def losing(self, cause: str) -> list[LayerLoss]:
        """Return the layers with the largest loss by ``clipping`` or ``rounding``, the worst first."""

        def share(loss: LayerLoss) -> float:
            return loss.clipped if cause == "clipping" else loss.rounded

        return sorted((loss for loss in self.layers if share(loss) > 0.0), key=share, reverse=True)[:WORST_LAYERS]


def sentence(measured: UnseenError) -> str:
    """Return a line about the worst output."""
    worst = measured.worst
    images = f"{measured.images} image{'s' * (measured.images > 1)}{' (your images and altered copies)' * worst.few}"
    use = "not used" if measured.held_out else "used"
    return (
        f"output '{worst.output}' differs from the float network by {_percent(worst.error)} of its range (cosine "
        f"similarity {worst.cosine:.4f}) on {images} {use} for the ranges; mostly by {worst.cause} (clipping "
        f"{_percent(worst.clipped)}, rounding {_percent(worst.rounded)})"
    )


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g} %"


def unseen_warnings(measured: UnseenError) -> tuple[str, ...]:
    """Return a warning with the layers responsible and a remedy if an output has a large error, else nothing."""
    bad = [output for output in measured.outputs if not output.is_small]
    if not bad:
        return ()
    others = f"; {len(bad) - 1} more outputs differ too much" if len(bad) > 1 else ""
    layers = measured.losing(measured.worst.cause)
    lost = {layer.layer: layer.clipped if measured.worst.cause == "clipping" else layer.rounded for layer in layers}
    named = ", ".join(f"'{name}' ({_percent(share)} of its energy)" for name, share in lost.items())
    blamed = f"; the largest losses are in {named}" if named else ""
    spread = ""
    if measured.worst.badness <= 1.0:
        limits = f"{_percent(MOST_ERROR)} or a cosine similarity of {LEAST_COSINE:g}"
        spread = f"; images differ so much in their errors that 1 of {round(1 / (1 - SHARE))} can exceed {limits}"
    return (f"{sentence(measured)}{spread}{others}{blamed}; {_advice(measured)}",)


def _advice(measured: UnseenError) -> str:
    """Return the effective remedy, or the best of those tried."""
    count = f"{varied.FEW} or more" if measured.worst.few else "more"
    more = f"give --images with {count} images, as varied as those that the network will get"
    if not measured.remedies:
        return more
    best = max(measured.remedies, key=lambda remedy: (remedy.helps, remedy.cosine))
    time = f", and a frame takes about {best.time:.1f} times as long" if best.time > 1.05 else ""
    tried = f"with {best.change}, the difference is {_percent(best.error)} (cosine similarity {best.cosine:.4f}){time}"
    if best.helps:
        return f"{tried}. There are few images; {more}" if measured.worst.few else tried
    return f"{tried}. That is not enough; {more}"


@dataclass(frozen=True)
class Sample:
    """An image or a copy.

    Attributes:
        image: inputs of the network.
        fold: index of the fold whose ranges have not seen it; None for the ranges learnt from all images.
        clipped: largest share of a layer's energy beyond the ranges of its fold; 0 if unknown.
        source: index of the image, or of the image of the copy.
    """

    image: Inputs
    fold: int | None
    clipped: float
    source: int


Store = Callable[[Node, Array], Array]
"""Function from a layer and its exact values to the stored values."""


class Network(Protocol):
    """A network that can be run with the ranges of a fold, and with a function to store its layers."""

    def run(self, image: Inputs, fold: int | None, store: Store) -> dict[str, Array]:
        """Return the outputs by name.

        Args:
            image: inputs of the network.
            fold: index of the fold; None for the ranges learnt from all images.
            store: function to store a layer's values.
        """


class OnGpu:
    """A prepared graph as a network.

    Args:
        graph: the graph with the weights of the shaders.
        folds: one for each part of the images; if empty, the ranges are always those of the graph.
    """

    def __init__(self, graph: Graph, folds: Sequence[Fold]) -> None:
        self.graph, self._folded = graph, [with_fold(graph, fold) for fold in folds]

    def run(self, image: Inputs, fold: int | None, store: Store) -> dict[str, Array]:
        """Return the outputs by name."""
        graph = self.graph if fold is None or not self._folded else self._folded[fold]
        return outputs_of(graph, run(graph, image, store))


def _samples(graph: Graph, images: Sequence[Inputs], folds: int, clipped: Sequence[float]) -> list[Sample]:
    """Return calibration images, with copies if there are few.

    Args:
        graph: the graph of the network.
        images: images as for ``reference.run``.
        folds: number of folds; 0 if the ranges were chosen with all images.
        clipped: see ``Sample``; for each image, or empty.
    """
    samples: list[Sample] = []
    for index, image in enumerate(images):
        fold = part_of(index, len(images), folds) if folds else None
        more = varied.copies(graph, image, COPIES) if folds and len(images) < varied.FEW else []
        samples.append(Sample(image, fold, clipped[index] if folds and clipped else 0.0, index))
        samples += [Sample(altered, fold, 0.0, index) for altered in more]
    return samples


def of_graph(graph: Graph, images: Sequence[Inputs], folds: int, clipped: Sequence[float] = ()) -> Runs:
    """Run the float network on some images; see ``Runs``."""
    return Runs(graph, lambda image: outputs_of(graph, run(graph, image, as_it_is)), images, folds, clipped)


def with_fold(graph: Graph, fold: Fold) -> Graph:
    """Return a prepared graph with the ranges of a fold."""
    nodes = []
    for node in graph.nodes:
        ranges = fold.maps.get(node.name)
        eight = ranges is not None and node.attrs.get("bits") == 8 and "scales" in node.attrs
        nodes.append(node.with_attrs(scales=ranges.scales, zeros=ranges.zeros) if eight and ranges else node)
    return widen_ranges(graph.rebuilt(nodes), fold.wider, ())[0]


class Runs:
    """Calibration images and the float network's outputs.

    Args:
        graph: the float network.
        floats: function to compute its outputs for an image.
        images: the calibration images, at least one.
        folds: number of folds; 0 if the ranges were chosen with all images.
        clipped: see ``Sample``; for each image, or empty.

    Attributes:
        samples: the images and copies, of which evenly spaced ones are measured.
    """

    def __init__(
        self,
        graph: Graph,
        floats: Callable[[Inputs], dict[str, Array]],
        images: Sequence[Inputs],
        folds: int,
        clipped: Sequence[float] = (),
    ) -> None:
        self.samples = _samples(graph, images, folds, clipped)
        self._held_out, self._few = folds > 0, len(self.samples) > len(images)
        self._float_run = floats
        self._measured: list[Sample] = []
        self._floats: list[dict[str, Array]] = []
        self._weights: list[float] = []
        count = min(IMAGES, len(self.samples), max(2, int(MOST_WORK / (4.0 * precision.work(graph)))))
        spaced = [self.samples[index * len(self.samples) // count] for index in range(count)]
        self._measure(spaced, [len(self.samples) / count] * count)

    def with_clipped(self) -> Runs:
        """Return these runs and a third as many of other images, of which the largest share is clipped."""
        measured = {id(sample) for sample in self._measured}
        others = [sample for sample in self.samples if sample.clipped and id(sample) not in measured]
        most = sorted(others, key=lambda sample: -sample.clipped)[: -(-len(measured) // 3)]
        runs = copy(self)
        runs._weights = [weight * (1.0 - len(most) / len(self.samples)) for weight in self._weights]
        runs._measure(most, [1.0] * len(most))
        return runs

    def _measure(self, samples: Sequence[Sample], weights: Sequence[float]) -> None:
        """Measure further samples as well; each of them stands for a number of images, its weight."""
        self._measured, self._weights = [*self._measured, *samples], [*self._weights, *weights]
        floats = parallel_map(lambda sample: self._float_run(sample.image), samples)
        self._floats = [*self._floats, *floats]
        self._spans = {}
        for name in self._floats[0]:
            low = min(float(outputs[name].min()) for outputs in self._floats)
            high = max(float(outputs[name].max()) for outputs in self._floats)
            self._spans[name] = max(max(high, 0.0) - min(low, 0.0), 1e-30)

    def errors(self, network: Network, *, causes: bool = True, seen: bool = False) -> UnseenError:
        """Return the errors of a network.

        Args:
            network: the network as it is drawn.
            causes: measure clipping and rounding separately, and the losses of layers.
            seen: use the ranges learnt from all images, as if images like the held-out ones were in the calibration.
        """

        def run(sample: Sample, store: Store) -> dict[str, Array]:
            return network.run(sample.image, None if seen else sample.fold, store)

        def with_losses(sample: Sample) -> tuple[dict[str, Array], dict[str, _MapLoss]]:
            losses: dict[str, _MapLoss] = {}
            return run(sample, partial(_stored, losses if causes else None)), losses

        runs = list(parallel_map(with_losses, self._measured))
        results = [outputs for outputs, _ in runs]
        worst_images = {name: self._worst(name, results) for name in results[0]}
        clipped_by, rounded_by = dict[int, dict[str, Array]](), dict[int, dict[str, Array]]()
        if causes:
            for index in {*worst_images.values()}:
                clipped_by[index] = run(self._measured[index], within_ends)
                rounded_by[index] = run(self._measured[index], in_steps)
        outputs = [
            OutputError(
                name,
                self._error(name, index, results[index]),
                min(self._cosines(name, results)),
                self._error(name, index, clipped_by[index]) if causes else 0.0,
                self._error(name, index, rounded_by[index]) if causes else 0.0,
                self._bound(name, results),
                self._few,
            )
            for name, index in worst_images.items()
        ]
        outputs.sort(key=lambda output: (-output.bound, -output.badness))
        layers = _layer_losses([losses for _, losses in runs])
        return UnseenError(tuple(outputs), layers, len(self._measured), self._held_out and not seen)

    def _cosines(self, name: str, results: Sequence[Mapping[str, Array]]) -> list[float]:
        """Return the cosine of each image's output; for outputs of few values, that of all images together."""
        pairs = [(exact[name].ravel(), result[name].ravel()) for exact, result in zip(self._floats, results)]
        if len(pairs[0][0]) < FEW_NUMBERS:
            exact, result = (np.concatenate(side) for side in zip(*pairs))
            return [_cosine(exact, result)] * len(pairs)
        return [_cosine(exact, result) for exact, result in pairs]

    def _bound(self, name: str, results: Sequence[Mapping[str, Array]]) -> float:
        """Return the error of an output that most other images are expected not to exceed; see ``bound_of``."""
        cosines = self._cosines(name, results)
        errors = [self._error(name, index, result) for index, result in enumerate(results)]
        multiples = [multiple_of_limits(error, cosine) for error, cosine in zip(errors, cosines)]
        return bound_of(multiples, self._weights, len({sample.source for sample in self._measured}))

    def _worst(self, name: str, results: Sequence[Mapping[str, Array]]) -> int:
        """Return the index of the image with the largest error of an output."""
        return max(range(len(results)), key=lambda index: self._error(name, index, results[index]))

    def _error(self, name: str, index: int, result: Mapping[str, Array]) -> float:
        """Return the error of an image's output, as a share of the output's range."""
        difference = self._floats[index][name] - result[name]
        return math.sqrt(float(np.square(difference).mean())) / self._spans[name]


def run(graph: Graph, image: Inputs, store: Store) -> dict[str, Array]:
    """Return the values of output layers in float32, with every layer stored by ``store``."""
    inputs, ends = reference.by_name(graph, image), set(graph.output_layers)
    left = {name: len(readers) for name, readers in graph.consumers.items()}
    values: dict[str, Array] = {}
    for node in graph.nodes:
        if node.operator.is_input:
            value = input_values(node, inputs[node.name])
            # Bytes of a picture are exact.
            values[node.name] = (value if is_picture(node) else store(node, value)).astype(np.float32)
            continue
        exact = reference.layer(node, [values[name] for name in node.inputs], stored=False)
        values[node.name] = store(node, exact)
        for name in node.inputs:
            left[name] -= 1
            if not left[name] and name not in ends:
                values.pop(name, None)
    return values


def outputs_of(graph: Graph, values: Mapping[str, Array]) -> dict[str, Array]:
    """Return the outputs by name, with masks of classes as the underlying scores."""
    return {
        output.name: host_steps.apply(
            [step for step in output.steps if step.step != host_steps.ARGMAX],
            [values[layer] for layer in output.layers],
        ).astype(np.float64)
        for output in graph.outputs
    }


def as_it_is(_: Node, value: Array) -> Array:
    """Return a layer's values unchanged."""
    return value


def within_ends(node: Node, value: Array) -> Array:
    """Return a layer's values clipped to its range, and not rounded."""
    if not _has_range(node, value):
        return value
    low, high = _ends(node, value.shape[-1])
    return np.clip(value, low, high).astype(np.float32)


def in_steps(node: Node, value: Array) -> Array:
    """Return a layer's values rounded to the steps of its range, also beyond its ends."""
    if not _has_range(node, value):
        return value
    step = np.asarray(node.attrs["scales"], np.float32) / np.float32(65280.0 if node.attrs["bits"] == 16 else 255.0)
    return np.asarray(np.rint(value / step) * step, np.float32)


_MapLoss = tuple[float, float, float]
"""Energy of a map around its mean, and the energies lost by clipping and by rounding."""


def _stored(losses: dict[str, _MapLoss] | None, node: Node, value: Array) -> Array:
    """Return a layer's values as stored, and add the loss of a map with a range to ``losses``; None drops them."""
    if all(node.attrs.get(key) is None for key in ("scale", "scales")):
        return value  # a copy, or a vector without a scale so far
    rounded = np.asarray(node.operator.store(node, value), np.float32)
    if losses is not None and _has_range(node, value):
        losses[node.name] = _loss(node, value, rounded)
    return rounded


def _layer_losses(losses: Sequence[Mapping[str, _MapLoss]]) -> tuple[LayerLoss, ...]:
    """Return the losses of layers over all images as shares of their energy, without layers that lose nothing."""
    layers = []
    for name in losses[0]:
        energy, clipped, rounded = np.sum([image_losses[name] for image_losses in losses], axis=0)
        if clipped or rounded:
            layers.append(LayerLoss(name, float(clipped / max(energy, 1e-30)), float(rounded / max(energy, 1e-30))))
    return tuple(layers)


def _has_range(node: Node, value: Array) -> bool:
    return value.ndim == 3 and "bits" in node.operator.attrs and node.attrs.get("scales") is not None


def _ends(node: Node, channels: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return Range(tuple(node.attrs["scales"]), tuple(node.attrs["zeros"])).ends(channels)


def _loss(node: Node, exact: Array, stored: Array) -> _MapLoss:
    """Return the loss of a map from its exact and its stored values."""
    low, high = _ends(node, exact.shape[-1])
    inside = np.clip(exact, low, high)
    around = exact - exact.mean(axis=(0, 1)) if exact.shape[0] * exact.shape[1] > 1 else exact
    return float((around**2).sum()), float(((exact - inside) ** 2).sum()), float(((stored - inside) ** 2).sum())


def _cosine(first: Array, other: Array) -> float:
    left, right = first.ravel(), other.ravel()
    lengths = math.sqrt(float(left @ left) * float(right @ right))
    if not math.isfinite(lengths):
        return 0.0
    return float(left @ right) / lengths if lengths else float(not left.any() and not right.any())
