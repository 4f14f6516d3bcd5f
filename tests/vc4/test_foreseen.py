"""The estimate of a frame without the driver's compiler is close to the compiler's."""

from __future__ import annotations

import pytest
from budget import ROOT

from glsl_infer import bundle as bundles
from glsl_infer.tools.videocore import Driver, foresight
from glsl_infer.tools.videocore.verify import measured


@pytest.mark.parametrize("name", ["trashnet-x22-129", "superres-x2-96"])
def test_the_estimate_is_near_the_compilers(name: str, driver: Driver) -> None:
    bundle = bundles.read(ROOT / f"models/{name}.glslnn")
    _, result = measured(bundle, 120.0, prefix=driver.prefix)
    forecast, foreseen = foresight.foresee(bundle, result.programs), foresight.foresee(bundle, {})
    assert (forecast.compiled, foreseen.compiled) == (1.0, 0.0)
    assert foreseen.milliseconds == pytest.approx(forecast.milliseconds, rel=0.1)
    assert foreseen.computing == pytest.approx(forecast.computing, rel=0.15)
    share = max(forecast.layers, key=lambda layer: layer.milliseconds).layer
    assert share in str(foreseen), "the longest layer is named either way"
