#!/usr/bin/env python3
"""Compile convolutions of many shapes for a VideoCore IV, and list those without enough registers or with one thread.

    python scripts/vc4/convolutions.py --every 6                     # one batch of six
    python scripts/vc4/convolutions.py --processes 16 --write        # all 540, into tests/vc4/convolutions*.json
    python scripts/vc4/convolutions.py --batches 20 28-39 --write    # some; the table keeps its other rows
    python scripts/vc4/convolutions.py --mesa 22 --shard 1/4 --out part1.json    # a fourth, on one of four machines
    python scripts/vc4/convolutions.py --mesa 22 --merge part*.json --write

Each version of Mesa found by ``glsl-infer vc4`` compiles all, and has a separate table. ``convolution_cases.py``
selects the convolutions. Each reads a different map and writes two or three slices. Ends with 1 if a shader fails, or
has one thread, without a reason in ``REASONS``.
"""

# ruff: noqa: E402
from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import repeat
from pathlib import Path
from unittest import mock

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np
from convolution_cases import SEED, Batch, batches, network

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.compiler.build import Options, build
from glsl_infer.errors import GlslInferError
from glsl_infer.lowering import weight_bytes
from glsl_infer.lowering.weights_plan import LONGEST_ARRAY
from glsl_infer.program import CompiledNetwork
from glsl_infer.tools import videocore as vc4
from glsl_infer.tools.videocore import Driver
from glsl_infer.tools.videocore.driver import RELEASES
from glsl_infer.tools.videocore.transcript import Measured

TABLE = ROOT / "tests/vc4/convolutions.json"
"""The results of Mesa 22; ``table`` returns the file of another version."""

SIXTEEN = "texture-16"
"""Weights of 16 bits in a texture, even if 8 would suffice."""

REASONS: dict[str, str] = {}
"""Accepted reasons for a failure or a single thread, by the case's name."""


@dataclass(frozen=True)
class Result:
    """Compiled form of a case: passes for each output slice, and the driver's report on its longest program.

    Attributes:
        weights: storage of its weights.
        ratio: instructions times pixels, relative to the lower bound; None without a bound (``videocore.floor``).
        reason: accepted reason of a failure or a single thread.
    """

    name: str
    size: int
    activation: str
    weights: str
    passes: float
    instructions: int
    fetches: int
    threads: int
    temporaries: int
    ratio: float | None
    failure: str
    reason: str

    @property
    def is_bad(self) -> bool:
        """True for a failure or a single thread without an accepted reason."""
        return (bool(self.failure) or self.threads < 2) and not self.reason


def compile_with_each(
    batch: Batch, drivers: Sequence[Driver], uniform_vectors: int, folder: Path
) -> dict[str, list[Result]]:
    """Compile the convolutions of a batch; return the results of each version of Mesa."""
    weights = batch.cases[0].weights
    picture = np.random.default_rng(0).integers(0, 256, (batch.size, batch.size, 3), np.uint8)
    options = Options(
        weights=weights.removesuffix("-16"), memory="naive", uniform_vectors=uniform_vectors, precision="8"
    )
    with mock.patch.object(weight_bytes, "MOST_NOISE", 0.0 if weights == SIXTEEN else np.inf):
        bundle, program, _ = build(network(batch), (), options=options, calibration=[picture])
    path = folder / "convolutions.glslnn"
    bundles.write(bundle, path)
    return {driver.mesa: _results(batch, bundle, program, vc4.measure(path, driver)[1]) for driver in drivers}


