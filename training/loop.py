"""A training run: phases, epochs, validation, averages, and saved files."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from glsl_infer.errors import RunError
from training.averaging import BestCheckpoints, Checkpoint, MovingAverage, Weights
from training.layers import BlockDiagonalConv2D, Stored
from training.optimizer import optimizer
from training.recipe import Phase, Recipe
from training.run_folder import RunFolder, State
from training.trainee import Batches, Trainee
from training.validation import Score, Validator
from training.variation import PicturesOnDevice

Build = Callable[..., keras.Model]


@dataclass(frozen=True)
class Pictures:
    """Images of a run: uint8 pixels and int64 labels.

    Attributes:
        train: (n, side, side, 3), larger than the network's input, so that crops keep detail.
        typical: (m, size, size, 3), some training images at the network's size, without augmentation.
        val: (k, size, size, 3).
    """

    train: NDArray[np.uint8]
    train_labels: NDArray[np.int64]
    typical: NDArray[np.uint8]
    val: NDArray[np.uint8]
    val_labels: NDArray[np.int64]
    classes: int


@dataclass
class Loop:
    """Training of one network.

    Attributes:
        build: architecture, a function of a size and the options ``conv``, ``stored`` and ``momentum``.
        size: side of the network's input.
        start: initial trainable weights; None for random ones.
        report: called with each entry of the history.
    """

    recipe: Recipe
    build: Build
    size: int
    pictures: Pictures
    folder: RunFolder
    report: Callable[[dict[str, float]], None]
    callbacks: Callable[[], list[keras.callbacks.Callback]] = list
    teacher: keras.Model | None = None
    start: Weights | None = None
    history: list[dict[str, float]] = field(default_factory=list)

    def run(self, state: State | None) -> None:
        """Train the epochs that are left after ``state``, and update the folder."""
        recipe = self.recipe
        self._average = MovingAverage(recipe.average.ema)
        self._best = BestCheckpoints(recipe.average.best)
        self._top: tuple[float, ...] | None = None
        self._plain = self.build(self.size)
        quantized = any(phase.quantized for phase in recipe.phases)
        validated_network = (
            self.build(self.size, conv=BlockDiagonalConv2D, stored=_stored)
            if quantized
            else self.build(self.size, conv=BlockDiagonalConv2D)
        )
        pictures = self.pictures
        self._validator = Validator(
            validated_network, pictures.typical, pictures.val, pictures.val_labels, recipe.batch
        )
        weights = self.start or [np.asarray(variable) for variable in self._plain.trainable_variables]
        moments: Weights = []
        finished_epochs = 0
        if state is not None:
            weights, moments, finished_epochs = state.weights, state.optimizer, state.epoch
            self._average.weights, self._best.kept, self._top = state.average, state.best, state.top
        first = 0
        for phase in recipe.phases:
            last = first + phase.epochs
            if finished_epochs < last:
                weights, moments = self._phase(phase, max(first, finished_epochs), last, weights, moments)
            first = last
        self._finish()

    def _phase(
        self, phase: Phase, first: int, last: int, weights: Weights, moments: Weights
    ) -> tuple[Weights, Weights]:
        """Train from epoch ``first`` up to ``last``; return the weights and the optimiser's variables."""
        trainee, batches = self._trainee(phase, weights)
        steps = len(batches)
        trainee.optimizer.build(trainee.trainable_variables)
        for variable, value in zip(trainee.optimizer.variables, moments):
            variable.assign(value)
        trainee.fit(
            batches,
            initial_epoch=first,
            epochs=last,
            shuffle=False,
            verbose=0,
            callbacks=[_Epochs(self, trainee, batches, steps), *self.callbacks()],
        )
        return _values(trainee.network.trainable_variables), _values(trainee.optimizer.variables)

    def _trainee(self, phase: Phase, weights: Weights) -> tuple[Trainee, Batches]:
        recipe, pictures = self.recipe, self.pictures
        size = self._size(phase)
        before = keras.config.dtype_policy()
        policy = "mixed_bfloat16" if phase.precision == "bfloat16" else "float32"
        keras.config.set_dtype_policy(policy)
        try:
            noise = recipe.consistency.noise if recipe.consistency.weight else 0.0
            options = {"stored": _stored if phase.quantized else _open} if phase.quantized or noise else {}
            network = self.build(size, conv=BlockDiagonalConv2D, momentum=recipe.batch_norm_momentum, **options)
        finally:
            keras.config.set_dtype_policy(before)
        for variable, value in zip(network.trainable_variables, weights):
            variable.assign(value)
        batches = Batches(
            recipe.augmentation,
            pictures.train_labels,
            pictures.classes,
            min(recipe.batch, len(pictures.train)),
            recipe.seed,
            strength=phase.strength,
            mixing=phase.mixing,
        )
        distillation_weight = recipe.distillation.weight if self.teacher is not None else 0.0
        for layer in self.teacher.layers if self.teacher is not None else ():
            layer.dtype_policy = policy
        trainee = Trainee(
            PicturesOnDevice(pictures.train),
            network,
            consistency=recipe.consistency.weight,
            noise=noise,
            teacher=self.teacher,
            distillation=distillation_weight,
            temperature=recipe.distillation.temperature,
        )
        cross_entropy = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=recipe.label_smoothing)
        trainee.compile(
            optimizer(recipe, len(batches)),
            lambda labels, logits: (1.0 - distillation_weight) * cross_entropy(labels, logits),
            metrics=["accuracy"],
        )
        return trainee, batches

    def _size(self, phase: Phase) -> int:
        """Return the size nearest to the phase's that the architecture supports."""
        exact_size = self.size * phase.scale
        for size in sorted(range(1, 2 * self.size + 1), key=lambda size: abs(size - exact_size)):
            try:
                self.build(size)
            except ValueError:
                continue
            return size
        return self.size

    def finish_epoch(self, epoch: int, trainee: Trainee, logs: dict[str, float], steps: int, seconds: float) -> None:
        """Process the end of epoch ``epoch`` (from 0): averages, validation, history, saved files."""
        if not np.isfinite(logs["loss"]):
            raise RunError(
                f"epoch {epoch + 1}: the loss is {logs['loss']}, no finite number any more; what was best is kept. "
                "Begin again in another --out with a lower optimizer.rate, a clip_norm or precision: float32"
            )
        weights = _values(trainee.network.trainable_variables)
        self._average.update(weights, steps)
        record = {
            "epoch": epoch + 1,
            "loss": float(logs["loss"]),
            "accuracy": float(logs["accuracy"]),
            "rate": float(ops.convert_to_numpy(trainee.optimizer.learning_rate)),
            "seconds": round(seconds, 2),
        }
        phase_ends = np.cumsum([phase.epochs for phase in self.recipe.phases])
        if epoch + 1 in phase_ends or (epoch + 1) % self.recipe.validate_every == 0:
            started = time.perf_counter()
            score = self._judge(weights)
            self._best.add(Checkpoint(score.rank, epoch + 1, weights))
            record |= {"val_loss": score.loss, "val_accuracy": score.accuracy}
            if self._average.weights:
                averaged = self._judge(self._average.weights)
                record |= {"val_loss_average": averaged.loss, "val_accuracy_average": averaged.accuracy}
            record["seconds_val"] = round(time.perf_counter() - started, 2)
            self.history.append(record)
            self.folder.keep(
                State(
                    epoch + 1,
                    weights,
                    _values(trainee.optimizer.variables),
                    self._average.weights,
                    self._best.kept,
                    self._top,
                ),
                self.history,
            )
        else:
            self.history.append(record)
        self.report(record)

    def _judge(self, weights: Weights) -> Score:
        """Score weights, and keep them as the model if they are the best so far."""
        score = self._validator.score(weights)
        if self._top is None or score.rank > self._top:
            self._top = score.rank
            for layer in self._plain.layers:
                layer.set_weights(self._validator.network.get_layer(layer.name).get_weights())
            self.folder.keep_model(self._plain, "model.keras")
        return score

    def _finish(self) -> None:
        """Try the average of the best checkpoints as well."""
        if len(self._best.kept) < 2:
            return
        score = self._judge(self._best.average())
        self.history[-1] |= {"val_loss_best": score.loss, "val_accuracy_best": score.accuracy}
        self.folder.keep_history(self.history)


class _Epochs(keras.callbacks.Callback):  # type: ignore[misc]
    """Tells batches and noise which epoch begins, and the loop that one has ended."""

    def __init__(self, loop: Loop, trainee: Trainee, batches: Batches, steps: int) -> None:
        super().__init__()
        self.loop, self.trainee, self.batches, self.steps = loop, trainee, batches, steps

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.started = time.perf_counter()
        self.batches.begin(epoch)
        self.trainee.reseed(self.loop.recipe.seed, epoch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        seconds = time.perf_counter() - self.started
        self.loop.finish_epoch(epoch, self.trainee, logs or {}, self.steps, seconds)


def _stored(tensor: Any, step: float) -> Any:
    return Stored(step)(tensor)


def _open(tensor: Any, step: float) -> Any:
    return Stored(step, quantized=False)(tensor)


def _values(variables: Any) -> Weights:
    return [np.asarray(ops.convert_to_numpy(variable)) for variable in variables]
