"""Every exception that glsl_infer raises on purpose.

    GlslInferError                 base class of all others
    ├── InputError                 unusable input; the command line exits with 2
    │   ├── BundleError            missing, damaged or foreign model file, or one of a newer version
    │   ├── ImageError             image that cannot be read
    │   ├── ForeignRangesError     file with the ranges of another network
    │   ├── ModelError             model or layer that cannot be exported
    │   ├── ContextError           no OpenGL ES 2.0 context on this machine
    │   ├── LimitError             limits of the driver that are too small for the model
    │   └── MissingExtraError      optional dependency that is not installed
    └── RunError                   failure with valid input; the command line exits with 1
        ├── ShaderError            shader refused by the driver
        ├── GlError                error reported by the driver
        └── SelfCheckError         result of the driver that differs from the reference

A message names the wrong input, the allowed input, and the command or option that fixes it.
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
    """Unusable input. The message has the allowed input."""

    exit_code = 2


def together(problems: Sequence[InputError]) -> InputError:
    """Return the only error itself, or one error whose message lists all of them.

    The result is a ``ModelError`` if one of several is.
    """
    if len(problems) == 1:
        return problems[0]
    lines = [line for problem in problems for line in str(problem).split("\n  ")]
    error_class = ModelError if any(isinstance(problem, ModelError) for problem in problems) else InputError
    return error_class("\n  ".join([f"{len(lines)} problems:", *lines]))


class BundleError(InputError):
    """Missing, damaged or foreign ``.glslnn`` file, or one of a newer version.

    Attributes:
        rule: short name of the broken rule of bundle-format.md (``bundle.rules.RULES``); None if the file was not read.
    """

    def __init__(self, message: str, rule: str | None = None) -> None:
        super().__init__(message)
        self.rule = rule


class ImageError(InputError):
    """Image that cannot be read or has the wrong shape."""


class ForeignRangesError(InputError):
    """Ranges of another network."""


class ModelError(InputError):
    """Model or layer that cannot be exported. The message has the name, the property and the advice.

    Attributes:
        name: of the layer; None for an error of the entire model.
        problem: the property of the layer that cannot be exported.
        advice: how to change the model, or an option to use.
        refused: name of the layer if only shaders cannot compute it and NumPy can; else None.
    """

    name: str | None = None
    problem: str = ""
    advice: str = ""
    refused: str | None = None

    @classmethod
    def layer(cls, name: str, problem: str, advice: str) -> ModelError:
        """Return the error of a layer from its name, the property that cannot be exported, and advice."""
        error = cls(f"layer '{name}': {problem}; {advice}")
        error.name, error.problem, error.advice = name, problem, advice
        return error


class ContextError(InputError):
    """No OpenGL ES 2.0 context can be created on this machine. The message has the reason and the advice.

    Attributes:
        reason: the cause.
        advice: packages to install or variables to set; empty if neither helps.
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
        """Return the error of a missing package, with the pip command to install it.

        Args:
            package: usual name of the package.
            pip_names: packages to install. Never the name of this project, which on an index can be another project's.
            purpose: the feature that needs the package.
        """
        return cls(f"{purpose} needs {package}, which is not installed; install it: {pip_install(pip_names)}")


class RunError(GlslInferError):
    """Failure with valid input."""


class ShaderError(RunError):
    """The driver refused to compile or link a shader; the message has the layer and the driver's log."""


class GlError(RunError):
    """The driver reported an OpenGL error."""


class SelfCheckError(RunError):
    """The driver's result differs from the reference."""


def pip_install(pip_names: str) -> str:
    """Return the command that installs packages for the Python that runs this process.

    It names that Python, because the ``pip`` on the PATH can belong to another one, and Debian's refuses.

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
