"""Runs over many images: output files, a table, a summary, and handling of unreadable images."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from glsl_infer.cli import arguments, progress
from glsl_infer.cli.table_file import check_table, open_table
from glsl_infer.cli.terminal_text import say_error
from glsl_infer.errors import ImageError, InputError
from glsl_infer.runtime.pictures import paths
from glsl_infer.support.files import output_file
from glsl_infer.support.plain_text import one_line

if TYPE_CHECKING:
    from glsl_infer.cli.table_file import TableFile

Result = TypeVar("Result")


def add_arguments(parser: argparse.ArgumentParser, row: str) -> None:
    """Declare ``--out-dir`` and ``--csv``.

    Args:
        parser: the parser of the command.
        row: the content of the table.
    """
    output = arguments.group(parser, "Output")
    output.add_argument(
        "--out-dir", type=Path, metavar="DIR", help="Write a file for each image to this folder, by the image's name."
    )
    output.add_argument("--csv", type=Path, metavar="FILE.csv", help=f"Write {row} instead of printing lines.")


def files_of(args: argparse.Namespace, inputs: Sequence[Path], *, also: Sequence[str] = ()) -> list[Path]:
    """Return the images among files and folders, except those in ``--out-dir``.

    Args:
        args: with ``out``, ``out_dir`` and ``csv``.
        inputs: files and folders.
        also: suffixes of other files in folders to return.

    Raises:
        InputError: none of the files is an image, or the options do not match their number.
    """
    files = paths.find(inputs, also=also)
    if args.out is not None and args.out_dir is not None:
        raise InputError("--out and --out-dir cannot be used together; leave one out")
    if args.out is not None and (len(files) != 1 or args.csv is not None):
        many = "--csv" if len(files) == 1 else f"{len(files)} images"
        raise InputError(f"--out {args.out} is for one image; with {many}, give --out-dir DIR")
    if args.csv is not None:
        check_table(args.csv)
    if args.out_dir is None:
        return files
    if args.out_dir.exists() and not args.out_dir.is_dir():
        raise InputError(f"--out-dir {args.out_dir}: is not a folder; name another one")
    out_dir, folders = args.out_dir.resolve(), {path.resolve() for path in inputs}
    if out_dir in folders:
        raise InputError(f"--out-dir {args.out_dir}: is the folder of the images; name another folder")
    if folders.isdisjoint(out_dir.parents):
        return files
    return [path for path in files if out_dir not in path.resolve().parents]  # an earlier run's results


class Batch:
    """Results of many images.

    Args:
        args: with ``command``, ``out``, ``out_dir`` and ``debug``.
        paths: files and folders, as in ``files_of``.
        files: the images.
        table: receives a row for each result; None without ``--csv``.

    Attributes:
        failed: the number of unreadable images.
        written: the number of files that ``target`` has named.
    """

    def __init__(
        self,
        args: argparse.Namespace,
        paths: Sequence[Path],
        files: Sequence[Path],
        table: TableFile | None,
    ) -> None:
        self._args, self._files, self._table = args, files, table
        self._folders = [path for path in paths if path.is_dir()]
        self._sources = set() if args.out_dir is None else {path.resolve() for path in files}
        self._names: set[Path] = set()
        self.failed = self.written = 0

    def results(self, compute: Callable[[Path], Result]) -> Iterator[tuple[Path, Result]]:
        """Yield every image with its result. Unreadable images are reported and skipped.

        Raises:
            ImageError: with ``--debug``, for the first unreadable image.
        """
        for path in progress.bar(self._files, "images", self._args.command):
            try:
                result = compute(path)
            except ImageError as error:
                if self._args.debug:
                    raise
                self.failed += 1
                say_error(one_line(error))
                reason = str(error).replace(f"{path}: ", "", 1)
                self.row([path, reason])
                continue
            yield path, result

    def row(self, cells: Sequence[object]) -> None:
        """Write a row, if there is a table."""
        if self._table is not None:
            self._table.write(cells)

    def target(self, path: Path, suffix: str = "") -> Path | None:
        """Return the file to write the result of an image to; None without ``--out`` and ``--out-dir``.

        Args:
            path: the image.
            suffix: suffix of the file; default: the image's own.

        Raises:
            InputError: the file cannot be written.
        """
        if self._args.out is not None:
            self.written += 1
            return Path(self._args.out)
        if self._args.out_dir is None:
            return None
        folder = next((folder for folder in self._folders if folder in path.parents), path.parent)
        name = path.relative_to(folder)
        name = name.with_suffix(suffix) if suffix else name
        if name in self._names:  # a.jpg and a.png, or two folders with an a.jpg each
            name = name.with_name(f"{path.name}{name.suffix}")
        stem, copy = name.stem, 2
        while name in self._names:
            name, copy = name.with_name(f"{stem}-{copy}{name.suffix}"), copy + 1
        self._names.add(name)
        target: Path = self._args.out_dir / name
        if target.resolve() in self._sources:
            raise InputError(f"--out-dir {self._args.out_dir}: {target} is one of the images; name another folder")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{target.parent}: cannot be created ({error.strerror}); name another folder with --out-dir"
            ) from None
        self.written += 1
        return output_file(target)

    def summary(self, *counts: str) -> None:
        """With ``--csv`` or ``--out-dir``, print the number of images, counts of the command, and the outputs."""
        if self._args.csv is None and self._args.out_dir is None:
            return
        destinations = [] if self._args.csv is None else [str(self._args.csv)]
        if self._args.out_dir is not None:
            destinations.append(f"{self.written} {'file' if self.written == 1 else 'files'} in {self._args.out_dir}")
        images = f"{len(self._files)} {'image' if len(self._files) == 1 else 'images'}"
        print(one_line(f"{images}: {', '.join([*counts, f'{self.failed} cannot be read'])}; {', '.join(destinations)}"))


@contextlib.contextmanager
def opened(
    args: argparse.Namespace, paths: Sequence[Path], files: Sequence[Path], head: Sequence[str]
) -> Iterator[Batch]:
    """Yield a batch, with a table for ``--csv``.

    Args:
        args: with ``csv``, and as in ``Batch``.
        paths: as in ``Batch``.
        files: as in ``Batch``.
        head: names of the table's columns after file and error.
    """
    with contextlib.ExitStack() as stack:
        table = None if args.csv is None else stack.enter_context(open_table(args.csv, ["file", "error", *head]))
        yield Batch(args, paths, files, table)
