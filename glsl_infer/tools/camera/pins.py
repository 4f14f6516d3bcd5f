"""Switches pins of a Raspberry Pi: on while something is there."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from glsl_infer.errors import InputError, MissingExtraError, RunError
from glsl_infer.support.closing import Closing

MOST = 27
"""The last pin of the header, by the numbers of the processor (BCM)."""


class Pins(Closing):
    """Pins by the name of what switches them. Use it as a context manager, or ``close`` it: pins are off then.

    Args:
        numbers: BCM numbers by name; several names may have one.

    Raises:
        InputError: the package is not installed, or here are no such pins.
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
        for number in sorted(set(numbers.values())):
            try:
                self._pins[number] = gpiozero.DigitalOutputDevice(number)
            except (gpiozero.GPIOZeroError, OSError, ImportError, RuntimeError) as error:
                self.close()
                raise InputError(
                    f"--gpio {number}: there is no such pin ({error}); a Raspberry Pi has them, with Debian's packages "
                    "python3-gpiozero and python3-lgpio, for users in the group gpio"
                ) from None

    def changed(self, name: str, there: bool) -> None:
        """Switch the pin of a name; names without one are passed over.

        Raises:
            RunError: the pin cannot be switched.
        """
        if name not in self._numbers:
            return
        (self._there.add if there else self._there.discard)(name)
        number = self._numbers[name]
        on = any(self._numbers[other] == number for other in self._there)
        try:
            self._pins[number].value = on
        except (self._error, OSError) as error:
            raise RunError(f"--gpio {number}: cannot be switched ({error})") from None

    def close(self) -> None:
        """Switch all pins off and give them back; further calls do nothing."""
        for pin in self._pins.values():
            with contextlib.suppress(self._error, OSError):
                pin.off()  # closing alone makes it an input
            pin.close()
        self._pins = {}
