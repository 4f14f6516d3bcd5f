"""Events of labels, with hysteresis: ``camera --on LABEL COMMAND`` starts a command, and callbacks are called."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from glsl_infer.cli import arguments
from glsl_infer.errors import InputError
from glsl_infer.runtime.none_of_these import NONE
from glsl_infer.support.near_names import did_you_mean
from glsl_infer.support.plain_text import one_line
from glsl_infer.tools.camera.presence import APPEARED, Presence, Reaction

if TYPE_CHECKING:
    from glsl_infer.cli.camera_events import Listener
    from glsl_infer.runtime.classifier import Prediction

_MOST_LISTED = 10
"""Most labels that a message lists."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.group(parser, "Events").add_argument(
        "--on",
        nargs=2,
        action="append",
        default=[],
        metavar=("LABEL", "COMMAND"),
        help="Start COMMAND when LABEL has been the best label of several frames in a row (--appear-after, "
        "--leave-after). Can be repeated.",
    )


def require_labels(
    labels: Sequence[str], model: str | None, watched: Sequence[str] = (), pins: Mapping[str, int] | None = None
) -> None:
    """Refuse events of labels that the model does not have.

    Args:
        labels: labels of the model.
        model: file or name of the model in messages; None for the default model.
        watched: labels of ``--on``.
        pins: labels and pins of ``--gpio``.

    Raises:
        InputError: the model lacks labels. The message has all of them.
    """
    allowed = {*labels, NONE}
    requested = [(f"--on {label}", label) for label in watched]
    requested += [(f"--gpio {label}={pin}", label) for label, pin in (pins or {}).items()]
    unknown = [(option, label) for option, label in requested if label not in allowed]
    if not unknown:
        return
    options = ", ".join(f"{option}{did_you_mean(label, allowed)}" for option, label in unknown)
    command = "glsl-infer labels" if model is None else f"glsl-infer labels {shlex.quote(model)}"
    listing = (
        f"it has {', '.join(labels)}" if len(labels) <= _MOST_LISTED else f"{command} lists its {len(labels)} labels"
    )
    such = "no such label" if len(unknown) == 1 else "no such labels"
    raise InputError(f"{options}: {model or 'the model that comes with the package'} has {such}; {listing}")


class Watches:
    """Reactions to labels that appear and leave.

    Args:
        names: pairs of label and command.
        labels: labels of the model, with those of ``names`` and ``switched`` (``require_labels``).
        appear_after, leave_after: numbers of consecutive frames, as in ``Presence``.
        switched: labels with a pin.
        listeners: callbacks for events of watched labels.
        every: watch all labels of the model, except "none of these".

    Raises:
        InputError: a command is not valid.
    """

    def __init__(
        self,
        names: Sequence[Sequence[str]],
        labels: Sequence[str],
        appear_after: int,
        leave_after: int,
        *,
        switched: Sequence[str] = (),
        listeners: Sequence[Listener] = (),
        every: bool = False,
    ) -> None:
        self._reactions = [(label, Reaction(command, None, "--on")) for label, command in names]
        everything = [label for label in labels if label != NONE] if every else []
        watched = [*(label for label, _ in names), *switched, *everything]
        self._there = {label: Presence(appear_after, leave_after) for label in watched}
        self._listeners = listeners

    def saw(self, predictions: Sequence[Prediction]) -> list[str]:
        """React to a frame's predictions, best first; return the events as text."""
        best = predictions[0].label if predictions else None
        events = []
        for label, presence in self._there.items():
            event = presence.update(label == best)
            if event is None:
                continue
            events.append(f"{label} {event}")
            print(one_line(f"{label} {event}"), file=sys.stderr, flush=True)
            for listener in self._listeners:
                listener(label, event == APPEARED)
            for watched, reaction in self._reactions:
                if watched == label and event == APPEARED:
                    reaction.appeared(None)
        return events
