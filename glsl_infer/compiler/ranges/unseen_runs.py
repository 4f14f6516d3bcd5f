"""Runs of networks on held-out calibration images, with separate rounding and clipping.

The images are split into parts. Each image is computed with the ranges learnt from all other parts, like an image of
the user. An error measured on the images of the calibration itself contains no clipping. A few images are often
similar, so copies with another contrast or brightness are computed, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional, Protocol

import numpy as np
from numpy.typing import NDArray

from glsl_infer.compiler.ranges import precision, varied
from glsl_infer.compiler.ranges.held_out import Fold, part_of
from glsl_infer.compiler.ranges.precision import PrecisionChoice
from glsl_infer.compiler.ranges.reach import reach
from glsl_infer.compiler.ranges.room import with_room
from glsl_infer.compiler.ranges.unseen_error import LayerLoss, OutputError, Remedy, UnseenError
from glsl_infer.graph import Array, Graph, Node, host_steps, reference
from glsl_infer.graph.picture import input_values, is_picture
from glsl_infer.graph.reference import Inputs
from glsl_infer.program.layout import Range
from glsl_infer.support.parallel import parallel_map

IMAGES = 12
"""Largest number of measured images and copies, evenly spaced in the list."""

MOST_WORK = 2e10
"""Largest number of operations of the float network in one measurement: half a minute of one core.

At least two images are measured in any case.
"""

FEW_NUMBERS = 16

COPIES = (varied.with_contrast, varied.inverted, varied.darker)
"""Copies of each image if there are few."""

Sample = tuple[Inputs, Optional[int]]
"""An image or a copy, and the fold whose ranges have not seen it; None for the ranges learnt from all images."""

Store = Callable[[Node, Array], Array]
"""Function from a layer and its exact values to the stored values."""


class Network(Protocol):
    """A network that can be run with the ranges of a fold, and with a function to store its layers."""

    @property
    def ends(self) -> Mapping[str, tuple[float, float]]:
        """Interval of each layer's values distinguished by its readers; see ``reach``."""

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
        self.ends = reach(graph)

    def run(self, image: Inputs, fold: int | None, store: Store) -> dict[str, Array]:
        """Return the outputs by name."""
        graph = self.graph if fold is None or not self._folded else self._folded[fold]
        return outputs_of(graph, run(graph, image, store))


@dataclass(frozen=True)
class Change:
    """A change of the export to try: its name, its network, whether its ranges have seen the images, and its work."""

    name: str
    network: Network
    seen: bool = False
    work: float = 1.0


def _samples(graph: Graph, images: Sequence[Inputs], folds: int) -> list[Sample]:
    """Return calibration images, with copies if there are few, and the folds that have not seen them.

    Args:
        graph: the graph of the network.
        images: images as for ``reference.run``.
        folds: number of folds; 0 if the ranges were chosen with all images.
    """
    found: list[Sample] = []
    for index, image in enumerate(images):
        fold = part_of(index, len(images), folds) if folds else None
        more = varied.copies(graph, image, COPIES) if folds and len(images) < varied.FEW else []
        found += [(one, fold) for one in (image, *more)]
    return found


def of_graph(graph: Graph, images: Sequence[Inputs], folds: int) -> Runs:
    """Run the float network on some images; see ``Runs``."""
    return Runs(graph, lambda image: outputs_of(graph, run(graph, image, as_it_is)), images, folds)


def measure(
    floats: Graph, drawn: Graph, images: Sequence[Inputs], folds: Sequence[Fold], runs: Runs | None = None
) -> UnseenError:
    """Measure a prepared graph on calibration images, each with the ranges of the images in the other folds.

    Args:
        floats: the graph with its float weights.
        drawn: the same graph with the weights of the shaders.
        images: the calibration images, at least one.
        folds: one for each part of them (``held_out.part_of``); if empty, the ranges are those of the graph.
        runs: the runs of the float network, if it has run on the images.
    """

    def changes() -> Iterator[Change]:
        yield Change("--weights uniform", OnGpu(floats, folds))
        sixteen, more = in_sixteen_bits(floats)
        if more:
            yield Change("--precision 16", OnGpu(sixteen, folds), work=1.0 + more / precision.work(floats))

    return (runs or of_graph(floats, images, len(folds))).measure(OnGpu(drawn, folds), changes)


