"""Invalid command lines: exit code 2, one line, nothing written. refusals.txt has all messages.

After a change of a message, run ``pytest tests/unit/test_refusals.py --update`` and read the difference.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from command_line import run
from PIL import Image
from pytest import MonkeyPatch
from snapshots import Snapshot
from tiny import write_tiny

COMMANDS = """
draw
clasify photo.png
selfchek
zzz

classify
classify ''
classify photo.png --top five
classify photo.png --top 0
classify photo.png --tpo 3
classify photo.png --zzz
classify photo.png --colour
classify photo.png --mod b
classify photo.png --labels b.txt
classify photo.png --context glx
classify photo.png --context surfacless
classify none.jpg
classify https://me:s3cret@x.org/a.jpg
classify http://x.org/a.jpg
classify file:///a.jpg
classify photo.png --model https://me:s3cret@x.org/m.glslnn
classify photo.png --model none.glslnn
classify photo.png --model folder
classify none.glslnn --no-selfcheck photo.png
detect photo.png --tiles 9

run tiny.glslnn photo.png -o ''
run tiny.glslnn photo.png --whole --overlap 2.5
run tiny.glslnn photo.png --top 0
run tiny.glslnn photo.png --sofmax
run tiny.glslnn https://me:s3cret@x.org/a.jpg
run photo.png tiny.glslnn
run --model none.glslnn photo.png

export
export model.keras --labels labels.txt
export model.keras -o out.glslnn --labels labels.txt --weights big
export model.keras -o out.glslnn --weights unifrom
export model.keras -o out.glslnn --calibrat c
export model.keras -o out.zip
export model.keras -o nowhere/out.glslnn
export missing.keras -o out.glslnn
export folder -o out.glslnn
export model.pt -o out.glslnn
export model.pth -o out.glslnn
export saved_model.pb -o out.glslnn
export tiny.glslnn -o out.glslnn
export model.xyz -o out.glslnn
export model.keras -o out.glslnn --verify -1
export model.keras -o out.glslnn --weights-for=baked
export model.keras -o out.glslnn --weights-for=first=
export model.keras -o out.glslnn --weights-for=first=magic
export model.keras -o out.glslnn --weights-for==
export model.keras -o out.glslnn --weights-for=
export model.keras -o out.glslnn --precision-for=16
export model.keras -o out.glslnn --precision-for=first=
export model.keras -o out.glslnn --precision-for=first=12
export model.keras -o out.glslnn --precision-for==
export model.keras -o out.glslnn --precision-for=
export model.keras -o out.glslnn --tolerance=0
export model.keras -o out.glslnn --tolerance=nan
export model.keras -o out.glslnn --budget=-1
export model.keras -o out.glslnn --budget=inf
export model.keras -o out.glslnn --percentile 50
export model.keras -o out.glslnn --percentile 100.1
export model.keras -o out.glslnn --percentile nan
export model.keras -o out.glslnn --draw-cost 0
export model.keras -o out.glslnn --draw-cost 10001
export model.keras -o out.glslnn --draw-cost nan

validate mine.glslnn mine.keras --data folder
validate model.keras model.glslnn --data folder --min-top1 nan
validate a.glslnn b.glslnn --data folder
validate model.xyz tiny.glslnn --data folder
inspect tiny.glslnn --input-size 5
inspect model.xyz
inspect model.keras --max-weights 0
inspect --model none.glslnn
selfcheck --model none.glslnn
vc4 --model none.glslnn
aibench --phones p.csv --json
get --again
get face-mesh --labels labels.txt
camera --source 3
info everything
collect --classes cat dog -o photos

benchmark --model none.glslnn
benchmark --runs 0
benchmark --warm-up -1
benchmark --minutes 0
benchmark --minutes nan
benchmark --minutes 2000
benchmark --plot p.png
benchmark --profile --plot p.pdf
benchmark --profile --plot nowhere/p.png
benchmark --csv c.txt
benchmark --csv nowhere/c.csv
benchmark --profile --minutes 1 --csv c.csv
benchmark tiny.glslnn --compare a.json b.json
benchmark --profile --compare a.json b.json
benchmark --minutes 1 --compare a.json b.json
benchmark --plot p.png --compare a.json b.json
benchmark --compare a.json b.glslnn
benchmark --compare a.json b.json
"""


def test_messages_of_refused_commands_are_those_of_the_file(
    tmp_path: Path, monkeypatch: MonkeyPatch, snapshot: Snapshot
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    write_tiny(tmp_path)
    Image.new("RGB", (6, 4)).save(tmp_path / "photo.png")
    (tmp_path / "labels.txt").write_text("a\nb\n")
    (tmp_path / "folder").mkdir()
    for suffix in ("keras", "pt", "pth", "xyz"):
        (tmp_path / f"model.{suffix}").write_bytes(b"not read")
    (tmp_path / "saved_model.pb").write_bytes(b"not read")
    before = sorted(tmp_path.iterdir())
    messages = []
    for line in COMMANDS.split("\n"):
        if line:
            done = run(*shlex.split(line), folder=tmp_path)
            assert (done.returncode, done.stdout) == (2, ""), line
            assert done.stderr.startswith("error: ") and done.stderr.endswith("\n"), line
            assert done.stderr.count("\n") == 1, line
            assert "s3cret" not in done.stderr and str(tmp_path) not in done.stderr, line
            assert sorted(tmp_path.iterdir()) == before, line
            # argparse formats the choices differently in each version of Python.
            message = re.sub(r"\(choose from [^)]*\)", "(choose from ...)", done.stderr)
            messages.append(f"$ glsl-infer {line}\n{message}\n")
    snapshot("refusals.txt", "".join(messages))
