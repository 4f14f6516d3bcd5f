"""The writers that ``faults.py`` interrupts: one function for each kind of output of the project.

    python scripts/bench/reliability/fault_writers.py NAME FOLDER old|new FIXTURES

writes one output into a folder. The old and the new version of every output differ.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

TEXTS = {"old": "first\n" * 3000, "new": "second, and longer\n" * 3000}


def text(folder: Path, version: str, _: Path) -> None:
    """Write text in the same way as reports, pages and results in JSON."""
    from glsl_infer.support.files import write_text

    write_text(folder / "out.txt", TEXTS[version])


def link(folder: Path, version: str, _: Path) -> None:
    """Do the same if the name is a symbolic link."""
    from glsl_infer.support.files import write_text

    (folder / "there").mkdir(exist_ok=True)
    if not (folder / "link.txt").is_symlink():
        (folder / "link.txt").symlink_to("there/out.txt")
    write_text(folder / "link.txt", TEXTS[version])


def copied(folder: Path, version: str, _: Path) -> None:
    """Write a file in the way of libraries that write to a path: a plot, a Keras model."""
    from glsl_infer.support.files import replacing

    with replacing(folder / "out.keras") as path:
        path.write_text(TEXTS[version])


def bundle(folder: Path, version: str, fixtures: Path) -> None:
    """Write an export."""
    from glsl_infer import bundle as bundles

    bundles.write(bundles.read(fixtures / f"{version}.glslnn"), folder / "out.glslnn")


def numbers(folder: Path, version: str, _: Path) -> None:
    """Write as ``run -o out.npz`` does."""
    import numpy as np

    from glsl_infer.cli.number_files import write_results

    count = len(TEXTS[version])
    write_results({"a": np.arange(count), "b": np.ones(5)}, folder / "out.npz")


def picture(folder: Path, version: str, _: Path) -> None:
    """Write as ``run -o out.png`` does."""
    import numpy as np

    from glsl_infer.runtime import images

    noise = np.random.default_rng(len(version + TEXTS[version])).integers(0, 255, (64, 64, 3))
    images.save(noise.astype(np.uint8), folder / "out.png")


def table(folder: Path, version: str, _: Path) -> None:
    """Write as ``classify --csv`` does."""
    from glsl_infer.cli.table_file import open_table

    with open_table(folder / "out.csv", ["file", "label"]) as rows:
        for index in range(4):
            rows.write([f"{index}.jpg", version])


def programs(folder: Path, version: str, _: Path) -> None:
    """Store compiled programs in the cache."""
    from glsl_infer.gl.program_binaries import Binary
    from glsl_infer.runtime.program_cache import ProgramCache

    ProgramCache(folder, "0" * 64).write({"a": Binary(1, TEXTS[version].encode())})


def verdict(folder: Path, version: str, _: Path) -> None:
    """Store a passed self-check."""
    from glsl_infer.runtime.verdicts import SELF_CHECK_FORMAT, SELF_CHECK_SUFFIX, Verdict

    if version == "new":
        Verdict(folder, "0" * 64, SELF_CHECK_SUFFIX, SELF_CHECK_FORMAT).keep()


def deployment(folder: Path, version: str, fixtures: Path) -> None:
    """Create the folder of a deployment."""
    from glsl_infer.tools.deploy.description import Deployment, Model
    from glsl_infer.tools.deploy.folder import make

    description = Deployment(models=(Model(name="model", source=f"{version}.glslnn"),), target="files")
    make(description, fixtures, folder / "out")


def careless(folder: Path, version: str, _: Path) -> None:
    """Write without syncing, which the project never does: a control that must be detected."""
    (folder / "out.tmp").write_text(TEXTS[version])
    (folder / "out.tmp").replace(folder / "out.txt")


def in_place(folder: Path, version: str, _: Path) -> None:
    """Write in place: another control."""
    (folder / "out.txt").write_text(TEXTS[version])


@dataclass(frozen=True)
class Writer:
    """Writer of one output.

    Attributes:
        run: called with the folder, the version and the fixtures.
        target: name of the output in the folder.
        optional: whether a failure is acceptable, because everything works without a cache.
    """

    run: Callable[[Path, str, Path], None]
    target: str
    optional: bool = False


WRITERS = {
    "text": Writer(text, "out.txt"),
    "link": Writer(link, "there/out.txt"),
    "copied": Writer(copied, "out.keras"),
    "bundle": Writer(bundle, "out.glslnn"),
    "numbers": Writer(numbers, "out.npz"),
    "picture": Writer(picture, "out.png"),
    "table": Writer(table, "out.csv"),
    "programs": Writer(programs, f"{'0' * 64}.programs", optional=True),
    "verdict": Writer(verdict, f"{'0' * 64}.passed", optional=True),
    "deployment": Writer(deployment, "out"),
}
CONTROLS = {"careless": Writer(careless, "out.txt"), "in_place": Writer(in_place, "out.txt")}


def main() -> int:
    """Write the output named by the arguments; return the exit code."""
    from glsl_infer.errors import GlslInferError

    name, folder, version, fixtures = sys.argv[1:]
    try:
        {**WRITERS, **CONTROLS}[name].run(Path(folder), version, Path(fixtures))
    except (GlslInferError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
