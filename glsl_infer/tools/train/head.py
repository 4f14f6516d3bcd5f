"""Last layer of a training: classes and ``none of these`` from features, by logistic regression with calibration.

``none of these`` is a class. Its examples are photographs of other things, shipped with the package as features, and
those of the folder ``none``. In measurements (docs/engineering/refusals.md) it refuses more unknown things than the
highest probability and the energy do, and fewer known ones than distances do. Runners need no special code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph.host_steps import softmax
from glsl_infer.support.progress import ProgressCallback, no_progress

Numbers = NDArray[np.float64]

FOLDS = 5
PENALTIES = (0.2, 0.05, 0.01)
"""Penalties of squared weights, the strongest first: a weaker one must be better to be chosen."""

MOST_REFUSED = 0.05
"""Largest share of the photographs with a class answered with ``none of these``, by cross-validation."""

LEAST_UNKNOWN_REFUSED, MARGIN_SHARE = 0.9, 0.25
"""Smallest share of unknown things to refuse if MOST_REFUSED allows it, and the fraction of the remaining margin that
goes to unknown things."""

MOST_LOOKALIKES = 0.2
"""Largest share of a background group as close to a class as its own photographs. Groups above it are left out."""

_STEPS = 400


@dataclass(frozen=True)
class Examples:
    """Features of photographs.

    Attributes:
        features: (photographs, variations, length).
        truth: index of the class of each, or -1 for the folder ``none``.
        background: (images, length), of unknown things.
        groups: group of similar things that each of those belongs to.
        classes: number of classes.
    """

    features: Numbers
    truth: NDArray[np.int64]
    background: Numbers
    groups: NDArray[np.int64]
    classes: int


@dataclass(frozen=True)
class Head:
    """The last layer: kernel (length, classes + 1), bias (classes + 1,); the last class is ``none of these``."""

    kernel: Numbers
    bias: Numbers

    def logits(self, features: Numbers) -> Numbers:
        """Return (..., classes + 1)."""
        return features @ self.kernel + self.bias


@dataclass(frozen=True)
class Verdict:
    """Result of cross-validation, on images and background groups left out of the training.

    Attributes:
        accuracy: share of photographs whose class is the likeliest of the classes.
        known_refused: share of photographs answered with ``none of these``.
        unknown_refused: share of the background with the same answer.
        none_refused: share of the folder ``none`` with the same answer; None without the folder.
        temperature: divisor of the logits.
        confusion: photographs of each class (rows) by answer (columns, the last ``none of these``).
    """

    accuracy: float
    known_refused: float
    unknown_refused: float
    none_refused: float | None
    temperature: float
    confusion: tuple[tuple[int, ...], ...]

    @property
    def rank(self) -> tuple[float, float]:
        """Sort key of heads and starts; higher is better."""
        return round(self.accuracy, 3), self.unknown_refused


def without_lookalikes(examples: Examples) -> Examples:
    """Leave out background groups similar to a class, because the user can train on things in the background."""
    features = examples.features[:, 0]
    close = np.zeros(len(examples.background), bool)
    for index in range(examples.classes):
        class_features = features[examples.truth == index]
        means_of_others = (class_features.sum(axis=0) - class_features) / (len(class_features) - 1)
        radius = np.quantile(np.linalg.norm(class_features - means_of_others, axis=1), 0.9)
        close |= np.linalg.norm(examples.background - class_features.mean(axis=0), axis=1) < radius
    alike = [group for group in np.unique(examples.groups) if close[examples.groups == group].mean() > MOST_LOOKALIKES]
    distinct = ~np.isin(examples.groups, alike) & ~close
    return Examples(
        examples.features, examples.truth, examples.background[distinct], examples.groups[distinct], examples.classes
    )


def train(examples: Examples, progress: ProgressCallback = no_progress) -> tuple[Head, Verdict]:
    """Return the best last layer, calibrated, and its result of cross-validation."""
    scores = []
    for number, penalty in enumerate(PENALTIES, 1):
        progress(f"cross-validation {number} of {len(PENALTIES)}")
        scores.append((_validated(examples, penalty), penalty))
    (logits, background), penalty = max(scores, key=lambda score: _accuracy(examples, score[0][0]))
    temperature = _temperature(examples, logits)
    shift = _shift(examples, logits, background)
    head = _fit(examples, np.arange(len(examples.truth)), np.arange(len(examples.groups)), penalty)
    bias = head.bias.copy()
    bias[-1] += shift
    for values in (logits, background):
        values[:, -1] += shift
    verdict = _verdict(examples, logits, background, temperature)
    return Head(head.kernel / temperature, bias / temperature), verdict


def _validated(examples: Examples, penalty: float) -> tuple[Numbers, Numbers]:
    """Return the logits of photographs and background, each by a head trained without it and its group."""
    length = examples.classes + 1
    logits, background = np.zeros((len(examples.truth), length)), np.zeros((len(examples.groups), length))
    folds = _folds(examples.truth)
    fold_of_background = (
        np.unique(examples.groups, return_inverse=True)[1] * 7 % FOLDS if len(examples.groups) else examples.groups
    )
    for fold in range(FOLDS):
        trained, trained_background = folds != fold, fold_of_background != fold
        head = _fit(examples, np.flatnonzero(trained), np.flatnonzero(trained_background), penalty)
        logits[~trained] = head.logits(examples.features[~trained, 0])
        background[~trained_background] = head.logits(examples.background[~trained_background])
    return logits, background


def _folds(truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a fold for each photograph; successive ones of a class share a fold, because they can be of one moment."""
    folds = np.zeros(len(truth), np.int64)
    for index in np.unique(truth):
        of_class = np.flatnonzero(truth == index)
        folds[of_class] = np.arange(len(of_class)) * FOLDS // len(of_class)
    return folds


