"""``camera --mqtt URL`` and ``--gpio PIN``: notifications when a label or a result appears and leaves."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from pathlib import Path

from glsl_infer.cli import arguments
from glsl_infer.errors import InputError
from glsl_infer.tools.camera import mqtt, pins

Listener = Callable[[str, bool], None]
"""Callback with the name of a label or result, and whether it is now present."""

OF_TASK = ""
"""Name of the pin for any result of a task."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    events = arguments.group(parser, "Events")
    events.add_argument(
        "--mqtt",
        metavar="URL",
        help="Publish a retained ON when a label or a result of the task appears, and OFF when it leaves, to "
        f"TOPIC/NAME: mqtt://[USER@]HOST[:PORT]/TOPIC. The password is read from the variable {mqtt.PASSWORD}. Needs "
        "the package paho-mqtt.",
    )
    events.add_argument(
        "--gpio",
        action="append",
        default=[],
        metavar="[LABEL=]PIN",
        help=f"Switch on a pin of a Raspberry Pi (0 to {pins.MAX_PIN}, BCM) while LABEL or a result of the task is "
        "there. Needs gpiozero. Can be repeated.",
    )


def pins_of(args: argparse.Namespace) -> dict[str, int]:
    """Return the pin of each label, or of ``OF_TASK``.

    Raises:
        InputError: a pin is not valid.
    """
    pin_names: dict[str, int] = {}
    for argument in args.gpio:
        label, _, pin = argument.rpartition("=")
        if not pin.isdecimal() or int(pin) > pins.MAX_PIN:
            raise InputError(f"--gpio {argument}; give [LABEL=]PIN, a pin from 0 to {pins.MAX_PIN} by its BCM number")
        if args.task is not None and label:
            raise InputError(f"--gpio {argument}: a task has no labels; give --gpio {pin}")
        if args.task is None and not label:
            raise InputError(f"--gpio {argument}: the label is missing; give --gpio LABEL={pin}")
        if label in pin_names:
            raise InputError(f"--gpio {argument}: {f'{label} has' if label else 'the task has'} a pin already")
        pin_names[label] = int(pin)
    return pin_names


def check(args: argparse.Namespace) -> None:
    """Refuse invalid arguments.

    Raises:
        InputError: an argument is not valid.
    """
    pins_of(args)
    if args.mqtt is not None:
        mqtt.address_of(args.mqtt)


def opened(args: argparse.Namespace, stack: contextlib.ExitStack) -> list[Listener]:
    """Return the callbacks for events. ``stack`` closes their resources.

    Raises:
        InputError: the pin does not exist, or a package is missing.
        RunError: the broker cannot be reached.
    """
    listeners: list[Listener] = []
    if args.gpio:
        listeners.append(stack.enter_context(pins.Pins(pins_of(args))).changed)
    if args.mqtt is not None:
        broker = stack.enter_context(mqtt.Broker(args.mqtt))
        listeners.append(lambda name, present: broker.changed(name or Path(args.task).stem, present))
    return listeners
