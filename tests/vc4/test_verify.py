"""The export's report on VideoCore IV: compiled programs, failed ones, and a short time limit."""

from __future__ import annotations

from pathlib import Path

import pytest
import replaced
from budget import ROOT

from glsl_infer import bundle as bundles
from glsl_infer.tools.videocore import Driver, measure
from glsl_infer.tools.videocore.verify import ONE_THREAD, verify

pytestmark = pytest.mark.exhaustive

MODEL = ROOT / "models/trashnet-x22-129.glslnn"


def test_every_layer_of_a_model_is_verified(driver: Driver) -> None:
    made, measured = measure(MODEL, driver)
    found = verify(made, 120.0, given=driver.prefix)
    assert found.driver.startswith("VC4") and found.note == "" and found.warnings == ()
    assert [check.layer for check in found.layers] == list(dict.fromkeys(one.layer for one in made.manifest.passes))
    assert all(check.verified and check.threads == 2 for check in found.layers)
    users = {one.layer: one.program for one in made.manifest.passes}
    for check in found.layers:  # a draw knows its target's format, which changes the counts slightly
        drawn = measured.programs[users[check.layer]]
        assert check.registers is not None and abs(check.registers - drawn.temporaries) <= 2
        assert (
            check.instructions is not None
            and abs(check.instructions - drawn.instructions) <= 0.03 * drawn.instructions + 2
        )


def test_too_few_registers_are_a_warning_that_names_the_layer(driver: Driver, tmp_path: Path) -> None:
    made = bundles.read(replaced.write(tmp_path, replaced.alive(18)))
    (warning,) = verify(made, 60.0, given=driver.prefix).warnings
    assert "layer 'expand': the compiler has too few registers" in warning


def test_one_thread_is_a_warning(driver: Driver, tmp_path: Path) -> None:
    found = verify(bundles.read(replaced.write(tmp_path, replaced.alive(8))), 60.0, given=driver.prefix)
    (check,) = (check for check in found.layers if check.layer == replaced.LAYER)
    assert check.threads == 1 and check.failure == ONE_THREAD


def test_what_the_driver_refuses_is_a_warning_and_the_rest_is_verified(driver: Driver, tmp_path: Path) -> None:
    found = verify(
        bundles.read(replaced.write(tmp_path, "float twice = 1.0; float twice = 2.0; gl_FragColor = at.xyxy;")),
        60.0,
        given=driver.prefix,
    )
    (check,) = (check for check in found.layers if check.failure)
    assert check.layer == replaced.LAYER and "the driver refuses it" in check.failure
    assert all(check.verified for check in found.layers)


def test_without_time_everything_is_predicted(driver: Driver) -> None:
    found = verify(bundles.read(MODEL), 0.001, given=driver.prefix)
    assert not any(check.verified for check in found.layers)
    assert found.note == "0.001 seconds were over" and found.warnings == ()


def test_a_driver_that_does_not_work_fails_nothing(driver: Driver, tmp_path: Path) -> None:
    """A folder with the file names of a driver, but empty files, fails no layer."""
    for name in ("lib/libEGL.so.1", "lib/libGLESv2.so.2", "lib/dri/vc4_dri.so", "lib/libvc4_noop_drm_shim.so"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = verify(bundles.read(MODEL), 60.0, given=tmp_path)
    assert "does not work here" in found.note
    assert not any(check.verified or check.failure for check in found.layers)
