#!/usr/bin/env python3
"""Export, read and compile every network of keras.applications with up to 30 million parameters.

    python scripts/vc4/applications.py FOLDER --pictures data/trashnet/train            # what FOLDER lacks, hours
    python scripts/vc4/applications.py FOLDER --pictures DIR --processes 16 --only MobileNet Xception
    python scripts/vc4/applications.py FOLDER --readers         # the files there, by the readers of three languages
    python scripts/vc4/applications.py FOLDER --table           # Markdown, of what FOLDER has
    python scripts/vc4/applications.py FOLDER --write           # into applications.json, other rows kept

Weights are random (seeded) and keep signals in a useful range; ``applications_keras.py`` creates the networks.
``glsl-infer export`` runs as a user runs it, in a process whose seconds and memory are measured. FOLDER/NAME.json has a
network's results, FOLDER/NAME.glslnn is its bundle.
"""

# ruff: noqa: E402
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "scripts/reliability"))

from glsl_infer import bundle as bundles
from glsl_infer.errors import GlslInferError
from glsl_infer.graph import reference
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.support.child_process import module_command
from glsl_infer.tools import videocore as vc4
from glsl_infer.tools.videocore import estimate

NETWORKS = (
    *("EfficientNetV2S", "EfficientNetB4", "DenseNet201", "EfficientNetB3", "NASNetMobile", "EfficientNetV2B3"),
    *("Xception", "InceptionV3", "DenseNet169", "ResNet50V2", "ResNet50", "EfficientNetB2", "ConvNeXtTiny"),
    *("EfficientNetV2B2", "EfficientNetB1", "DenseNet121", "EfficientNetV2B1", "EfficientNetB0", "EfficientNetV2B0"),
    *("VGG19", "VGG16", "MobileNetV2", "MobileNetV3Large", "MobileNet", "MobileNetV3Small"),
)
"""Networks, longest first. VGG's lack their dense layers, which have 120 million parameters."""

PAGE = ROOT / "docs/engineering/applications.json"
LARGEST = 400
"""Side in pixels of the stored calibration and test images."""

HEADS = ("network", "M parameters", "pixels", "draws", "programs, two threads", "million", "Zero W, ms")
MORE_HEADS = ("export, s of a CPU", "peak, MB", "file, MB", "cosine")


def prepare(folder: Path, source: Path, calibration: int, test: int) -> None:
    """Copy random images of a folder to FOLDER/calibration and FOLDER/test, as PNG."""
    files = sorted(path for path in source.rglob("*") if path.suffix.lower() in {".jpg", ".png"})
    if len(files) < calibration + test:
        raise SystemExit(f"{source}: {len(files)} pictures, and {calibration + test} are needed")
    rng = np.random.default_rng(0)
    chosen = [files[index] for index in rng.permutation(len(files))[: calibration + test]]
    for number, path in enumerate(chosen):
        place = folder / ("calibration" if number < calibration else "test")
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(preprocess.load(path, LARGEST)).save(place / f"{number:02}.png")


def network(name: str, folder: Path) -> dict[str, Any]:
    """Create a network, export and measure it; return its results, or the failed step with its error."""
    alone = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    xla = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    began = time.monotonic()
    if not (folder / f"{name}.facts.json").exists():
        made = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("applications_keras.py")), name, str(folder)],
            env={**os.environ, **alone, "XLA_FLAGS": xla},
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            return {"network": name, "failed": f"Keras: {last(made.stderr)}"}
    keras_seconds = time.monotonic() - began
    one = subprocess.run(
        [sys.executable, str(Path(__file__)), str(folder), "--one", name],
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, Any] = json.loads(one.stdout) if not one.returncode else {"failed": last(one.stderr)}
    return {"network": name, "keras_seconds": keras_seconds, "wall_seconds": time.monotonic() - began, **found}


