"""The files of ``glsl-infer inspect``: ``--html``, a page, and ``--onnx-view``, a graph for ONNX viewers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.cli import progress
from glsl_infer.errors import GlslInferError, InputError
from glsl_infer.support import files

if TYPE_CHECKING:
    import argparse

    from glsl_infer.bundle import Bundle
    from glsl_infer.tools.inspect.layers import Inspected
    from glsl_infer.tools.videocore.report import Report


def check(args: argparse.Namespace) -> None:
    """Refuse other file names, so that the model is never overwritten, and locations that are not writable.

    Raises:
        InputError: a file is refused. The message names the option.
    """
    wanted = (("--html", args.html, (".html", ".htm")), ("--onnx-view", args.onnx_view, (".onnx",)))
    for option, path, suffixes in wanted:
        if path is None:
            continue
        files.check_output(path, *suffixes, option=option)
        if path.resolve() == args.model.resolve():
            raise InputError(f"{option} {path} is the model itself; name another file")


def write_of_bundle(args: argparse.Namespace, bundle: Bundle) -> list[str]:
    """Write the requested files of a bundle; return their names."""
    written = []
    if args.html is not None:
        from glsl_infer.tools.inspect.bundle_page import bundle_page

        page = bundle_page(bundle, *_cost(args.model))
        written.append(_written(args.html, page.encode()))
    if args.onnx_view is not None:
        from glsl_infer.tools.inspect.onnx_view import onnx_view

        written.append(_written(args.onnx_view, onnx_view(bundle)))
    return written


def write_of_model(args: argparse.Namespace, inspected: Inspected) -> list[str]:
    """Write the page of a model to export, if requested; return its name."""
    if args.html is None:
        return []
    from glsl_infer.tools.inspect.model_page import model_page

    return [_written(args.html, model_page(inspected).encode())]


def _written(path: Path, data: bytes) -> str:
    files.write_output(path, data)
    return str(path)


def _cost(path: Path) -> tuple[Report | None, str]:
    """Return the report of VideoCore IV's compiler on a bundle, or the reason why it is missing."""
    from glsl_infer.tools.videocore import driver
    from glsl_infer.tools.videocore.file_report import file_report

    try:
        return file_report(path, driver.find(), watch=progress.bar), ""
    except GlslInferError as error:
        return None, f"What shaders cost is left out: {error}"