def _results(batch: Batch, bundle: Bundle, program: CompiledNetwork, measured: Measured) -> list[Result]:
    rows = {row.layer: row for row in vc4.report(bundle, measured).rows}
    results = []
    for case in batch.cases:
        names = (case.name, f"{case.name}-products")
        passes = [draw for draw in bundle.manifest.passes if draw.layer in names]
        programs = list(dict.fromkeys(draw.program for draw in passes))
        shaders = [measured.programs[name] for name in programs if name in measured.programs]
        longest = max(shaders, key=lambda shader: shader.instructions, default=None)
        failures = [measured.failures[name] for name in programs if name in measured.failures]
        choice = program.choices.get(case.name)
        slices = -(-program.graph.shapes[case.name][2] // 4)
        floor = rows[names[0]].least_total if choice is not None else None
        results.append(
            Result(
                name=case.name,
                size=batch.size,
                activation=case.activation,
                weights="partial sums" if choice is None else choice.mode,
                passes=len(passes) / slices,
                instructions=longest.instructions if longest else 0,
                fetches=longest.fetches if longest else 0,
                threads=min((shader.threads for shader in shaders if shader.fetches), default=0),
                temporaries=longest.temporaries if longest else 0,
                ratio=round(rows[names[0]].total / floor, 3) if floor else None,
                failure=failures[0] if failures else "",
                reason=REASONS.get(case.name, ""),
            )
        )
    return results


def table(mesa: str) -> Path:
    """Return the table of a version of Mesa."""
    return TABLE if mesa == "22" else TABLE.with_name(f"convolutions-{mesa}.json")


def _compile_in_temporary_folder(
    batch: Batch, drivers: Sequence[Driver], uniform_vectors: int
) -> dict[str, list[Result]]:
    with tempfile.TemporaryDirectory() as folder:
        return compile_with_each(batch, drivers, uniform_vectors, Path(folder))


def read(path: Path) -> list[Result]:
    """Return the rows of a table."""
    return [Result(**row) for row in json.loads(path.read_text("utf-8"))]


def as_json(results: Sequence[Result]) -> str:
    """Return a table as JSON, a row a line."""
    rows = ",\n".join(json.dumps(asdict(result)) for result in sorted(results, key=lambda result: _index(result.name)))
    return f"[\n{rows}\n]\n"


def _index(name: str) -> int:
    return int(name[1:].partition("-")[0])


def measure(
    chosen: Sequence[Batch], drivers: Sequence[Driver], uniform_vectors: int, processes: int
) -> dict[str, list[Result]]:
    """Compile batches in parallel processes, and print each when it is done; return the results of each Mesa."""
    results: dict[str, list[Result]] = {driver.mesa: [] for driver in drivers}
    with ProcessPoolExecutor(processes) as pool:
        for results_of_batch in pool.map(
            _compile_in_temporary_folder, chosen, repeat(drivers), repeat(uniform_vectors)
        ):
            for mesa, rows in results_of_batch.items():
                print_rows(rows, mesa)
                results[mesa] += rows
    return results


def print_rows(results: Sequence[Result], mesa: str) -> None:
    """Print a line for each result."""
    for result in results:
        counts = (result.instructions, result.fetches, result.threads, result.temporaries)
        ratio = "-" if result.ratio is None else f"{result.ratio:.2f}"
        failure = result.failure and f" {result.failure} {result.reason}"
        print(
            f"{result.name:36} {mesa:>4} {result.size:4} {result.weights:>12} {result.passes:6.1f}",
            *(f"{count:6}" for count in counts),
            f"{ratio:>6}{failure}",
            flush=True,
        )


def shard(text: str) -> tuple[int, int]:
    """Parse ``--shard``: the number of the shard, from 1, and of all shards."""
    shard_text, _, count = text.partition("/")
    if not (shard_text.isdigit() and count.isdigit() and 1 <= int(shard_text) <= int(count)):
        raise argparse.ArgumentTypeError(f"'{text}'; write the number of the part and of all, as 1/4")
    return int(shard_text), int(count)


def batch_range(text: str) -> range:
    """Parse an argument of ``--batches``: one number, or the first and the last."""
    first, dash, last = text.partition("-")
    if not (first.isdigit() and (last.isdigit() if dash else not last)):
        raise argparse.ArgumentTypeError(f"'{text}'; write the number of a batch, or two as 28-39")
    return range(int(first), int(last or first) + 1)


def merge_rows(results: Sequence[Result], path: Path) -> list[Result]:
    """Add rows to a table, in place of rows of the same convolutions, and drop convolutions no longer selected."""
    selected = {case.name for batch in batches() for case in batch.cases}
    rows = {row.name: row for row in read(path)} if path.exists() else {}
    rows |= {result.name: result for result in results}
    return [row for name, row in rows.items() if name in selected]


def main() -> int:
    """Compile, print; return the exit code."""
    parser = argparse.ArgumentParser(description="Compile many convolutions for a VideoCore IV.", allow_abbrev=False)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one batch of N")
    parser.add_argument(
        "--batches", type=batch_range, nargs="+", metavar="N", help="these, by number from 0, as 20 28-39"
    )
    parser.add_argument("--seed", type=int, default=SEED, help="other convolutions than the table's (default: its own)")
    parser.add_argument("--shard", type=shard, default=(1, 1), metavar="I/N", help="part I of N")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="batches at a time")
    parser.add_argument("--uniform-vectors", type=int, default=LONGEST_ARRAY, help="see glsl-infer export")
    parser.add_argument("--driver", type=Path, metavar="DIR", help="folder of Mesa's vc4 driver and shim")
    parser.add_argument("--mesa", choices=RELEASES, help="default: each that is there")
    parser.add_argument("--merge", type=Path, nargs="+", default=[], metavar="FILE", help="take these tables instead")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table as JSON")
    parser.add_argument("--write", action="store_true", help="into the version's table, rows of others kept")
    args = parser.parse_args()
    if (args.merge or args.out) and args.mesa is None:
        parser.error("--merge and --out are of one table; choose it by --mesa")
    if args.write and args.seed != SEED:
        parser.error(f"--write is for the table's own convolutions; leave out --seed {args.seed}")
    by_mesa: dict[str, list[Result]] = {}
    try:
        if args.merge:
            by_mesa[args.mesa] = [result for path in args.merge for result in read(path)]
        else:
            shard_number, shards = args.shard
            requested = None if args.batches is None else {number for span in args.batches for number in span}
            candidates = [
                batch for number, batch in enumerate(batches(args.seed)) if requested is None or number in requested
            ]
            chosen = candidates[:: args.every][shard_number - 1 :: shards]
            heads = ("weights", "passes", "inst", "fetch", "thr", "temps", "floor")
            drivers = vc4.find_all(args.driver, args.mesa)
            print(f"{'convolution':36} mesa {'size':>4} {heads[0]:>12}", *(f"{head:>6}" for head in heads[1:]))
            by_mesa = measure(chosen, drivers, args.uniform_vectors, args.processes)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    for mesa, results in by_mesa.items():
        if args.write:
            table(mesa).write_text(as_json(merge_rows(results, table(mesa))), "utf-8")
        elif args.out is not None:
            args.out.write_text(as_json(results), "utf-8")
        bad = [result.name for result in results if result.is_bad]
        print(
            f"Mesa {mesa}: {len(results)} convolutions, {len(bad)} of them fail or have one thread: "
            f"{', '.join(bad) or 'none'}"
        )
    return int(any(result.is_bad for results in by_mesa.values() for result in results))


if __name__ == "__main__":
    sys.exit(main())
