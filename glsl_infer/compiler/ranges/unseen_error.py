"""Error of the outputs on calibration images that the ranges have not seen: figures, the warning, and its remedy."""

from __future__ import annotations

from dataclasses import dataclass

MOST_ERROR, LEAST_COSINE = 0.05, 0.99
"""An output that is further off, as a share of its range, or less similar, gets a warning."""

FEW_LIMITS = 0.5
"""Share of these limits where the images are few: errors on other images are larger than on them and their copies."""

WORST_LAYERS = 3


@dataclass(frozen=True)
class OutputError:
    """Difference between an output and the float network's, on the image where it is largest.

    Attributes:
        output: its name.
        error: root mean square, as a share of the output's range over all measured images, 0 included.
        cosine: the smallest cosine similarity of an image's output, or of all images' where an output has few numbers.
        clipped: ``error`` where values are clipped to the ranges and not rounded.
        rounded: ``error`` where they are rounded and not clipped.
        few: whether the images are few, and copies of them were measured as well.
    """

    output: str
    error: float
    cosine: float
    clipped: float
    rounded: float
    few: bool = False

    @property
    def is_small(self) -> bool:
        """Whether the output needs no warning."""
        return self.badness <= 1.0

    @property
    def badness(self) -> float:
        """How many times the limits it is off."""
        off = max(self.error / MOST_ERROR, (1.0 - self.cosine) / (1.0 - LEAST_COSINE))
        return off / FEW_LIMITS if self.few else off

    @property
    def cause(self) -> str:
        """``clipping`` or ``rounding``, whichever does more."""
        return "clipping" if self.clipped > self.rounded else "rounding"


@dataclass(frozen=True)
class LayerLoss:
    """Share of a feature map's energy around its mean that storing it loses.

    Attributes:
        layer: its name.
        clipped: share lost to the ends of its range.
        rounded: share lost to its steps.
    """

    layer: str
    clipped: float
    rounded: float


@dataclass(frozen=True)
class Remedy:
    """A change of the export that was tried.

    Attributes:
        change: the option or the advice.
        error: of the worst output with it; see ``OutputError``.
        cosine: likewise.
        work: about how many times the work it takes.
    """

    change: str
    error: float
    cosine: float
    work: float = 1.0

    @property
    def helps(self) -> bool:
        """Whether no output needs a warning with it."""
        return self.error <= MOST_ERROR and self.cosine >= LEAST_COSINE


@dataclass(frozen=True)
class UnseenError:
    """Measured error of a network, or of a part of one.

    Attributes:
        outputs: the worst first.
        layers: all feature maps that lose anything, in the order of computation.
        images: how many were measured, copies among them.
        held_out: whether the ranges were chosen without them.
        remedies: changes that were tried because an output is too far off, the best first.
    """

    outputs: tuple[OutputError, ...]
    layers: tuple[LayerLoss, ...]
    images: int
    held_out: bool
    remedies: tuple[Remedy, ...] = ()

    @property
    def worst(self) -> OutputError:
        """The output that is furthest off."""
        return self.outputs[0]

    def losing(self, cause: str) -> list[LayerLoss]:
        """Return the layers that lose most to ``clipping`` or ``rounding``, the worst first."""

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
    """Return a sentence with the layers to blame and the remedy where an output is too far off."""
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
    """Return the cheapest remedy that helps, or the best of those that were tried."""
    helpful = [remedy for remedy in found.remedies if remedy.helps]
    if helpful:
        return f"tried: {_described(min(helpful, key=lambda remedy: (remedy.work, remedy.error)))}"
    better = [remedy for remedy in found.remedies if remedy.cosine > min(output.cosine for output in found.outputs)]
    more = "calibrate with more, and more varied, images of the kind that the network will see"
    return f"tried: {_described(better[0])}, which is not enough; {more}" if better else more


def _described(remedy: Remedy) -> str:
    work = f" for about {remedy.work:.1f} times the work" if remedy.work > 1.0 else ""
    return f"{remedy.change}: {remedy.error:.2g} (cosine {remedy.cosine:.4f}){work}"
