"""Training from photographs to a bundle, contact sheet and card: all of ``glsl-infer train``."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from glsl_infer.errors import InputError, RunError
from glsl_infer.runtime.classifier import Classifier
from glsl_infer.runtime.none_of_these import NONE
from glsl_infer.runtime.pictures.paths import spread
from glsl_infer.runtime.verdicts import write_bundle
from glsl_infer.support.files import output, write_output
from glsl_infer.support.progress import ProgressCallback
from glsl_infer.tools.train import head as heads
from glsl_infer.tools.train.features import (
    STARTS,
    Extractor,
    Start,
    background,
    compiled,
    starts_of,
    variations_of,
    with_head,
)
from glsl_infer.tools.train.head import Examples, Head, Verdict
from glsl_infer.tools.train.photographs import Photographs, contact_sheet, find

_RECENT = 30
"""Photographs in the running mean of the estimated time."""

TYPICAL = 16
"""Photographs used for calibration."""


@dataclass(frozen=True)
class Trained:
    """Result of a training.

    Attributes:
        classes: labels without ``none of these``.
        photographs: number of photographs of each class, then of the folder ``none``.
        start: name of the network it started from.
        tried: result of cross-validation by the start's name.
        right: share of the photographs that the bundle itself classifies correctly on this machine's GPU; it was
            trained on them.
        seconds: wall time, and CPU time.
        warnings: sentences for the user.
    """

    classes: tuple[str, ...]
    photographs: tuple[int, ...]
    start: str
    tried: dict[str, Verdict]
    right: float
    seconds: tuple[float, float]
    warnings: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """Result of the chosen start."""
        return self.tried[self.start]

    def as_json(self) -> str:
        """Return all fields as JSON."""
        return json.dumps(asdict(self), indent=1)


def train(
    folder: Path,
    out: Path,
    *,
    start: Path | None = None,
    context: str = "auto",
    progress: ProgressCallback,
    warn: Callable[[str], object] = lambda _: None,
) -> Trained:
    """Train on the classes of a folder and write ``out``, and next to it a card (.md) and a contact sheet (.png).

    Args:
        folder: folder with a folder of photographs for each class.
        out: the model to write.
        start: the classifier to start from (default: the best one of ``STARTS``).
        context: as in ``Session``.
        progress: called with a text for each step.
        warn: called with each sentence about the photographs, before the training begins.

    Raises:
        InputError: the photographs or the start cannot be used, or a file cannot be written.
        RunError: the answers of the bundle are worse than those of the trained head.
    """
    wall_start, cpu_start = time.monotonic(), time.process_time()
    steps = _Steps(progress, 3 + 3 * (len(STARTS) if start is None else 1))
    steps.begin("reading the photographs")
    photographs = find(folder, steps)
    for warning in photographs.warnings:
        warn(warning)
    starts = starts_of(start)
    steps("writing the sheet")
    _write_sheet(photographs, out.with_suffix(".png"))
    typical = spread(photographs.files, TYPICAL)
    heads_by_start: dict[str, Head] = {}
    verdicts: dict[str, Verdict] = {}
    remaining = _Remaining(steps, len(photographs.files), len(starts))
    for candidate in starts:
        examples = _examples(candidate, photographs, typical, context, steps, remaining)
        if not len(examples.background) and -1 not in photographs.truth:
            raise InputError(
                f"--start {start} needs images of other things; put some into {folder}/none, or leave --start out"
            )
        head, verdict = heads.train(heads.without_lookalikes(examples), steps)
        heads_by_start[candidate.name], verdicts[candidate.name] = head, verdict
    best = max(starts, key=lambda candidate: verdicts[candidate.name].rank)  # the first of equals
    head = heads_by_start[best.name]
    steps.begin("compiling the model")
    graph = with_head(best, head.kernel.astype(np.float32), head.bias.astype(np.float32), out.stem)
    pixels = [best.pixels(path) for path in typical]
    write_bundle(compiled(graph, (*photographs.classes, NONE), pixels, steps), out)
    steps.begin("validating")
    right = _right(photographs, out, context, steps)
    seconds = time.monotonic() - wall_start, time.process_time() - cpu_start
    counts = [photographs.truth.count(index) for index in (*range(len(photographs.classes)), -1)]
    result = Trained(photographs.classes, tuple(counts), best.name, verdicts, right, seconds, photographs.warnings)
    _write_card(result, out)
    if right < min(result.verdict.accuracy, 0.9) - 0.15:
        raise RunError(
            f"{out}: the model labels only {100 * right:.0f} % of its own photographs correctly, but "
            f"{100 * result.verdict.accuracy:.0f} % of new ones in cross-validation. The engine or the driver "
            f"computes wrongly; find the layer with: glsl-infer selfcheck {out}"
        )
    return result


def _examples(
    start: Start,
    photographs: Photographs,
    typical: Sequence[Path],
    context: str,
    steps: _Steps,
    remaining: _Remaining,
) -> Examples:
    """Run a network on all photographs and their variations; return the training set for its last layer.

    Args:
        start: the network to start from.
        photographs: the photographs with their classes.
        typical: photographs for the calibration of the network.
        context: as in ``Session``.
        steps: progress over the steps.
        remaining: progress over the photographs.
    """
    steps.begin(f"preparing {start.name}")
    with Extractor(start, typical, context, steps) as extractor:
        steps.begin(f"running {start.name}")
        variations = variations_of(len(photographs.files))
        features = extractor.features(photographs.files, variations, remaining).astype(np.float64)
    steps.begin("training the last layer")
    unknown, groups = background(start)
    truth = np.array(photographs.truth, np.int64)
    return Examples(features, truth, unknown, groups, len(photographs.classes))


class _Steps:
    """Progress over the steps of a training. Call it with the detail of the current step.

    Args:
        progress: called with a text.
        total: number of steps.
    """

    def __init__(self, progress: ProgressCallback, total: int) -> None:
        self._progress, self._total = progress, total
        self._number, self._name = 0, ""

    def begin(self, name: str) -> None:
        """Begin the next step."""
        self._number, self._name = self._number + 1, name
        self._progress(self._text)

    def __call__(self, detail: str) -> None:
        self._progress(f"{self._text}: {detail}")

    @property
    def _text(self) -> str:
        return f"step {self._number} of {self._total}, {self._name}"


class _Remaining:
    """Progress over the photographs of all networks, with the estimated remaining time for all.

    Args:
        progress: called with a text.
        photographs: number of photographs, which each network processes.
        networks: number of networks.
        clock: returns seconds.
    """

    def __init__(
        self,
        progress: ProgressCallback,
        photographs: int,
        networks: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._progress, self._photographs, self._networks, self._clock = progress, photographs, networks, clock
        self._done, self._each = 0, 0.0
        self._last: float | None = None

    def begin(self) -> None:
        """Start to time a photograph, so the preparation of a network is not counted."""
        self._last = self._clock()

    def __call__(self) -> None:
        """Count a photograph."""
        assert self._last is not None
        now, self._done = self._clock(), self._done + 1
        # First the mean of all, later of about the last 30, because the load of the machine can change.
        self._each += (now - self._last - self._each) / min(self._done, _RECENT)
        self._last = now
        minutes_left = self._each * (self._photographs * self._networks - self._done) / 60.0
        photograph = (self._done - 1) % self._photographs + 1
        self._progress(
            f"photograph {photograph} of {self._photographs}, about {max(minutes_left, 0.1):.1f} minutes left"
        )


def _right(photographs: Photographs, out: Path, context: str, progress: ProgressCallback) -> float:
    """Return the share of photographs classified correctly by the written file, ignoring ``none of these``."""
    pairs = [(path, truth) for path, truth in zip(photographs.files, photographs.truth) if truth >= 0]
    with Classifier(out, context=context) as classifier:
        right = 0
        for number, (path, truth) in enumerate(pairs, 1):
            progress(f"photograph {number} of {len(pairs)}")
            ranked = [prediction.index for prediction in classifier.classify(path, top=len(classifier.labels))]
            right += next(index for index in ranked if index < len(photographs.classes)) == truth
    return right / len(pairs)


def _write_sheet(photographs: Photographs, path: Path) -> None:
    with output(path) as file:
        contact_sheet(photographs).save(file, "PNG")


def _write_card(trained: Trained, out: Path) -> None:
    """Write the information for users of the bundle."""
    verdict = trained.verdict
    answers = [*trained.classes, NONE]
    lines = [
        f"# {out.stem}",
        "",
        f"`glsl-infer train` made this model from {sum(trained.photographs)} photographs and the network "
        f"{trained.start}.",
        "",
        f"![the photographs]({out.with_suffix('.png').name})",
        "",
        "| cross-validation: each image is tested with a model that did not learn from it | |",
        "|---|---|",
        f"| photographs whose most probable class is correct | {100 * verdict.accuracy:.1f} % |",
        f"| photographs with the answer '{NONE}', by mistake | {100 * verdict.known_refused:.1f} % |",
        f"| images of other things with the answer '{NONE}' | {100 * verdict.unknown_refused:.1f} % |",
    ]
    if verdict.none_refused is not None:
        lines.append(
            f"| photographs of the folder none with the answer '{NONE}' | {100 * verdict.none_refused:.1f} % |"
        )
    lines += ["", f"| class, answer | {' | '.join(answers)} |", f"|---{'|---' * len(answers)}|"]
    lines += [f"| {label} | {' | '.join(map(str, row))} |" for label, row in zip(trained.classes, verdict.confusion)]
    alternatives = [name for name in trained.tried if name != trained.start]
    lines += [
        "",
        f"On the GPU of this machine, the file labels {100 * trained.right:.1f} % of the photographs correctly. It has "
        "learnt from them. Try it on photographs from another place and another day.",
        *(
            f"With the network {name}, cross-validation gives {100 * trained.tried[name].accuracy:.1f} %."
            for name in alternatives
        ),
        f"The training took {trained.seconds[0] / 60:.1f} minutes ({trained.seconds[1] / 60:.1f} minutes of CPU time). "
        f"Probabilities are calibrated (temperature {verdict.temperature:.2f}).",
        "",
    ]
    write_output(out.with_suffix(".md"), "\n".join(lines))
