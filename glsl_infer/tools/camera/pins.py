"""Pins of a Raspberry Pi, switched on while a name is present."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from glsl_infer.errors import InputError, MissingExtraError, RunError
from glsl_infer.support.closing import Closing

MAX_PIN = 27
"""Highest pin of the header, in BCM numbering."""


class Pins(Closing):
    """Output pins by name. Use it as a context manager, or ``close`` it, which switches them off.

    Args:
        numbers: BCM numbers by name; several names can share one.

    Raises:
        InputError: the package is not installed, or the machine does not have the pins.
    """

    def __init__(self, numbers: Mapping[str, int]) -> None:
        try:
            import gpiozero
        except ImportError:
            raise MissingExtraError.of("gpiozero (Debian: python3-gpiozero)", "gpiozero", "--gpio") from None
        self._numbers = dict(numbers)
        self._there: set[str] = set()
        self._pins: dict[int, Any] = {}
        self._error = gpiozero.GPIOZeroError
        for name, pin in sorted(numbers.items(), key=itemgetter(1)):
            if pin in self._pins:
                continue
            try:
                with warnings.catch_warnings():  # one for each library that is missing; the error names the packages
                    warnings.simplefilter("ignore", gpiozero.PinFactoryFallback)
                    self._pins[pin] = gpiozero.DigitalOutputDevice(pin)
            except (gpiozero.GPIOZeroError, OSError, ImportError, RuntimeError) as error:
                self.close()
                raise InputError(
                    f"--gpio {_argument(name, pin)}: no such pin ({error}); a Raspberry Pi has them, with Debian's "
                    "packages python3-gpiozero and python3-lgpio, for users in the group gpio"
                ) from None

    def changed(self, name: str, present: bool) -> None:
        """Switch the pin of a name; names without one are ignored.

        Raises:
            RunError: the pin cannot be switched.
        """
        if name not in self._numbers:
            return
        (self._there.add if present else self._there.discard)(name)
        pin = self._numbers[name]
        on = any(self._numbers[label] == pin for label in self._there)
        try:
            self._pins[pin].value = on
        except (self._error, OSError) as error:
            raise RunError(f"--gpio {_argument(name, pin)}: cannot be switched ({error})") from None

    def close(self) -> None:
        """Switch all pins off and release them; further calls do nothing."""
        for pin in self._pins.values():
            with contextlib.suppress(self._error, OSError):
                pin.off()  # closing alone makes it an input
            pin.close()
        self._pins = {}


def _argument(name: str, pin: int) -> str:
    """Return the argument of ``--gpio`` for a pin. The name is empty for any result of a task."""
    return f"{name}={pin}" if name else str(pin)
