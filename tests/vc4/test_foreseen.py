"""The estimate of a frame without the driver's compiler is close to the compiler's."""

from __future__ import annotations

import pytest
from budget import ROOT

from glsl_infer import bundle as bundles
from glsl_infer.tools.videocore import Driver, foresight
from glsl_infer.tools.videocore.verify import measured


@pytest.mark.parametrize("name", ["trashnet-x22-129", "superres-x2-96"])
def test_it_is_near_the_compiler(name: str, driver: Driver) -> None:
    made = bundles.read(ROOT / f"models/{name}.glslnn")
    _, found = measured(made, 120.0, given=driver.prefix)
    known, foreseen = foresight.foresee(made, found.programs), foresight.foresee(made, {})
    assert (known.compiled, foreseen.compiled) == (1.0, 0.0)
    assert foreseen.milliseconds == pytest.approx(known.milliseconds, rel=0.1)
    assert foreseen.computing == pytest.approx(known.computing, rel=0.15)
    share = max(known.layers, key=lambda layer: layer.milliseconds).layer
    assert share in str(foreseen), "the longest layer is named either way"
