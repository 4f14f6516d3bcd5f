"""An export that fails or is killed keeps the old model, and leaves no file that breaks `classify`."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Capture
from tiny import tiny_bundle, write_tiny

import glsl_infer
from glsl_infer import bundle
from glsl_infer.cli import main

EXAMPLE = Path(__file__).resolve().parents[2] / "docs/images/example.jpg"

WRITES_HALF = """
import sys, time, zipfile

from glsl_infer import bundle

put = zipfile.ZipFile.writestr
left = int(sys.argv[3])

def slowly(archive, info, data, **options):
    global left
    put(archive, info, data, **options)
    archive.fp.flush()
    left -= 1
    if left == 0:
        print("half", flush=True)
        time.sleep(600)

given = bundle.read(sys.argv[1])
zipfile.ZipFile.writestr = slowly
bundle.write(given, sys.argv[2])
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("members", [1, 8])
def test_a_killed_export(capfd: Capture, tmp_path: Path, how: signal.Signals, members: int) -> None:
    old = write_tiny(tmp_path, "old.glslnn", "baked")
    new, folder = write_tiny(tmp_path, "new.glslnn"), tmp_path / "folder"
    folder.mkdir()
    target = folder / "model.glslnn"
    shutil.copy(old, target)
    shutil.copy(EXAMPLE, folder)
    with subprocess.Popen(
        [sys.executable, "-c", WRITES_HALF, str(new), str(target), str(members)],
        cwd=Path(glsl_infer.__file__).parent.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        process.send_signal(how)
        assert process.wait(60) != 0
    assert target.read_bytes() == old.read_bytes()
    assert main(["classify", "--model", str(target), str(folder)]) == 0
    output = capfd.readouterr()
    assert output.err == ""
    assert output.out.count("%") == len(tiny_bundle().labels)  # one image: the temporary file is not one
    bundle.write(bundle.read(new), target)
    assert target.read_bytes() == new.read_bytes()
