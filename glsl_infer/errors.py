"""Every exception that glsl_infer raises on purpose.

    GlslInferError                 catch this one to catch them all
    ├── InputError                 what was given cannot be used; the command line exits with 2
    │   ├── BundleError            a model file that is missing, damaged, foreign or too new
    │   ├── ImageError             a picture that cannot be read
    │   ├── ForeignRangesError     a file of ranges of another network
    │   ├── ModelError             a Keras model, or one of its layers, that cannot be exported
    │   ├── ContextError           no OpenGL ES 2.0 context can be made on this machine
    │   ├── LimitError             the driver's limits are too small for the model
    │   └── MissingExtraError      an optional dependency is not installed
    └── RunError                   it should have worked; the command line exits with 1
        ├── ShaderError            the driver refused a shader
        ├── GlError                the driver reported an error
        └── SelfCheckError         the driver computed something else than the reference

Messages are for the person who reads them: what was given, what is allowed, what to do.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path


class GlslInferError(Exception):
    """Base of all exceptions of this package."""

    exit_code: int = 1


class InputError(GlslInferError):
    """What was given cannot be used; saying what can."""

    exit_code = 2


def together(problems: Sequence[InputError]) -> InputError:
    """Return one error for several: the only one itself, or one whose message lists them all.

    Of several, one about a model makes it a ``ModelError``.
    """
    if len(problems) == 1:
        return problems[0]
    lines = [line for problem in problems for line in str(problem).split("\n  ")]
    kind = ModelError if any(isinstance(problem, ModelError) for problem in problems) else InputError
    return kind("\n  ".join([f"{len(lines)} problems:", *lines]))


class BundleError(InputError):
    """A ``.glslnn`` file that is missing, damaged, foreign or too new.

    Attributes:
        rule: short name of the rule of bundle-format.md that the file breaks (``bundle.rules.RULES``); None where
            the file was not read at all.
    """

    def __init__(self, message: str, rule: str | None = None) -> None:
        super().__init__(message)
        self.rule = rule


class ImageError(InputError):
    """A picture that cannot be read or has the wrong shape."""


class ForeignRangesError(InputError):
    """Ranges of another network."""


class ModelError(InputError):
    """A model, or one of its layers, that cannot be exported.

    Attributes:
        name: of the layer; None where the message is about the model as a whole.
        given: what about the layer cannot be exported.
        advice: what to do instead; the message has all three.
        refused: name of the layer where shaders cannot do it, though NumPy could; else None.
    """

    name: str | None = None
    given: str = ""
    advice: str = ""
    refused: str | None = None

    @classmethod
    def layer(cls, name: str, given: str, advice: str) -> ModelError:
        """Build the message about one layer: its name, what was given, and what to do."""
        error = cls(f"layer '{name}': {given}; {advice}")
        error.name, error.given, error.advice = name, given, advice
        return error


class ContextError(InputError):
    """No OpenGL ES 2.0 context can be made on this machine.

    Attributes:
        reason: why, without the advice.
        advice: what to install or to set, if anything helps; the message is both.
    """

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(f"{reason}; {advice}" if advice else reason)
        self.reason, self.advice = reason, advice


class LimitError(InputError):
    """The driver's limits are too small for the model."""


class MissingExtraError(InputError):
    """An optional dependency is not installed."""

    @classmethod
    def of(cls, package: str, pip_names: str, purpose: str) -> MissingExtraError:
        """Build the message that names the pip command.

        Args:
            package: what is missing, as people call it.
            pip_names: what pip is to install; never this project by its name, which on an index may be anybody's.
            purpose: what needs it.
        """
        return cls(f"{purpose} needs {package}, which is not installed; install it: {pip_install(pip_names)}")


class RunError(GlslInferError):
    """Something failed that should have worked."""


class ShaderError(RunError):
    """The driver refused to compile or link a shader; the message has the layer and the driver's log."""


class GlError(RunError):
    """The driver reported an OpenGL error."""


class SelfCheckError(RunError):
    """The driver computed something else than the reference."""


def pip_install(pip_names: str) -> str:
    """Return the command that installs packages for the Python that runs this process.

    It names that Python, because the ``pip`` on the PATH may belong to another one, and Debian's refuses.

    Args:
        pip_names: arguments for pip, quoted for a shell.
    """
    import shlex  # a start without an error does without it

    python = Path(sys.executable) if sys.executable else Path("python3")
    with contextlib.suppress(OSError, ValueError):
        python = python.relative_to(Path.cwd())
    return f"{shlex.quote(str(python))} -m pip install {pip_names}"


def with_article(word: str) -> str:
    """Return "a word", or "an" in front of a vowel."""
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"
