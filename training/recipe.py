"""How a network is trained, as one value: read from ``recipes/*.yaml``, written into every run and model card.

    recipe = Recipe.read(path)                     # InputError with file, line and key for what is not allowed
    recipe.epochs                                  # the sum of its phases
    recipe.phase(epoch)                            # the Phase that an epoch, counted from 0, belongs to
    recipe.changed(epochs=3, batch=8, seed=2)      # the same in short, as the command line asks for
    recipe.as_yaml()                               # all of it, defaults spelled out; Recipe.parse gives it back
    dataclasses.replace(recipe, seed=2)            # another recipe, checked like the first; == compares two
    training.schedule.learning_rates(recipe, n)    # float32 (steps,): the rate of every step

Everything has a default; all together they are a short run with mild variations. Shares and probabilities run from 0
to 1, angles are in degrees either way. Needs no Keras.
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
    """What makes steps of gradients.

    Attributes:
        name: adam or adamw, Adam with weight decay that does not pass through its averages.
        rate: highest learning rate, above 0 to 1.
        weight_decay: share of a weight, times the rate, that a step of adamw takes away; 0 to 1, 0 for adam.
        beta_2: how slowly the average of squared gradients follows, 0 to below 1.
        clip_norm: gradients longer than this, all weights together, are shortened to it; 0 is off.
    """

    name: Literal["adam", "adamw"] = "adamw"
    rate: Annotated[float, Between(0, 1, above=True)] = 0.003
    weight_decay: Share = 0.001
    beta_2: Annotated[float, Between(0, 1, below=True)] = 0.999
    clip_norm: Annotated[float, Between(0)] = 0.0

    def conflict(self) -> str | None:
        """Return what does not go together, in words, or None."""
        if self.name == "adam" and self.weight_decay:
            return f"weight_decay is {self.weight_decay:g}, but adam has none; take adamw, or set weight_decay to 0"
        return None


@dataclass(frozen=True)
class Schedule(Settings):
    """How the learning rate changes, step by step: up, along, down (``training.schedule``).

    Attributes:
        kind: how it comes down, along a cosine or by halving.
        warmup: epochs in which it rises from 0, of at least 0; fractions are possible.
        plateau: where it begins to come down, counted from the start of the run and not before the end of the
            warm-up: below 1 a share of all epochs, from 1 on a number of epochs.
        halve_every: epochs from one halving to the next, above 0; the first is at the end of the plateau.
        final: lowest rate, which the cosine ends in, as a share of the highest; 0 to 1.
    """

    kind: Literal["cosine", "halving"] = "cosine"
    warmup: Annotated[float, Between(0)] = 3.0
    plateau: Annotated[float, Between(0)] = 0.0
    halve_every: Annotated[float, Between(0, above=True)] = 50.0
    final: Share = 0.0

    def conflict(self) -> str | None:
        """Return what does not go together, in words, or None."""
        if self.kind == "halving" and not self.plateau:
            return "plateau is 0, so that the first step would have half the rate; say when the halving begins"
        return None


@dataclass(frozen=True)
class Average(Settings):
    """Which weights are averaged; what validates better, averaged or not, is kept.

    Attributes:
        best: checkpoints of a run, those that validate best, whose mean is taken; at least 1, 1 is the best alone.
        ema: decay per step of the exponential moving average of the weights, 0 to below 1; 0 is off.
    """

    best: Annotated[int, Between(1)] = 1
    ema: Annotated[float, Between(0, 1, below=True)] = 0.0


@dataclass(frozen=True)
class Phase(Settings):
    """A part of the run, of whole epochs.

    Attributes:
        epochs: passes over the training pictures, at least 1.
        scale: of the pictures' side, as a share of the network's input size, above 0 to 2; the nearest size at which
            the network's arithmetic comes out is taken.
        precision: what activations and gradients are computed in; weights are always float32.
        quantized: whether stored activations are rounded to 8 bits in the forward pass.
        mixing: whether pictures are mixed with each other (mixup and cutmix).
        strength: of all augmentation, 0 (none) to 1.
    """

    epochs: Annotated[int, Between(1)] = 30
    scale: Annotated[float, Between(0, 2, above=True)] = 1.0
    precision: Literal["float32", "bfloat16"] = "float32"
    quantized: bool = False
    mixing: bool = True
    strength: Share = 1.0


@dataclass(frozen=True)
class Consistency(Settings):
    """A further loss between the network and itself with noise on its stored activations: it learns to bear rounding.

    Attributes:
        weight: of the mean squared difference of the two centred logits in the loss, of at least 0; 0 is off.
        noise: largest change of an activation either way, in steps of its 8 bits (1/255 of its range), 0 to 32.
    """

    weight: Annotated[float, Between(0)] = 0.0
    noise: Annotated[float, Between(0, 32)] = 2.0


@dataclass(frozen=True)
class Distillation(Settings):
    """Learning from the answers of a larger network, which the command line names.

    Attributes:
        weight: share of the loss that is taken against the teacher, where there is one, instead of the labels.
        temperature: by which both networks' logits are divided, above 0 to 100.
    """

    weight: Share = 0.5
    temperature: Annotated[float, Between(0, 100, above=True)] = 2.0


@dataclass(frozen=True)
class Recipe(Settings):
    """All that decides a training run but the network, the data and the machine.

    Attributes:
        seed: of weights, order and augmentation; at least 0.
        batch: pictures a step, at least 1.
        label_smoothing: share of a label spread over all classes, 0 to below 1.
        batch_norm_momentum: how slowly the running statistics follow, 0 to below 1.
        validate_every: epochs from one validation to the next, at least 1; the last epoch is always validated.
        optimizer: what makes steps of gradients.
        schedule: how the learning rate changes.
        average: which weights are averaged.
        phases: parts of the run, in their order; at least one.
        augmentation: random variations of the training pictures.
        consistency: further loss for noise on activations.
        distillation: learning from a larger network.
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
        """Read a recipe; what it does not mention has its default.

        Raises:
            InputError: the file cannot be read, or holds what is not allowed; the message names file, line and key.
        """
        return strict_yaml.read(path, cls)

    @classmethod
    def parse(cls, text: str, source: str) -> Recipe:
        """Read a recipe from YAML ``text``; messages call it ``source``.

        Raises:
            InputError: as ``read`` does.
        """
        return strict_yaml.parse(text, cls, source)

    @property
    def epochs(self) -> int:
        """Passes over the training pictures in all phases together."""
        return sum(phase.epochs for phase in self.phases)

    def phase(self, epoch: int) -> Phase:
        """Return the phase that ``epoch``, counted from 0 over the whole run, belongs to.

        Raises:
            IndexError: the run has no such epoch.
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
        """Return the whole recipe as YAML, all defaults spelled out; ``parse`` gives the same recipe back."""
        return strict_yaml.dump(self)

    def changed(self, *, epochs: int | None = None, batch: int | None = None, seed: int | None = None) -> Recipe:
        """Return the recipe with another length, batch or seed; None leaves each as it is.

        With another number of epochs all that is counted in epochs shrinks or grows alike, and the schedule keeps its
        shape; of a run with fewer epochs than phases, some phases are left out.

        Raises:
            InputError: a number that is not allowed.
        """
        made = replace(
            self,
            batch=self.batch if batch is None else batch,
            seed=self.seed if seed is None else seed,
        )
        return made if epochs is None else made._with_epochs(epochs)

    def _with_epochs(self, epochs: int) -> Recipe:
        if epochs < 1:
            raise InputError(f"epochs is {epochs}; it must be a whole number of at least 1")
        factor, before, lengths = epochs / self.epochs, 0, []
        for phase in self.phases:
            lengths.append(round((before + phase.epochs) * factor) - round(before * factor))
            before += phase.epochs
        phases = tuple(replace(phase, epochs=length) for phase, length in zip(self.phases, lengths) if length)
        # As a share: scaled down, a number of epochs could fall below 1 and be taken for one.
        plateau = self.schedule.plateau
        share = plateau / self.epochs if 1 <= plateau < self.epochs else plateau
        schedule = replace(
            self.schedule,
            warmup=self.schedule.warmup * factor,
            plateau=share,
            halve_every=self.schedule.halve_every * factor,
        )
        return replace(self, phases=phases, schedule=schedule)
