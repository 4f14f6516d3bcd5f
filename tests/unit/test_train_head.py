"""glsl-infer train: the last layer, and its class "none of these"."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from glsl_infer.tools.train import head

LENGTH, CLASSES, PHOTOGRAPHS_PER_CLASS = 24, 3, 20
BACKGROUND_KINDS, IMAGES_PER_KIND = 30, 5


def examples(seed: int = 0, spread: float = 0.08) -> head.Examples:
    """Return features of random classes, and of several kinds of background."""
    random = np.random.default_rng(seed)
    means = random.uniform(0, 1, (CLASSES, LENGTH))
    truth = np.repeat(np.arange(CLASSES), PHOTOGRAPHS_PER_CLASS)
    features = means[truth][:, None] + random.normal(0, spread, (len(truth), 2, LENGTH))
    kinds = random.uniform(0, 1, (BACKGROUND_KINDS, LENGTH))
    groups = np.repeat(np.arange(BACKGROUND_KINDS), IMAGES_PER_KIND)
    background = kinds[groups] + random.normal(0, spread, (len(groups), LENGTH))
    return head.Examples(features, truth, background, groups, CLASSES)


def test_training_learns_classes_and_refuses_others() -> None:
    samples = examples()
    classifier, verdict = head.train(samples)
    assert verdict.accuracy == 1.0
    assert verdict.known_refused <= 0.06
    assert verdict.unknown_refused >= 0.8  # of classes excluded from a fold
    assert np.sum(verdict.confusion) == CLASSES * PHOTOGRAPHS_PER_CLASS
    answers = classifier.logits(samples.features[:, 1]).argmax(axis=1)
    assert (answers == samples.truth).mean() >= 0.9
    unrelated = np.random.default_rng(9).uniform(0, 1, (200, LENGTH))
    assert (classifier.logits(unrelated).argmax(axis=1) == CLASSES).mean() >= 0.8


def test_classes_are_balanced() -> None:
    samples = examples(1, spread=0.5)
    chosen = np.r_[0:5, 20:60]
    unbalanced = replace(samples, features=samples.features[chosen], truth=samples.truth[chosen])
    verdict = head.train(unbalanced)[1]
    row = verdict.confusion[0]
    assert sum(row) == 5
    assert row[0] >= 2  # 5 compared with 20 and 20


def test_background_that_looks_like_a_class_is_left_out() -> None:
    samples = examples()
    twins = samples.features[samples.truth == 1, 0]
    with_likeness = replace(
        samples,
        background=np.concatenate([samples.background, twins]),
        groups=np.append(samples.groups, np.full(len(twins), 77)),
    )
    remaining = head.without_lookalikes(with_likeness)
    assert 77 not in remaining.groups
    assert len(remaining.groups) == len(samples.groups)


def test_the_folder_none_is_learnt_as_none_of_these() -> None:
    samples = examples()
    random = np.random.default_rng(5)
    empty = random.uniform(0, 1, LENGTH) + random.normal(0, 0.08, (10, 2, LENGTH))
    with_none = replace(
        samples,
        features=np.concatenate([samples.features, empty]),
        truth=np.append(samples.truth, np.full(len(empty), -1)),
    )
    assert (head.train(with_none)[1].none_refused or 0) >= 0.8