def _fit(examples: Examples, rows: NDArray[np.int64], none_rows: NDArray[np.int64], penalty: float) -> Head:
    """Fit a head; each class, the folder ``none`` and the background have the same total weight."""
    _, variations, length = examples.features.shape
    truth = np.where(examples.truth < 0, examples.classes, examples.truth)[rows]
    x = np.concatenate([examples.features[rows].reshape(-1, length), examples.background[none_rows]])
    y = np.concatenate([np.repeat(truth, variations), np.full(len(none_rows), examples.classes)])
    negative = np.concatenate([np.repeat(examples.truth[rows] < 0, variations), np.zeros(len(none_rows), bool)])
    weights = np.zeros(len(y))
    for group in (*((y == index) for index in range(examples.classes)), negative, (y == examples.classes) & ~negative):
        weights[group] = 1.0 / max(group.sum(), 1)
    return _logistic(x, y, weights / weights.sum(), examples.classes + 1, penalty)


def _logistic(x: Numbers, y: NDArray[np.int64], weights: Numbers, classes: int, penalty: float) -> Head:
    """Minimise the cross entropy and the penalty, by gradients with momentum on standardised features."""
    mean, deviation = x.mean(axis=0), x.std(axis=0) + 1e-3
    z = np.concatenate([(x - mean) / deviation, np.ones((len(x), 1))], axis=1)
    w = np.zeros((z.shape[1], classes))
    speed = np.zeros_like(w)
    targets = np.eye(classes)[y]
    shrink = np.append(np.full(x.shape[1], penalty), 0.0)[:, None]
    rate = 1.0 / (0.5 * np.linalg.norm(z * np.sqrt(weights)[:, None], 2) ** 2 + penalty)
    for _ in range(_STEPS):
        gradient = z.T @ ((softmax(z @ w) - targets) * weights[:, None]) + shrink * w
        speed = 0.9 * speed - rate * gradient
        w += speed
    kernel = w[:-1] / deviation[:, None]
    return Head(kernel, w[-1] - mean @ kernel)


def _accuracy(examples: Examples, logits: Numbers) -> float:
    labelled = examples.truth >= 0
    return float((logits[labelled, :-1].argmax(axis=1) == examples.truth[labelled]).mean())


def _temperature(examples: Examples, logits: Numbers) -> float:
    """Return the temperature of the least cross entropy (Guo et al., "On Calibration ...", 2017).

    Targets are smoothed, because even perfect accuracy on n photographs does not exclude an error on the next one
    (Platt, "Probabilistic Outputs ...", 1999).
    """
    truth = np.where(examples.truth < 0, examples.classes, examples.truth)
    smoothing = 1.0 / (len(truth) + 2)
    targets = np.eye(examples.classes + 1)[truth] * (1.0 - smoothing) + smoothing / (examples.classes + 1)
    choices = np.geomspace(0.1, 8.0, 61)
    losses = [-(targets * np.log(softmax(logits / choice) + 1e-12)).sum(axis=1).mean() for choice in choices]
    return float(choices[int(np.argmin(losses))])


def _shift(examples: Examples, logits: Numbers, background: Numbers) -> float:
    """Return the offset to add to the logit of ``none of these``.

    With it, at most MOST_REFUSED of the photographs get this answer. If they are far from unknown things, most of the
    margin between goes to the photographs: new photographs differ more than those similar to the training data.
    """
    labelled = examples.truth >= 0
    strictest = float(np.quantile(_margins(logits[labelled]), MOST_REFUSED))
    if not len(background):
        return min(strictest, 0.0)
    sufficient = float(np.quantile(_margins(background), LEAST_UNKNOWN_REFUSED))
    return min(strictest, sufficient + MARGIN_SHARE * max(strictest - sufficient, 0.0))


def _margins(logits: Numbers) -> Numbers:
    """Return the difference between the logits of the likeliest class and ``none of these``."""
    result: Numbers = logits[:, :-1].max(axis=1) - logits[:, -1]
    return result


def _verdict(examples: Examples, logits: Numbers, background: Numbers, temperature: float) -> Verdict:
    labelled, none = examples.truth >= 0, examples.truth < 0
    answers = logits.argmax(axis=1)
    confusion = np.zeros((examples.classes, examples.classes + 1), np.int64)
    np.add.at(confusion, (examples.truth[labelled], answers[labelled]), 1)

    def refused(chosen: NDArray[np.int64]) -> float:
        return float((chosen == examples.classes).mean())

    return Verdict(
        _accuracy(examples, logits),
        refused(answers[labelled]),
        refused(background.argmax(axis=1)) if len(background) else 0.0,
        refused(answers[none]) if none.any() else None,
        temperature,
        tuple(tuple(int(count) for count in row) for row in confusion),
    )
