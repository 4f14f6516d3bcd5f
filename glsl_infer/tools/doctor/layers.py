"""Check that the driver computes every layer of a model correctly: the self-check."""

from __future__ import annotations

from glsl_infer.errors import BundleError, GlslInferError
from glsl_infer.gl.limits import is_software
from glsl_infer.tools.doctor.findings import Finding, check, ok, problem, warning
from glsl_infer.tools.doctor.machine import Machine


@check("layers")
def layers(machine: Machine) -> Finding | None:
    """Run the self-check of a model."""
    if machine.model is None:
        return None
    if machine.driver.get("context") is None:
        return warning("not checked, because there is no OpenGL ES 2.0 context", {})
    if machine.is_raspberry_pi and is_software(str(machine.driver["renderer"])):
        return warning("not checked, because the CPU draws instead of the GPU", {})
    from glsl_infer.bundle.rules import without_rule
    from glsl_infer.runtime import selfcheck
    from glsl_infer.runtime.session import Session

    try:
        machine.progress("compiling the shaders")
        with Session(machine.model, context=machine.context) as session:
            total = sum(len(part.manifest.probe.layers) for part in session.bundle.gpu_parts)
            count = 0

            def step() -> None:
                nonlocal count
                count += 1
                machine.progress(f"layer {min(count, total)} of {total}")

            result = selfcheck.check(session, step)
    except BundleError as error:  # its message begins with the file
        return problem(without_rule(error), {"model": machine.model.stem})
    except GlslInferError as error:
        return problem(f"{machine.model.stem}: {error}", {"model": machine.model.stem})
    figures = {"model": machine.model.stem, **result.as_json()}
    if result.wrong is None:
        return ok(f"all {len(result.layers)} layers of {machine.model.stem} are computed correctly", figures)
    return problem(f"{machine.model.stem}: {result.describe_failure()}", figures, *result.advice)
