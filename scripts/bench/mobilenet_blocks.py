#!/usr/bin/env python3
"""The blocks of MobileNet 1.0 at 224x224 on this machine's driver, beside another checkout's engine, in turn.

    git worktree add /tmp/before COMMIT
    python scripts/bench/mobilenet_blocks.py /tmp/before --rounds 5
    python scripts/bench/mobilenet_blocks.py /tmp/before --uniform-vectors 600 --draw-cost 5    # as for a desktop

For engines that make a file of the whole network that no reader takes. A block is a 3x3 depthwise convolution and the
1x1 convolution behind it. It is a network with what makes its input from a picture and with what makes a vector of one
of its pixels; a network of these alone is drawn after it, and its time taken off, as MobileNet has neither. Weights are
random. Each engine exports by its own default, in a process of its own, and both draw frames in turn. The last line
adds up the blocks as often as MobileNet has them.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = {  # pixels of a side, channels in, channels out, stride: how often
    (112, 32, 64, 1): 1,
    (112, 64, 128, 2): 1,
    (56, 128, 128, 1): 1,
    (56, 128, 256, 2): 1,
    (28, 256, 256, 1): 1,
    (28, 256, 512, 2): 1,
    (14, 512, 512, 1): 5,
    (14, 512, 1024, 2): 1,
    (7, 1024, 1024, 1): 1,
}
FRAMES = 4
"""Frames of a round, of which the shortest counts: other work on the machine only makes them longer."""


def work(tree: Path, block: tuple[int, int, int, int], options: dict[str, float]) -> None:
    """Make a block with the engine of a checkout; draw frames for each line of input, and print milliseconds."""
    sys.path[:0] = [str(tree), str(tree / "tests"), str(tree / "tests/gl")]
    import numpy as np
    from graphs import classifier, conv_node, input_node
    from layer_check import make_bundle

    from glsl_infer.graph import Node
    from glsl_infer.runtime.session import Session

    size, channels, filters, stride = block
    rng = np.random.default_rng(0)
    depthwise = {"kernel": (3, 3), "groups": channels, "strides": (stride, stride), "padding": (1, 1, 1, 1)}
    before = [input_node(size), conv_node(rng, "first", ("image",), 3, channels)]
    both = [
        conv_node(rng, "depthwise", ("first",), channels, channels, **depthwise),
        conv_node(rng, "pointwise", ("depthwise",), channels, filters),
    ]

    def made(body: list[Node], width: int) -> Any:
        pixel = Node("pixel", "max_pool", (body[-1].name,), {"pool": (1, 1), "strides": (size, size)})
        return make_bundle(classifier(rng, [*body, pixel], width), **options)

    whole, beside = made([*before, *both], filters), made(before, channels)
    picture = rng.integers(0, 256, (size, size, 3), dtype=np.uint8)
    with Session(whole) as session, Session(beside) as other:

        def taken(drawn: Session) -> float:
            began = time.perf_counter()
            drawn.run(picture)
            return 1000.0 * (time.perf_counter() - began)

        taken(session), taken(other)
        print(len(whole.manifest.passes) - len(beside.manifest.passes), flush=True)
        for _ in sys.stdin:
            times = [(taken(session), taken(other)) for _ in range(FRAMES)]
            print(*(min(part) for part in zip(*times)), flush=True)


def measured(
    trees: list[Path], block: tuple[int, int, int, int], rounds: int, options: list[str]
) -> tuple[list[int], list[float]]:
    """Return the passes and the median milliseconds of a block by the engine of each checkout."""
    words = [str(word) for word in block]
    workers = [
        subprocess.Popen(
            [sys.executable, __file__, str(tree), "--block", *words, *(options if tree == ROOT else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        for tree in trees
    ]
    passes = [int(worker.stdout.readline()) for worker in workers if worker.stdout]
    times: list[list[float]] = [[] for _ in workers]
    for _ in range(rounds):
        for worker, found in zip(workers, times):
            assert worker.stdin is not None and worker.stdout is not None
            worker.stdin.write("\n")
            whole, beside = map(float, worker.stdout.readline().split())
            found.append(whole - beside)
    for worker in workers:
        worker.communicate()
    return passes, [statistics.median(found) for found in times]


def main() -> None:
    """Print a row for each block, and the sum."""
    parser = argparse.ArgumentParser(description="MobileNet's blocks by two engines.", allow_abbrev=False)
    parser.add_argument("before", type=Path, help="the other checkout")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--uniform-vectors", type=int, help="of this checkout's export")
    parser.add_argument("--draw-cost", type=float, help="of this checkout's export")
    parser.add_argument("--only", nargs="+", type=int, default=range(len(BLOCKS)), help="blocks, by number")
    parser.add_argument("--block", nargs=4, type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    given = {name: getattr(args, name) for name in ("uniform_vectors", "draw_cost")}
    options = {name: value for name, value in given.items() if value is not None}
    if args.block:
        size, channels, filters, stride = args.block
        work(args.before, (size, channels, filters, stride), options)
        return
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    sums = [0.0, 0.0]
    print("| block | passes | ms | ratio |\n| --- | --- | --- | --- |")
    for number, (block, count) in enumerate(BLOCKS.items()):
        if number not in args.only:
            continue
        passes, times = measured([args.before, ROOT], block, args.rounds, words)
        sums = [total + count * one for total, one in zip(sums, times)]
        print(f"| {block} x {count} | {passes[0]}, {passes[1]} | {times[0]:.1f}, {times[1]:.1f} ", end="")
        print(f"| {times[1] / times[0]:.3f} |", flush=True)
    print(f"| all | | {sums[0]:.0f}, {sums[1]:.0f} | {sums[1] / sums[0]:.3f} |")


if __name__ == "__main__":
    main()
