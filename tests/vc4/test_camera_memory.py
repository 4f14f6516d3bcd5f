"""A camera's dma-bufs on Mesa's VideoCore IV driver: the driver imports them, and the kernel validates its commands.

Nothing is drawn, so no test checks the picture on this driver.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from on_driver import lines_of

from glsl_infer import bundle
from glsl_infer.support.resources import default_model
from glsl_infer.tools.videocore import Driver
from glsl_infer.tools.videocore.driver import SHIM

RGB = "DmaBuf(640, 480, 'XB24', (DmaBufPlane(fd, 64, 2560),))"
"""A buffer of a camera of 640 x 480 pixels. If its rows had padding, the driver would copy it without a job."""
NV12 = "DmaBuf(640, 480, 'NV12', (DmaBufPlane(fd, 0, 640), DmaBufPlane(fd, 307200, 640)), None, 'bt601', 'full')"
YU12 = (
    "DmaBuf(640, 480, 'YU12', "
    "(DmaBufPlane(fd, 0, 640), DmaBufPlane(fd, 307200, 320), DmaBufPlane(fd, 384000, 320)), None, 'bt709', 'narrow')"
)

UPLOAD = """
import os, sys
from glsl_infer import DmaBuf, DmaBufPlane
from glsl_infer.errors import ImageError
from glsl_infer.gl import dma_import
from glsl_infer.support.resources import default_model
from glsl_infer.session import Session

fd = os.memfd_create("frame")
os.ftruncate(fd, 1 << 21)
with Session(default_model()) as session:
    assert dma_import.refusal(session.context) is None
    session.context.gl.Finish()
    for turn in range(2):
        print(f"@begin {{turn}}", file=sys.stderr, flush=True)
        try:
            session.upload({picture})
        except ImageError as error:
            print(error, file=sys.stderr)
        session.context.gl.Finish()
        session.context.gl.check("after the import")
"""


@pytest.fixture(scope="module")
def prime_import(driver: Driver, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the shim can import buffers."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler, and the shim knows no imports")
    library = tmp_path_factory.mktemp("prime") / "prime_import.so"
    source = Path(__file__).parent / "prime_import.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return {"LD_PRELOAD": f"{library}:{driver.prefix / SHIM}"}


def second_turn(driver: Driver, picture: str, extra: dict[str, str] | None = None) -> tuple[list[str], list[str]]:
    """Return the driver's lines for the first upload, with its compilations, and for the second one."""
    lines = lines_of(driver, UPLOAD.format(picture=picture), extra)
    middle = lines.index("@begin 1")
    return lines[lines.index("@begin 0") + 1 : middle], lines[middle + 1 :]


@pytest.mark.parametrize(("picture", "copies"), [(RGB, ["640x480"]), (NV12, None), (YU12, None)])
def test_frames_are_imported_copied_into_tiles_and_scaled(
    driver: Driver, prime_import: dict[str, str], picture: str, copies: list[str] | None
) -> None:
    first, second = second_turn(driver, picture, prime_import)
    validated = [line for line in first if line.startswith("KVALIDATE")]
    assert validated and all(line.startswith("KVALIDATE OK") for line in validated)
    assert not [line for line in second if line.startswith("KVALIDATE")], "a second frame compiles nothing"
    jobs = [re.search(r" (\d+x\d+) tiles", line)[1] for line in second if line.startswith("SUBMIT_CL")]  # type: ignore[index]
    side = bundle.read(default_model()).manifest.input.size
    *before, along_x, along_y = jobs
    assert (along_x, along_y) == (f"{side}x480", f"{side}x{side}")
    if copies is None:
        assert len(before) >= 2, "every plane is copied"
    else:
        assert before == copies


def test_formats_and_modifiers_refused_by_the_driver(driver: Driver) -> None:
    """The driver's refusals; no buffer is imported, so the shim is not extended."""
    for picture, why in (
        ("DmaBuf(640, 480, 'BG24', (DmaBufPlane(fd, 0, 1920),))", "does not take BG24, but .*XB24"),
        ("DmaBuf(640, 480, 'XB24', (DmaBufPlane(fd, 0, 2560),), 7)", "takes XB24 with other modifiers: 0x0"),
    ):
        first, second = second_turn(driver, picture)
        assert re.search(why, first[-1]) and first == second