def last(text: str) -> str:
    """Return the last line that is not blank."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "nothing was said")


def measure(name: str, folder: Path) -> dict[str, Any]:
    """Export a network written by applications_keras.py, and return its results."""
    facts = json.loads((folder / f"{name}.facts.json").read_text("utf-8"))
    (folder / f"{name}.labels.txt").write_text("".join(f"class {index}\n" for index in range(facts["classes"])))
    path = folder / f"{name}.glslnn"
    said = folder / f"{name}.log"
    with said.open("w") as log:
        process = subprocess.Popen(
            [
                *module_command("glsl_infer", "export", str(folder / f"{name}.keras"), "-o", str(path)),
                *(["--labels", str(folder / f"{name}.labels.txt")] if facts["classes"] else []),
                *("--calibrate", str(folder / "calibration"), "--uniform-vectors", "videocore", "--verify", "0"),
                f"--input-range={facts['fed'][0]},{facts['fed'][1]}",
            ],
            cwd=ROOT,
            stdout=log,
            stderr=log,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise GlslInferError(f"export: {last(said.read_text('utf-8'))}")
    made = bundles.read(path)
    report = vc4.report(*vc4.measure(path, vc4.find()), name)
    shaders = report.shaders.values()
    exact = np.stack([reference.run(made, preprocess.load(one, facts["size"])) for one in tests(folder)])
    with np.load(folder / f"{name}.npz") as saved:
        floats = saved["outputs"]
    return {
        **facts,
        **report.totals,
        "two_threads": sum(shader.threads == 2 for shader in shaders),
        "zero_ms": estimate.estimate(report, estimate.BOARDS[0]).total,
        "problems": [f"{problem.layer}: {problem.text}" for problem in report.problems if problem.fatal],
        "export_seconds": used.ru_utime + used.ru_stime,
        "peak_bytes": used.ru_maxrss * 1024,
        "file_bytes": path.stat().st_size,
        "parts": [type(part).__name__ for part in made.parts],
        "cosines": cosines(exact, floats),
    }


def tests(folder: Path) -> Sequence[Path]:
    """Return the test images."""
    return sorted((folder / "test").glob("*.png"))


def cosines(given: Any, wanted: Any) -> list[float]:
    """Return the cosine between the two outputs of each image."""
    one, other = (np.asarray(part, np.float64).reshape(len(part), -1) for part in (given, wanted))
    return [float(a @ b / np.sqrt((a @ a) * (b @ b))) for a, b in zip(one, other)]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return a Markdown table, by parameters."""
    lines = [" | ".join(HEADS + MORE_HEADS), " | ".join(["---"] * len(HEADS + MORE_HEADS))]
    for row in sorted(rows, key=lambda row: float(row.get("parameters", 0))):
        if "failed" in row:
            lines.append(f"{row['network']} | {row['failed']}")
            continue
        cells = [
            row["network"],
            f"{row['parameters'] / 1e6:.1f}",
            f"{row['size']}",
            f"{row['passes']:,}",
            f"{row['two_threads']} of {row['programs']}",
            f"{row['total'] / 1e6:,.0f}",
            f"{row['zero_ms']:,.0f}",
            f"{row['export_seconds']:.0f}",
            f"{row['peak_bytes'] / 1e6:,.0f}",
            f"{row['file_bytes'] / 1e6:.1f}",
            f"{min(row['cosines']):.4f}",
        ]
        lines.append(" | ".join(cells))
    return "".join(f"| {line} |\n" for line in lines)


def kept(rows: Sequence[dict[str, Any]], page: Path) -> list[dict[str, Any]]:
    """Return the rows of a page in order, with measured rows replaced or added."""
    stored = json.loads(page.read_text("utf-8")) if page.exists() else []
    return list({row["network"]: row for row in (*stored, *rows)}.values())


def read_by_all(folder: Path) -> int:
    """Read every bundle with the readers of three languages; return the exit code."""
    from readers import Readers

    paths = sorted(path for path in folder.glob("*.glslnn"))
    verdicts = Readers(folder).verdicts(paths)
    wrong = disagreements(paths, verdicts)
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(paths)} files, {len(wrong)} of them refused or read otherwise by {', '.join(verdicts)}")
    return int(bool(wrong))


def disagreements(paths: Sequence[Path], verdicts: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a line for each file that a reader refuses, or that the readers read differently."""
    from readers import TAKEN

    lines = []
    for path, said in zip(paths, zip(*verdicts.values())):
        if len(set(said)) > 1 or not said[0].startswith(f"{TAKEN} "):
            lines.append(f"{path.name}: {'; '.join(f'{name}: {text}' for name, text in zip(verdicts, said))}")
    return lines


def main() -> int:
    """Measure, and print the table; return the exit code."""
    parser = argparse.ArgumentParser(description="Export all of keras.applications.", allow_abbrev=False)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pictures", type=Path, help="folder of photographs, the first time")
    parser.add_argument("--calibration", type=int, default=8, help="pictures that ranges are learnt from")
    parser.add_argument("--test", type=int, default=2, help="pictures that outputs are compared on")
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=NETWORKS)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="measure nothing")
    parser.add_argument("--write", action="store_true", help=f"measure nothing; rows go to {PAGE.relative_to(ROOT)}")
    parser.add_argument("--readers", action="store_true", help="read the files there by all readers, no more")
    parser.add_argument("--one", choices=NETWORKS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    folder: Path = args.folder.resolve()
    if args.one:
        try:
            print(json.dumps(measure(args.one, folder)))
        except GlslInferError as error:
            print(f"error: {error}", file=sys.stderr)
            return error.exit_code
        return 0
    if args.readers:
        return read_by_all(folder)
    stored = {name: folder / f"{name}.json" for name in args.only}
    if not (args.table or args.write):
        if args.pictures is not None and not (folder / "calibration").exists():
            prepare(folder, args.pictures, args.calibration, args.test)

        def one(name: str) -> None:
            if stored[name].exists() and "failed" not in json.loads(stored[name].read_text("utf-8")):
                return
            row = network(name, folder)
            stored[name].write_text(json.dumps(row, indent=1) + "\n", "utf-8")
            print(f"{name}: {row.get('failed') or 'done'}", file=sys.stderr, flush=True)

        with ThreadPoolExecutor(args.processes) as pool:
            list(pool.map(one, args.only))
    rows = [json.loads(path.read_text("utf-8")) for path in stored.values() if path.exists()]
    print(table(rows), end="")
    if args.write:
        done = [row for row in rows if "failed" not in row]
        PAGE.write_text(json.dumps(kept(done, PAGE), indent=1) + "\n", "utf-8")
    return int(any("failed" in row or row["problems"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
