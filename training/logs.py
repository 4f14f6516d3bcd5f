"""Progress of a training run: lines, a progress bar, and TensorBoard's files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import keras
from tqdm import tqdm

LOGGED = {
    "loss": "train/loss",
    "accuracy": "train/accuracy",
    "rate": "train/rate",
    "val_loss": "val/loss",
    "val_accuracy": "val/accuracy",
    "val_loss_average": "val/loss of the average",
    "val_accuracy_average": "val/accuracy of the average",
}


class Log:
    """Reports each epoch: a line after validation, the progress bar, TensorBoard.

    Args:
        folder: for TensorBoard's files.
        epochs: number of epochs of the run.
        finished_epochs: number of finished epochs of a resumed run.
    """

    def __init__(self, folder: Path, epochs: int, finished_epochs: int) -> None:
        self.epochs = epochs
        self._bar = tqdm(
            total=epochs,
            initial=finished_epochs,
            unit="epoch",
            disable=not sys.stderr.isatty(),
            file=sys.stderr,
            dynamic_ncols=True,
        )
        self._writer = _writer(folder)

    def epoch(self, metrics: dict[str, float]) -> None:
        """Report an entry of the history."""
        epoch = int(metrics["epoch"])
        for key, name in LOGGED.items():
            if self._writer is not None and key in metrics:
                self._writer.add_scalar(name, metrics[key], step=epoch)
        self._bar.set_postfix_str(f"loss {metrics['loss']:.3f}", refresh=False)
        self._bar.update()
        if "val_loss" in metrics:
            tqdm.write(self._line(metrics), file=sys.stdout)
            sys.stdout.flush()

    def close(self) -> None:
        """Close the progress bar and TensorBoard's file."""
        self._bar.close()
        if self._writer is not None:
            self._writer.close()

    def _line(self, metrics: dict[str, float]) -> str:
        line = (
            f"epoch {int(metrics['epoch']):3d}/{self.epochs}  loss {metrics['loss']:.4f}  "
            f"accuracy {100 * metrics['accuracy']:.2f} %  val loss {metrics['val_loss']:.4f}  "
            f"val accuracy {100 * metrics['val_accuracy']:.2f} %"
        )
        if "val_accuracy_average" in metrics:
            line += f"  averaged {100 * metrics['val_accuracy_average']:.2f} %"
        return f"{line}  {metrics['seconds']:.1f} s"


class StepBar(keras.callbacks.Callback):  # type: ignore[misc]
    """A second progress bar for the steps within an epoch, for slow machines."""

    async_safe = True
    """Otherwise Keras waits for each step to end before it prepares the next."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Create a bar."""
        self.bar = tqdm(
            total=self.steps, unit="step", leave=False, disable=not sys.stderr.isatty(), file=sys.stderr, position=1
        )

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Advance the bar."""
        self.bar.update()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Remove the bar."""
        self.bar.close()


def _writer(folder: Path) -> Any:
    """Return TensorBoard's writer, which does not need TensorFlow; None if it is not installed."""
    try:
        from tensorboard.summary import Writer
    except ImportError:
        return None
    return Writer(str(folder))
