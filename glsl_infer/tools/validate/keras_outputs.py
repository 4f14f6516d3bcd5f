"""What Keras makes of pictures, layer by layer and in the end: the process that ``glsl-infer validate`` compares with.

``python -m glsl_infer.tools.validate.keras_outputs JOB.json`` (see ``child_process``) writes ``ends.npy``, the output
for every picture, ``layers-N.npz`` with the outputs of the asked layers for the first pictures, and ``about.json``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.compiler import optimize
from glsl_infer.graph import Graph
from glsl_infer.graph.picture import picture_values
from glsl_infer.importers import keras as importer
from glsl_infer.support.child_process import execute, tell

BATCH = 8
"""Pictures at a time: always as many, so that no output depends on how many follow."""

ENDS, ABOUT = "ends.npy", "about.json"


def layers_file(index: int) -> str:
    """Return the name of the file with the layers of a picture."""
    return f"layers-{index}.npz"


def computed_nodes(graph: Graph) -> dict[str, str]:
    """Return, for every node of the optimised graph, the node of ``graph`` whose output it computes."""
    return {node.name: (node.name, *node.attrs.get("fused", ()))[-1] for node in optimize.optimize(graph).nodes}


def work(job: dict[str, Any]) -> None:
    """Do a job: ``model``, ``pictures`` (*.npy), ``layers`` (names), ``layer_pictures``, ``input_range``, ``out``."""
    network = importer.load_model(job["model"])
    graph = importer.to_graph(network, None if job["input_range"] is None else tuple(job["input_range"]))
    tensors, nodes = importer.tensors_of(network), computed_nodes(graph)
    known = [name for name in job["layers"] if nodes.get(name) in tensors]
    output = job["output"]
    # Runners return logits. Where Keras has them only inside a layer with its softmax, that is what is compared.
    inside = nodes.get(output) not in tensors
    end = network.outputs[0] if inside else tensors[nodes[output]]
    pictures, out = np.load(job["pictures"], mmap_mode="r"), Path(job["out"])

    def values(some: NDArray[np.uint8]) -> NDArray[np.float32]:
        return picture_values(graph.input, np.asarray(some)).astype(np.float32)

    whole = importer.with_outputs(network, end)
    rows = []
    for first in range(0, len(pictures), BATCH):
        some = pictures[first : first + BATCH]
        batch = np.zeros((BATCH, *some.shape[1:]), np.float32)
        batch[: len(some)] = values(some)
        rows.append(np.asarray(whole.predict_on_batch(batch))[: len(some)])
        tell(len(some))
    np.save(out / ENDS, np.concatenate(rows))
    if known:
        parts = importer.with_outputs(network, [tensors[nodes[name]] for name in known])
        for index in range(job["layer_pictures"]):
            outputs = parts.predict_on_batch(values(pictures[index : index + 1]))
            found = {str(place): np.asarray(one)[0] for place, one in enumerate(outputs)}
            np.savez(out / layers_file(index), **found)
            tell(1)
    about = {
        "layers": known,
        "computes": {name: nodes[name] for name in known},
        "softmax": inside and ops.get(graph.by_name[graph.output].op).needless_at_end,
        "keras": importer.version(),
    }
    (out / ABOUT).write_text(json.dumps(about), "utf-8")


if __name__ == "__main__":
    sys.exit(execute(sys.argv[1:], work))
