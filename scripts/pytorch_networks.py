#!/usr/bin/env python3
"""Export networks of torchvision and timm by ONNX, and say what becomes of each: docs/reference/pytorch-networks.json.

scripts/pytorch_networks.py [--jobs N] [--out FILE] [--limit SECONDS] [NAME ...]

It needs torch, torchvision, timm and onnx in the Python that runs it; weights are random and nothing is fetched. A
name is ``torchvision:NAME``, ``timm:NAME``, or one of these with ``@old`` for the exporter that traces. Each network
has a process of its own. ``floats``: the imported graph computed in 32-bit floats, its largest difference from
PyTorch in parts of its largest number; ``cpu``: operators that run on the CPU; ``exact``: the cosine of the bundle's
exact reference.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

PAGE = ROOT / "docs/reference/pytorch-networks.json"
WORST = 1e-3
SIZES = {"inception_v3": 299, "maxvit_t": 224}
NAMES = [
    "mobilenet_v2",
    "mobilenet_v3_small",
    "mobilenet_v3_large",
    "resnet18",
    "resnet50",
    "squeezenet1_1",
    "shufflenet_v2_x1_0",
    "mnasnet0_5",
    "efficientnet_b0",
    "efficientnet_v2_s",
    "regnet_y_400mf",
    "regnet_x_400mf",
    "densenet121",
    "googlenet",
    "inception_v3",
    "vgg11_bn",
    "alexnet",
    "convnext_tiny",
    "resnext50_32x4d",
    "wide_resnet50_2",
    "vit_b_16",
    "swin_t",
    "swin_v2_t",
    "maxvit_t",
    "lraspp_mobilenet_v3_large",
    "deeplabv3_mobilenet_v3_large",
    "fcn_resnet50",
    "ssdlite320_mobilenet_v3_large",
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "raft_small",
    "r3d_18",
]
TIMM = [
    "mobilenetv4_conv_small",
    "mobileone_s0",
    "repvgg_a0",
    "ghostnet_100",
    "hrnet_w18_small",
    "lcnet_050",
    "mixnet_s",
    "tinynet_e",
    "rexnet_100",
    "fastvit_t8",
    "edgenext_xx_small",
    "mobilevit_xxs",
    "mobilevitv2_050",
    "efficientformer_l1",
    "poolformer_s12",
    "levit_128s",
    "vit_tiny_patch16_224",
    "deit_tiny_patch16_224",
    "cait_xxs24_224",
    "crossvit_tiny_240",
    "pit_ti_224",
    "resmlp_12_224",
    "mixer_s32_224",
    "nf_regnet_b0",
    "dla34",
    "res2net50_26w_4s",
    "resnest14d",
    "skresnet18",
    "vovnet39a",
    "hardcorenas_a",
    "efficientnet_lite0",
    "semnasnet_075",
    "spnasnet_100",
    "dpn48b",
    "cspdarknet53",
    "gernet_s",
    "eca_resnet33ts",
    "lambda_resnet26t",
    "botnet26t_256",
    "halonet26t",
    "convnextv2_atto",
    "coatnet_nano_rw_224",
    "xcit_nano_12_p16_224",
    "repghostnet_050",
    "starnet_s1",
    "efficientvit_b0",
    "tiny_vit_5m_224",
    "resnet18d",
    "seresnet50",
    "inception_next_atto",
    "focalnet_tiny_srf",
    "visformer_tiny",
    "convmixer_768_32",
]
ALL = [f"torchvision:{name}" for name in NAMES] + [f"timm:{name}" for name in TIMM]
ALL += [f"torchvision:{name}@old" for name in ("mobilenet_v3_small", "resnet18", "shufflenet_v2_x1_0", "swin_t")]


def network(name: str) -> tuple[Any, int]:
    """Return a network with random weights, and the rows of its picture."""
    import torch

    torch.manual_seed(3)
    torch.set_num_threads(1)
    source, _, own = name.partition(":")
    own = own.partition("@")[0]
    if source == "timm":
        import timm

        model = timm.create_model(own, pretrained=False)
        size = model.default_cfg["input_size"][-1]
    else:
        import torchvision

        given: dict[str, Any] = {"weights": None}
        if any(word in own for word in ("lraspp", "deeplab", "fcn", "ssd", "rcnn")):
            given["weights_backbone"] = None
        model = torchvision.models.get_model(own, **given)
        size = SIZES.get(own, 320 if "320" in own else 224)
    for module in model.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.running_var is not None:
            torch.nn.init.uniform_(module.running_var, 0.6, 1.4)
            torch.nn.init.normal_(module.running_mean, 0.0, 0.2)
            if module.weight is not None:
                torch.nn.init.uniform_(module.weight, 0.6, 1.4)
    return model.eval(), size


def picture(size: int, seed: int) -> Any:
    """Return float32 (1, 3, size, size) from 0 to 1: soft patches, in whole 255ths."""
    rng = np.random.default_rng(seed)
    coarse = np.repeat(np.repeat(rng.uniform(0.2, 0.8, (3, -(-size // 16), -(-size // 16))), 16, 1), 16, 2)
    full = np.clip(coarse[:, :size, :size] + rng.normal(0, 0.1, (3, size, size)), 0, 1)
    return (np.round(full * 255) / np.float32(255)).astype(np.float32)[None]


def judged(name: str) -> dict[str, Any]:
    """Return the row of a network."""
    import torch

    from glsl_infer.compiler.delegate import build
    from glsl_infer.errors import GlslInferError
    from glsl_infer.graph import reference
    from glsl_infer.importers.onnx.reader import imported

    found: dict[str, Any] = {}
    model, size = network(name)
    shown = [picture(size, seed) for seed in range(3)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.onnx"
        try:
            options: dict[str, Any] = {"input_names": ["image"], "dynamo": not name.endswith("@old")}
            torch.onnx.export(model, (torch.from_numpy(shown[0]),), str(path), verbose=False, **options)
        except Exception as error:
            return {"not_exported": f"{type(error).__name__}: {str(error)[:200]}"}
        found["megabytes"] = round(sum(file.stat().st_size for file in Path(folder).iterdir()) / 1e6, 1)
        started = time.process_time()
        try:
            made = imported(path)
            found["cpu"] = dict(Counter(row.kind for row in made.survey.rows if row.runs == "CPU"))
            graph = made.survey.whole()
        except GlslInferError as error:
            return {**found, "refused": str(error)[:600]}
        found["import_s"] = round(time.process_time() - started, 1)
    with torch.no_grad():
        expected = [_outputs(model(torch.from_numpy(one))) for one in shown]
    key = next(iter(made.inputs))
    samples = [{key: np.round(made.given(key, one) * 255.0).astype(np.uint8)} for one in shown]
    floats = [[made.returned(*item) for item in reference.run(graph, one, mode="float").items()] for one in samples[:2]]
    pairs = [pair for found_, right in zip(floats, expected) for pair in zip(found_, right)]
    found["floats"] = max(float(np.abs(one - two).max() / max(np.abs(two).max(), 1e-9)) for one, two in pairs)
    try:
        built = build(graph, [str(place) for place in range(_classes(graph))], calibration=samples)
    except GlslInferError as error:
        return {**found, "not_built": str(error)[:600]}
    parts = built.bundle.parts or (built.bundle,)
    found["parts"] = len(parts)
    found["passes"] = sum(len(part.manifest.passes) for part in parts if hasattr(part, "manifest"))
    found["seconds"] = round(time.process_time() - started, 1)
    exact = [made.returned(*item) for item in reference.run(built.bundle, samples[0]).items()]
    found["exact"] = min(_cosine(one, two) for one, two in zip(exact, expected[0]))
    return found


def _outputs(made: Any) -> list[Any]:
    """Return a network's outputs, in their order, as arrays."""
    if isinstance(made, dict):
        made = list(made.values())
    return [one.numpy() for one in (made if isinstance(made, (list, tuple)) else [made])]


