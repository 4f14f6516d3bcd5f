"""Error of the outputs on held-out calibration images: figures, the warning, and its remedy."""

from __future__ import annotations

from dataclasses import dataclass

MOST_ERROR, LEAST_COSINE = 0.05, 0.99
"""Largest error of an output, as a share of its range, and least cosine similarity, without a warning."""

FEW_LIMITS = 0.5
"""Factor for these limits if there are few images: other images have larger errors than these and their copies."""

WORST_LAYERS = 3


@dataclass(frozen=True)
class OutputError:
    """Difference between an output and the float network's, on the image where it is largest.

    Attributes:
        output: its name.
        error: root mean square, as a share of the output's range over all measured images, 0 included.
        cosine: the smallest cosine similarity of an image's output, or of all images together if an output has few
            values.
        clipped: ``error`` if values are clipped to the ranges and not rounded.
        rounded: ``error`` if they are rounded and not clipped.
        few: whether copies were measured as well, because there are few images.
    """

    output: str
    error: float
    cosine: float
    clipped: float
    rounded: float
    few: bool = False

    @property
    def is_small(self) -> bool:
        """True if the output needs no warning."""
        return self.badness <= 1.0

    @property
    def badness(self) -> float:
        """Error as a multiple of the limits; 1 is the threshold for a warning."""
        off = max(self.error / MOST_ERROR, (1.0 - self.cosine) / (1.0 - LEAST_COSINE))
        return off / FEW_LIMITS if self.few else off

    @property
    def cause(self) -> str:
        """The larger cause of the error, ``clipping`` or ``rounding``."""
        return "clipping" if self.clipped > self.rounded else "rounding"


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
        change: the option or the advice.
        error: error of the worst output with the change; see ``OutputError``.
        cosine: the smallest cosine similarity with the change.
        work: estimated work, as a multiple of the work without the change.
    """

    change: str
    error: float
    cosine: float
    work: float = 1.0

    @property
    def helps(self) -> bool:
        """True if none of the outputs needs a warning after the change."""
        return self.error <= MOST_ERROR and self.cosine >= LEAST_COSINE


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


def sentence(found: UnseenError) -> str:
    """Return a line about the worst output."""
    worst = found.worst
    seen = "that its ranges have not seen" if found.held_out else "that chose its ranges"
    return (
        f"worst output '{worst.output}': {worst.error:.2g} of its range off the float network, cosine "
        f"{worst.cosine:.4f}, on {found.images} calibration image{'s' * (found.images > 1)}"
        f"{' and copies' * worst.few} {seen}; mostly by "
        f"{worst.cause} (clipping {worst.clipped:.2g}, rounding {worst.rounded:.2g})"
    )


def warnings(found: UnseenError) -> tuple[str, ...]:
    """Return a warning with the layers responsible and a remedy if an output has a large error, else nothing."""
    bad = [output for output in found.outputs if not output.is_small]
    if not bad:
        return ()
    others = f" ({len(bad) - 1} more outputs are off as well)" if len(bad) > 1 else ""
    layers = found.losing(found.worst.cause)
    lost = {layer.layer: layer.clipped if found.worst.cause == "clipping" else layer.rounded for layer in layers}
    named = ", ".join(f"'{name}' ({share:.2g} of its energy)" for name, share in lost.items())
    blamed = f", most in the layers {named}" if named else ""
    return (f"{sentence(found)}{others}{blamed}; {_advice(found)}",)


def _advice(found: UnseenError) -> str:
    """Return the cheapest effective remedy, or the best of those tried."""
    helpful = [remedy for remedy in found.remedies if remedy.helps]
    if helpful:
        return f"tried: {_described(min(helpful, key=lambda remedy: (remedy.work, remedy.error)))}"
    better = [remedy for remedy in found.remedies if remedy.cosine > min(output.cosine for output in found.outputs)]
    more = "calibrate with more, and more varied, images of the kind that the network will see"
    return f"tried: {_described(better[0])}, which is not enough; {more}" if better else more


def _described(remedy: Remedy) -> str:
    work = f" for about {remedy.work:.1f} times the work" if remedy.work > 1.0 else ""
    return f"{remedy.change}: {remedy.error:.2g} (cosine {remedy.cosine:.4f}){work}"
