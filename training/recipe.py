"""Training recipes: read from ``recipes/*.yaml``, and saved in each run and model card.

    recipe = Recipe.read(path)                     # InputError with file, line and key for invalid settings
    recipe.epochs                                  # sum of its phases
    recipe.phase(epoch)                            # Phase of an epoch, counted from 0
    recipe.changed(epochs=3, batch=8, seed=2)      # short form of the command line's options
    recipe.as_yaml()                               # all settings including defaults; inverse of Recipe.parse
    dataclasses.replace(recipe, seed=2)            # another recipe, checked like the first; == compares two
    training.schedule.learning_rates(recipe, n)    # float32 (steps,): learning rate of each step

All settings have defaults, which together are a short run with mild augmentation. Shares and probabilities are from 0
to 1, angles in degrees in both directions. Keras is not needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from glsl_infer.errors import InputError
from glsl_infer.support import strict_yaml
from glsl_infer.support.settings import Between, Settings
from training.recipe_augmentation import Augmentation, Share


@dataclass(frozen=True)
class Optimizer(Settings):
    """The optimiser.

    Attributes:
        name: adam, or adamw: Adam with decoupled weight decay.
        rate: largest learning rate, above 0 to 1.
        weight_decay: decay of a weight in a step of adamw, times the rate; 0 to 1, 0 for adam.
        beta_2: decay of the average of squared gradients, 0 to below 1.
        clip_norm: limit of the gradients' global norm; 0 disables it.
    """

    name: Literal["adam", "adamw"] = "adamw"
    rate: Annotated[float, Between(0, 1, above=True)] = 0.003
    weight_decay: Share = 0.001
    beta_2: Annotated[float, Between(0, 1, below=True)] = 0.999
    clip_norm: Annotated[float, Between(0)] = 0.0

    def conflict(self) -> str | None:
        """Describe a contradiction between settings; None without one."""
        if self.name == "adam" and self.weight_decay:
            return f"weight_decay is {self.weight_decay:g}, but adam has none; take adamw, or set weight_decay to 0"
        return None


@dataclass(frozen=True)
class Schedule(Settings):
    """The learning rate schedule: warm-up, plateau, decay (``training.schedule``).

    Attributes:
        kind: decay along a cosine, or by halving.
        warmup: epochs of linear increase from 0, at least 0; can be fractional.
        plateau: start of the decay, counted from the start of the run and not before the end of the warm-up: below 1 a
            share of all epochs, from 1 on a number of epochs.
        halve_every: epochs between halvings, above 0; the first is at the end of the plateau.
        final: smallest learning rate, at the end of the cosine, as a share of the largest; 0 to 1.
    """

    kind: Literal["cosine", "halving"] = "cosine"
    warmup: Annotated[float, Between(0)] = 3.0
    plateau: Annotated[float, Between(0)] = 0.0
    halve_every: Annotated[float, Between(0, above=True)] = 50.0
    final: Share = 0.0

    def conflict(self) -> str | None:
        """Describe a contradiction between settings; None without one."""
        if self.kind == "halving" and not self.plateau:
            return "plateau is 0, so that the first step would have half the rate; say when the halving begins"
        return None


@dataclass(frozen=True)
class Average(Settings):
    """Averages of weights. The weights with the best validation result are kept, averaged or not.

    Attributes:
        best: number of the best checkpoints to average; at least 1, which means the best alone.
        ema: decay per step of the exponential moving average of the weights, 0 to below 1; 0 disables it.
    """

    best: Annotated[int, Between(1)] = 1
    ema: Annotated[float, Between(0, 1, below=True)] = 0.0


@dataclass(frozen=True)
class Phase(Settings):
    """A part of the run with complete epochs.

    Attributes:
        epochs: passes over the training images, at least 1.
        scale: side of the images relative to the network's input size, above 0 to 2; the nearest supported size is
            used.
        precision: type of activations and gradients; weights are always float32.
        quantized: whether to round stored activations to 8 bits in the forward pass.
        mixing: whether to mix images (mixup and cutmix).
        strength: factor of all augmentation, 0 (none) to 1.
    """

    epochs: Annotated[int, Between(1)] = 30
    scale: Annotated[float, Between(0, 2, above=True)] = 1.0
    precision: Literal["float32", "bfloat16"] = "float32"
    quantized: bool = False
    mixing: bool = True
    strength: Share = 1.0


@dataclass(frozen=True)
class Consistency(Settings):
    """Additional loss between the network and itself with noise on stored activations, for robustness to rounding.

    Attributes:
        weight: weight of the mean squared difference of the centred logits, at least 0; 0 disables it.
        noise: largest change of an activation, in 8-bit steps (1/255 of its range), 0 to 32.
    """

    weight: Annotated[float, Between(0)] = 0.0
    noise: Annotated[float, Between(0, 32)] = 2.0


@dataclass(frozen=True)
class Distillation(Settings):
    """Training with the outputs of a larger network, which the command line selects.

    Attributes:
        weight: weight of the loss against the teacher, if there is one, instead of the labels.
        temperature: divisor of both networks' logits, above 0 to 100.
    """

    weight: Share = 0.5
    temperature: Annotated[float, Between(0, 100, above=True)] = 2.0


@dataclass(frozen=True)
class Recipe(Settings):
    """All settings of a training run except the network, the data and the machine.

    Attributes:
        seed: of weights, order and augmentation; at least 0.
        batch: images in a step, at least 1.
        label_smoothing: share of a label distributed over all classes, 0 to below 1.
        batch_norm_momentum: momentum of the running statistics, 0 to below 1.
        validate_every: epochs between validations, at least 1; the last epoch is always validated.
        optimizer: the optimiser.
        schedule: learning rate schedule.
        average: averages of weights.
        phases: parts of the run in order; at least one.
        augmentation: random augmentation of the training images.
        consistency: additional loss for noise on activations.
        distillation: training with the outputs of a larger network.
    """

    seed: Annotated[int, Between(0, 2**32 - 1)] = 1
    batch: Annotated[int, Between(1)] = 32
    label_smoothing: Annotated[float, Between(0, 1, below=True)] = 0.05
    batch_norm_momentum: Annotated[float, Between(0, 1, below=True)] = 0.9
    validate_every: Annotated[int, Between(1)] = 1
    optimizer: Optimizer = Optimizer()
    schedule: Schedule = Schedule()
    average: Average = Average()
    phases: tuple[Phase, ...] = (Phase(),)
    augmentation: Augmentation = Augmentation()  # noqa: RUF009
    consistency: Consistency = Consistency()
    distillation: Distillation = Distillation()

    @classmethod
    def read(cls, path: Path) -> Recipe:
        """Read a recipe; missing settings have their defaults.

        Raises:
            InputError: the file cannot be read, or a setting is invalid; the message has the file, line and key.
        """
        return strict_yaml.read(path, cls)

    @classmethod
    def parse(cls, text: str, source: str) -> Recipe:
        """Parse a recipe from YAML ``text``; messages call it ``source``.

        Raises:
            InputError: as for ``read``.
        """
        return strict_yaml.parse(text, cls, source)

    @property
    def epochs(self) -> int:
        """Number of epochs of all phases."""
        return sum(phase.epochs for phase in self.phases)

    def phase(self, epoch: int) -> Phase:
        """Return the phase of ``epoch``, counted from 0 over the entire run.

        Raises:
            IndexError: the run has fewer epochs.
        """
        if epoch < 0:
            raise IndexError(f"epoch {epoch}: they count from 0")
        end = 0
        for phase in self.phases:
            end += phase.epochs
            if epoch < end:
                return phase
        raise IndexError(f"epoch {epoch}: the recipe has {end}, counted from 0")

    def as_yaml(self) -> str:
        """Return the recipe as YAML, including defaults; ``parse`` is the inverse."""
        return strict_yaml.dump(self)

    def changed(self, *, epochs: int | None = None, batch: int | None = None, seed: int | None = None) -> Recipe:
        """Return the recipe with another length, batch or seed; None keeps a setting.

        With another number of epochs, all settings in epochs are scaled, and the schedule keeps its shape. If there are
        fewer epochs than phases, some phases are omitted.

        Raises:
            InputError: a value is not allowed.
        """
        recipe = replace(self, batch=self.batch if batch is None else batch, seed=self.seed if seed is None else seed)
        return recipe if epochs is None else recipe._with_epochs(epochs)

    def _with_epochs(self, epochs: int) -> Recipe:
        if epochs < 1:
            raise InputError(f"epochs is {epochs}; it must be a whole number of at least 1")
        factor, before, lengths = epochs / self.epochs, 0, []
        for phase in self.phases:
            lengths.append(round((before + phase.epochs) * factor) - round(before * factor))
            before += phase.epochs
        phases = tuple(replace(phase, epochs=length) for phase, length in zip(self.phases, lengths) if length)
        # Converted to a share, because a scaled number of epochs could fall below 1 and be interpreted as one.
        plateau = self.schedule.plateau
        share = plateau / self.epochs if 1 <= plateau < self.epochs else plateau
        schedule = replace(
            self.schedule,
            warmup=self.schedule.warmup * factor,
            plateau=share,
            halve_every=self.schedule.halve_every * factor,
        )
        return replace(self, phases=phases, schedule=schedule)
