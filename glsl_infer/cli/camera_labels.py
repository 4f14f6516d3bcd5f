"""``camera --on LABEL COMMAND``: start a command when a label appears, with hysteresis."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from glsl_infer.errors import InputError
from glsl_infer.runtime.classifier import NONE
from glsl_infer.support.plain_text import one_line
from glsl_infer.tools.camera.presence import Presence, Reaction

if TYPE_CHECKING:
    from glsl_infer.runtime.classifier import Prediction


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the argument."""
    parser.add_argument(
        "--on",
        nargs=2,
        action="append",
        default=[],
        metavar=("LABEL", "COMMAND"),
        help="start COMMAND when LABEL has been the best label of several frames in a row (--appear-after, "
        "--leave-after); may be given several times",
    )


class Watches:
    """What is done when labels appear.

    Args:
        given: pairs of label and command.
        labels: of the model.
        model: names it in messages.
        appear_after, leave_after: frames in a row; see ``Presence``.

    Raises:
        InputError: the model has no such label, or a command is none; all of them at once.
    """

    def __init__(
        self, given: Sequence[Sequence[str]], labels: Sequence[str], model: str, appear_after: int, leave_after: int
    ) -> None:
        known = {*labels, NONE}
        unknown = [label for label, _ in given if label not in known]
        if unknown:
            raise InputError(
                f"--on {', '.join(unknown)}: {model} has no such label; it has {', '.join(labels[:20])}"
                + (f" and {len(labels) - 20} more" if len(labels) > 20 else "")
            )
        self._watches = [
            (label, Presence(appear_after, leave_after), Reaction(command, None, "--on")) for label, command in given
        ]

    def saw(self, predictions: Sequence[Prediction]) -> list[str]:
        """React to a frame's predictions, best first; return what happened, in words."""
        best = predictions[0].label if predictions else None
        events = []
        for label, presence, reaction in self._watches:
            event = presence.update(label == best)
            if event is not None:
                events.append(f"{label} {event}")
                print(one_line(f"{label} {event}"), file=sys.stderr, flush=True)
            if event == "appeared":
                reaction.appeared(None)
        return events