def with_fold(graph: Graph, fold: Fold) -> Graph:
    """Return a prepared graph with the ranges of a fold."""
    nodes = []
    for node in graph.nodes:
        known = fold.maps.get(node.name)
        eight = known is not None and node.attrs.get("bits") == 8 and "scales" in node.attrs
        nodes.append(node.with_attrs(scales=known.scales, zeros=known.zeros) if eight and known else node)
    return with_room(graph.rebuilt(nodes), fold.wider, ())[0]


def in_sixteen_bits(graph: Graph) -> tuple[Graph, float]:
    """Return a prepared graph with all possible feature maps in 16 bits, and the estimated additional operations."""
    possible = precision.possible_layers(graph)
    chosen: dict[str, PrecisionChoice | None] = {name: PrecisionChoice(name, precision.BY_NAME) for name in possible}
    made = precision.assign(graph, chosen)[0]
    before = {node.name: node.attrs.get("bits") for node in graph.nodes}
    more = [node.name for node in made.nodes if node.attrs.get("bits") == 16 and before[node.name] != 16]
    return made, sum(precision.added(graph, graph.by_name[name]) for name in more)


class Runs:
    """Calibration images and the float network's outputs.

    Args:
        graph: the float network.
        floats: function to compute its outputs for an image.
        images: the calibration images, at least one.
        folds: number of folds; 0 if the ranges were chosen with all images.

    Attributes:
        samples: the images and copies, of which a selection is measured.
    """

    def __init__(
        self, graph: Graph, floats: Callable[[Inputs], dict[str, Array]], images: Sequence[Inputs], folds: int
    ) -> None:
        self.samples = _samples(graph, images, folds)
        count = min(IMAGES, len(self.samples), max(2, int(MOST_WORK / (4.0 * precision.work(graph)))))
        self._samples = [self.samples[index * len(self.samples) // count] for index in range(count)]
        self._held_out, self._few = folds > 0, len(self.samples) > len(images)
        self._floats = list(parallel_map(lambda sample: floats(sample[0]), self._samples))
        self._spans = {}
        for name in self._floats[0]:
            low = min(float(one[name].min()) for one in self._floats)
            high = max(float(one[name].max()) for one in self._floats)
            self._spans[name] = max(max(high, 0.0) - min(low, 0.0), 1e-30)

    def measure(self, drawn: Network, changes: Callable[[], Iterable[Change]]) -> UnseenError:
        """Return the errors of a network, with those of changes if an output has a large error."""
        found = self.errors(drawn)
        if all(output.is_small for output in found.outputs):
            return found
        tried = [*changes()]
        if self._held_out:
            tried.append(Change("--images with more images, until ranges cover what they show", drawn, seen=True))
        remedies = []
        for change in tried:
            other = self.errors(change.network, causes=False, seen=change.seen)
            cosine = min(output.cosine for output in other.outputs)
            remedies.append(Remedy(change.name, max(output.error for output in other.outputs), cosine, change.work))
        return replace(found, remedies=tuple(sorted(remedies, key=lambda one: -one.cosine)))

    def errors(self, network: Network, *, causes: bool = True, seen: bool = False) -> UnseenError:
        """Return the errors of a network.

        Args:
            network: the network as it is drawn.
            causes: measure clipping and rounding separately.
            seen: use the ranges learnt from all images.
        """

        def measured(sample: Sample) -> tuple[list[dict[str, Array]], dict[str, tuple[float, float, float]]]:
            image, fold = sample
            losses: dict[str, tuple[float, float, float]] = {}

            def stored(node: Node, value: Array) -> Array:
                if all(node.attrs.get(key) is None for key in ("scale", "scales")):
                    return value  # a copy, or a vector without a scale so far
                made = np.asarray(node.operator.store(node, value), np.float32)
                if _has_range(node, value):
                    losses[node.name] = _loss(node, value, made, network.ends[node.name])
                return made

            stores: list[Store] = [stored, within_ends, in_steps] if causes else [stored]
            return [network.run(image, None if seen else fold, store) for store in stores], losses

        found = list(parallel_map(measured, self._samples))
        outputs = [
            OutputError(
                name,
                self._furthest(name, [ways[0] for ways, _ in found]),
                self._least_cosine(name, [ways[0] for ways, _ in found]),
                self._furthest(name, [ways[1] for ways, _ in found]) if causes else 0.0,
                self._furthest(name, [ways[2] for ways, _ in found]) if causes else 0.0,
                self._few,
            )
            for name in self._floats[0]
        ]
        outputs.sort(key=lambda one: -one.badness)
        layers = []
        for name in found[0][1]:
            energy, clipped, rounded = np.sum([losses[name] for _, losses in found], axis=0)
            if clipped or rounded:
                layers.append(LayerLoss(name, float(clipped / max(energy, 1e-30)), float(rounded / max(energy, 1e-30))))
        return UnseenError(tuple(outputs), tuple(layers), len(self._samples), self._held_out and not seen)

    def _least_cosine(self, name: str, results: Sequence[Mapping[str, Array]]) -> float:
        """Return the smallest cosine of an image's output; for outputs of a few values, that of all images together."""
        pairs = [(exact[name].ravel(), result[name].ravel()) for exact, result in zip(self._floats, results)]
        if len(pairs[0][0]) < FEW_NUMBERS:
            exact, result = (np.concatenate(side) for side in zip(*pairs))
            return _cosine(exact, result)
        return min(_cosine(exact, result) for exact, result in pairs)

    def _furthest(self, name: str, results: Sequence[Mapping[str, Array]]) -> float:
        """Return the largest error of an image's output, as a share of the output's range."""
        pairs = zip(self._floats, results)
        worst = max(float(np.square(exact[name] - result[name]).mean()) for exact, result in pairs)
        return math.sqrt(worst) / self._spans[name]


def run(graph: Graph, image: Inputs, store: Store) -> dict[str, Array]:
    """Return the values of output layers in float32, with every layer stored by ``store``."""
    given, ends = reference.by_name(graph, image), set(graph.output_layers)
    left = {name: len(readers) for name, readers in graph.consumers.items()}
    values: dict[str, Array] = {}
    for node in graph.nodes:
        if node.operator.is_input:
            value = input_values(node, given[node.name])
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


def _has_range(node: Node, value: Array) -> bool:
    return value.ndim == 3 and "bits" in node.operator.attrs and node.attrs.get("scales") is not None


def _ends(node: Node, channels: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return Range(tuple(node.attrs["scales"]), tuple(node.attrs["zeros"])).ends(channels)


def _loss(node: Node, exact: Array, stored: Array, told_apart: tuple[float, float]) -> tuple[float, float, float]:
    """Return a map's energy around its mean, and the energies lost by clipping and by rounding."""
    low, high = _ends(node, exact.shape[-1])
    inside = np.clip(exact, low, high)
    beyond = np.clip(exact, *told_apart) - np.clip(inside, *told_apart)
    around = exact - exact.mean(axis=(0, 1)) if exact.shape[0] * exact.shape[1] > 1 else exact
    return float((around**2).sum()), float((beyond**2).sum()), float(((stored - inside) ** 2).sum())


def _cosine(one: Array, other: Array) -> float:
    left, right = one.ravel(), other.ravel()
    lengths = math.sqrt(float(left @ left) * float(right @ right))
    if not math.isfinite(lengths):
        return 0.0
    return float(left @ right) / lengths if lengths else float(not left.any() and not right.any())
