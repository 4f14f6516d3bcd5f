#!/usr/bin/env python3
"""Draw the packages of glsl_infer and the imports between them into docs/engineering/design.md.

    python scripts/docs/import_graph.py [--out docs/engineering/design.md]

The packages are ordered as in the contract "direction" in pyproject.toml, which ``make lint`` checks. Needs
import-linter, a dependency of the extra ``dev``.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

try:
    import grimp
    from importlinter.api import read_configuration
except ImportError:
    print("error: import-linter is not installed: pip install import-linter", file=sys.stderr)
    sys.exit(2)

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "glsl_infer"
BEGIN = "<!-- rooms: written by scripts/docs/import_graph.py -->"
END = "<!-- end of rooms -->"

Edges = Mapping[str, frozenset[str]]
"""The packages that each package imports directly."""


def layers() -> list[list[str]]:
    """Return the packages from top to bottom, as layers of packages that do not import each other."""
    contracts = read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"]
    direction = next(contract for contract in contracts if contract["id"] == "direction")
    return [line.split(" | ") for line in direction["layers"]]


def forbidden() -> set[tuple[str, str]]:
    """Return the pairs of packages whose import the contract "reader" forbids: (importer, imported)."""
    contracts = read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"]
    reader = next(contract for contract in contracts if contract["id"] == "reader")
    return set(itertools.product(*(map(_package, reader[key]) for key in ("source_modules", "forbidden_modules"))))


def imports(rooms: Sequence[str]) -> Edges:
    """Return the imports of each of these packages, including those for types only."""
    sys.path.insert(0, str(ROOT))
    try:
        graph = grimp.build_graph(PACKAGE, cache_dir=None)
    finally:
        sys.path.remove(str(ROOT))
    edges: dict[str, set[str]] = {package: set() for package in rooms}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            if _package(module) in edges and _package(imported) in edges and _package(module) != _package(imported):
                edges[_package(module)].add(_package(imported))
    return {package: frozenset(to) for package, to in edges.items()}


def shortest(edges: Edges) -> Edges:
    """Remove every import implied by other imports; the imports must have no cycle."""

    def reached(package: str) -> set[str]:
        return set(edges[package]).union(*(reached(below) for below in edges[package]))

    return {package: frozenset(to - set().union(*(reached(below) for below in to))) for package, to in edges.items()}


def section(rows: Sequence[Sequence[str]], edges: Edges, wrong: set[tuple[str, str]]) -> str:
    """Return the drawing and the list of packages.

    Args:
        rows: the packages from top to bottom.
        edges: the imports of each.
        wrong: imports forbidden by the contracts, some of which still exist; upward imports count as wrong without
            them.
    """
    order = [package for row in rows for package in row]
    depth = {package: index for index, row in enumerate(rows) for package in row}
    pairs = [(upper, lower) for upper in order for lower in order if lower in edges[upper]]
    removed = [(upper, lower) for upper, lower in pairs if depth[upper] >= depth[lower] or (upper, lower) in wrong]
    allowed = {upper: frozenset(lower for lower in edges[upper] if (upper, lower) not in removed) for upper in order}
    arrows = shortest(allowed)
    lines = ["```mermaid", "flowchart TD"]
    lines += [f"    {upper}-->{lower}" for upper, lower in pairs if lower in arrows[upper]]
    lines += [f"    {upper} -. to be removed .-> {lower}" for upper, lower in removed]
    lines += ["```", "", "An arrow is an import. It is left out where other arrows lead to the same room.", ""]
    lines += [f"- `{_path(package)}`: {_purpose(package)}" for package in order]
    return "\n".join(lines)


def page_with(page: str, text: str) -> str:
    """Return the page with the text between its two marks.

    Raises:
        ValueError: the page does not have the marks.
    """
    before, begin, remainder = page.partition(BEGIN)
    _, end, after = remainder.partition(END)
    if not begin or not end:
        raise ValueError(f"no section of rooms; put {BEGIN} and {END} where it belongs")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def new_page() -> str:
    """Return the section for the current code and pyproject.toml."""
    rows = layers()
    return section(rows, imports([package for row in rows for package in row]), forbidden())


def main() -> int:
    """Write the section; return the exit code."""
    parser = argparse.ArgumentParser(description="Draw the rooms of glsl_infer.", allow_abbrev=False)
    parser.add_argument(
        "--out", type=Path, default=ROOT / "docs/engineering/design.md", help="the page that has the section"
    )
    args = parser.parse_args()
    try:
        page = page_with(args.out.read_text("utf-8"), new_page())
        args.out.write_text(page, "utf-8")
    except (OSError, ValueError) as error:
        print(f"error: {args.out}: {error}", file=sys.stderr)
        return 2
    print(f"{args.out}: written")
    return 0


def _package(module: str) -> str:
    """Return the package of a module by its dotted name; for glsl_infer itself, its name."""
    return module.split(".")[1] if "." in module else module


def _path(package: str) -> str:
    return f"{package}/" if (ROOT / PACKAGE / package).is_dir() else f"{package}.py"


def _purpose(package: str) -> str:
    """Return the first paragraph of the package's docstring, with the names of its folders."""
    folder = ROOT / PACKAGE / package
    source = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    text = ast.get_docstring(ast.parse(source.read_text("utf-8"))) or ""
    first = re.sub(r"``([^`]*)``", r"`\1`", text.partition("\n\n")[0].replace("\n", " "))
    inside = sorted(path.parent.name for path in folder.glob("*/__init__.py"))
    return first + (f" Folders: {', '.join(f'`{name}/`' for name in inside)}." if inside else "")


if __name__ == "__main__":
    sys.exit(main())
