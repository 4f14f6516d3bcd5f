"""The probe of a manifest as JSON, both ways."""

from __future__ import annotations

from typing import Any

from glsl_infer.bundle import json_fields
from glsl_infer.bundle.format_constants import MAX_OUTPUTS, PROBE_FORMULA, RANGES
from glsl_infer.bundle.json_fields import Fields
from glsl_infer.bundle.manifest import Probe, ProbeLayer, ProbeOutput
from glsl_infer.bundle.values_json import value_from_json, value_to_json
from glsl_infer.errors import BundleError


def probe_to_json(probe: Probe) -> dict[str, Any]:
    """Return the probe as JSON data."""
    return {
        "formula": probe.formula,
        "member": probe.member,
        "layers": [{**vars(layer), "value": value_to_json(layer.value)} for layer in probe.layers],
        "outputs": [{"numbers": list(output.numbers), "max_error": output.max_error} for output in probe.outputs],
    }


def probe_from_json(data: Any) -> Probe:
    """Read the probe.

    Raises:
        BundleError: it does not follow the format.
    """
    fields = Fields(data, "probe")
    probe = Probe(
        fields.text("formula", one_of=(PROBE_FORMULA,)),
        fields.text("member"),
        tuple(_layer(entry, f"probe.layers[{i}]") for i, entry in enumerate(fields.items("layers"))),
        tuple(_output(entry, f"probe.outputs[{i}]") for i, entry in enumerate(fields.items("outputs"))),
    )
    fields.done()
    if not 1 <= len(probe.outputs) <= MAX_OUTPUTS:
        raise BundleError(f"probe: {len(probe.outputs)} outputs; there are 1 to {MAX_OUTPUTS}")
    return probe


def _layer(data: Any, where: str) -> ProbeLayer:
    fields = Fields(data, where)
    layer = ProbeLayer(
        fields.text("layer"),
        fields.integer("offset", *RANGES["offset"]),
        fields.integer("count", *RANGES["count"]),
        fields.number("max_error", low=0.0),
        fields.number("mean_error", low=0.0),
        value_from_json(fields.any("value"), f"{where}.value"),
    )
    fields.done()
    return layer


def _output(data: Any, where: str) -> ProbeOutput:
    fields = Fields(data, where)
    numbers = tuple(json_fields.number(number, f"{where}.numbers") for number in fields.items("numbers"))
    output = ProbeOutput(numbers, fields.number("max_error", low=0.0))
    fields.done()
    return output
