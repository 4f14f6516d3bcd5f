#!/usr/bin/env python3
"""Write the API reference from the docstrings, and check its internal links.

    make docs                                    # the same, with everything it needs, into build/api
    python scripts/docs/api_reference.py build/api    # build/api/index.html is where to begin

Needs pdoc (pip install pdoc), but neither a GPU nor TensorFlow: it leaves out modules that import Keras, and the
command line, which has its own reference. The exit code is 1 if a link is broken, 2 if the folder cannot be written.
"""

from __future__ import annotations

import argparse
import pkgutil
import re
import shutil
import sys
import tempfile
from html import unescape
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import glsl_infer  # noqa: E402
from glsl_infer.cli.execution import Parser, add_debug, execute  # noqa: E402
from glsl_infer.errors import InputError, MissingExtraError, RunError  # noqa: E402

LEFT_OUT = ("__main__", "cli", "importers")


def modules() -> list[str]:
    """Return the arguments of pdoc: the package, and the modules that pdoc does not find.

    If a package has ``__all__``, pdoc documents only the modules named there.
    """
    names = ["glsl_infer"]
    for module in pkgutil.walk_packages(glsl_infer.__path__, "glsl_infer."):
        parent, _, name = module.name.rpartition(".")
        listed = getattr(sys.modules[parent], "__all__", None)
        if module.name.split(".")[1] not in LEFT_OUT and listed is not None and name not in listed:
            names.append(module.name)
    return names


def write(folder: Path) -> int:
    """Write the pages into an empty folder; return the number of pages.

    Raises:
        MissingExtraError: pdoc is not installed.
    """
    try:
        import pdoc
    except ImportError as error:
        raise MissingExtraError.of("pdoc", "pdoc", "the API reference") from error
    pdoc.render.configure(docformat="google", show_source=False)
    pdoc.pdoc(*modules(), output_directory=folder)
    return len(list(folder.rglob("*.html")))


def broken_links(folder: Path) -> list[str]:
    """Return the links within a folder of pages that lead to a missing file or anchor, as "page: link"."""
    pages = {
        page.resolve(): re.sub(r"<script.*?</script>", "", page.read_text("utf-8"), flags=re.DOTALL)
        for page in folder.rglob("*.html")
    }
    anchors = {
        page: {unescape(anchor) for anchor in re.findall(r'\bid="([^"]+)"', text)} for page, text in pages.items()
    }
    broken = []
    for page, text in pages.items():
        for link in map(unescape, re.findall(r'\b(?:href|src)="([^"]*)"', text)):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            if anchor.endswith(".__init__"):
                anchor = anchor[: -len(".__init__")]  # pdoc links to constructors of abstract classes without text
            target = (page.parent / unquote(path)).resolve() if path else page
            if not target.exists() or (anchor and unquote(anchor) not in anchors.get(target, set())):
                broken.append(f"{page.relative_to(folder.resolve())}: {link}")
    return broken


def build(folder: Path) -> int:
    """Write the reference to ``folder``, replacing an older one; return the number of pages.

    Raises:
        InputError: the folder contains something else, or cannot be written.
        MissingExtraError: pdoc is not installed.
        RunError: a link is broken; an older reference stays as it is.
    """
    if folder.exists() and not (folder / "glsl_infer.html").is_file() and any(folder.iterdir()):
        raise InputError(f"{folder}: holds something else than an API reference; name an empty or a new folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as work:
            output = Path(work) / "made"
            pages = write(output)
            broken = broken_links(output)
            if broken:
                raise RunError("broken links in the API reference: " + ", ".join(broken))
            shutil.rmtree(folder, ignore_errors=True)
            output.rename(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from error
    return pages


def run(args: argparse.Namespace) -> None:
    """Build the reference."""
    print(f"{args.folder}/index.html: {build(args.folder)} pages, no broken link")


def main() -> int:
    """Parse the arguments, build, and return the exit code."""
    parser = Parser(description="Write the API reference from the docstrings.")
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "build/api", help="default: build/api")
    add_debug(parser)
    parser.set_defaults(run=run)
    return execute(parser, None)


if __name__ == "__main__":
    sys.exit(main())