def _classes(graph: Any) -> int:
    from glsl_infer.compiler import optimize
    from glsl_infer.compiler.assemble import classes_of

    return classes_of(optimize.optimize(graph))


def _cosine(one: Any, other: Any) -> float:
    one, other = one.astype(np.float64).reshape(-1), other.astype(np.float64).reshape(-1)
    return round(float(one @ other / max(np.sqrt((one @ one) * (other @ other)), 1e-30)), 5)


def main() -> int:
    """Judge all networks, or those named; return 1 where one computes other numbers than PyTorch."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as timm:ghostnet_100")
    parser.add_argument("--jobs", type=int, default=1, help="networks at a time (default 1)")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one network (default 300)")
    parser.add_argument("--out", type=Path, default=PAGE, metavar="FILE", help="what is written (default %(default)s)")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        print(json.dumps(judged(given.names[0])))
        return 0
    rows: dict[str, Any] = json.loads(given.out.read_text("utf-8")) if given.out.is_file() else {}

    def row_of(name: str) -> None:
        command = [sys.executable, __file__, name, "--alone"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=given.limit)
            lines = done.stdout.splitlines()
            rows[name] = json.loads(lines[-1]) if not done.returncode else {"crashed": done.stderr[-800:]}
        except subprocess.TimeoutExpired:
            rows[name] = {"too_slow": given.limit}
        print(f"{name}: {rows[name]}", flush=True)
        given.out.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n", "utf-8")

    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(row_of, given.names or ALL))
    return int(any("crashed" in row or row.get("floats", 0.0) > WORST for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
