"""Small networks that need both shaders and the CPU.

bundle = parted_bundle()
graph = detector()
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from graphs import conv_node, dense_node, input_node, pool_node

from glsl_infer.bundle import Bundle
from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import build
from glsl_infer.graph import Graph, GraphOutput, Node

LABELS = ("a", "b", "c")
SIDE, WIDTH = 5, 8


def attentive() -> Graph:
    """Return attention between two convolutions; the second reads a softmax, so no range needs calibration."""
    rng = np.random.default_rng(23)
    weights = {
        "kernel": rng.normal(0, 1.0, (WIDTH, WIDTH)).astype(np.float32),
        "bias": rng.normal(0, 1.0, WIDTH).astype(np.float32),
    }
    gamma = {"gamma": np.linspace(1.0, 2.0, WIDTH, dtype=np.float32)}
    body = [
        input_node(2 * SIDE + 1),
        conv_node(rng, "a", ("image",), 3, WIDTH, kernel=(3, 3), strides=(2, 2)),
        Node("rows", "reshape", ("a",), {"shape": (SIDE * SIDE, WIDTH)}),
        Node("query", "linear", ("rows",), {}, weights),
        Node("mixed", "attention", ("query", "rows", "rows"), {"heads": 2, "scale": 0.5}),
        Node("even", "tensor_norm", ("mixed",), {}, gamma),
        Node("shares", "tensor_softmax", ("even",)),
        Node("map", "reshape", ("shares",), {"shape": (SIDE, SIDE, WIDTH)}),
        Node("peak", "max_pool", ("map",), {"pool": (2, 2), "strides": (1, 1), "padding": (0, 1, 0, 1)}),
        conv_node(rng, "b", ("peak",), WIDTH, WIDTH, kernel=(3, 3), padding=(1, 1, 1, 1)),
        pool_node("pool", "b"),
        dense_node(rng, "dense", "pool", WIDTH, len(LABELS)),
    ]
    return Graph("attentive", body, "dense")


def detector() -> Graph:
    """Return a region proposal network: boxes, their features by PSROI align, and the best classes of each."""
    rng = np.random.default_rng(24)
    anchors = (-4.0, -4.0, 4.0, 4.0, -8.0, -3.0, 8.0, 3.0)
    proposed = {"anchors": anchors, "stride": 2.0, "picture": (13, 13), "most": 6, "least_side": 2.0}
    body = [
        input_node(13),
        conv_node(rng, "a", ("image",), 3, WIDTH, kernel=(3, 3), strides=(2, 2)),
        conv_node(rng, "scores", ("a",), WIDTH, 2),
        conv_node(rng, "deltas", ("a",), WIDTH, 8, activation="tanh"),
        conv_node(rng, "parts", ("a",), WIDTH, 12),
        Node("boxes", "proposals", ("scores", "deltas"), proposed),
        Node("features", "psroi_align", ("parts", "boxes"), {"bins": (2, 2), "scale": 0.5}),
        Node("votes", "tensor_reduce", ("features",), {"reduction": "mean", "axes": (1, 2)}),
        Node("best", "top_k", ("votes",), {"k": 2, "result": "indices"}),
    ]
    return Graph("detector", body, [GraphOutput("boxes", ("boxes",)), GraphOutput("best", ("best",))])


@cache
def parted_bundle() -> Bundle:
    """Return the bundle of ``attentive`` in three parts, with its pooling moved to the CPU by name."""
    return build(attentive(), LABELS, options=Options(weights="uniform", delegate_for=("peak",))).bundle


def filling(data: dict[str, Any], tensors: int) -> None:
    """Make the CPU part of a manifest of ``attentive`` compute ``tensors`` tensors of 64 million values, from 200."""

    def operator(name: str, op: str, inputs: list[str], attrs: dict[str, Any]) -> dict[str, Any]:
        return {"name": name, "op": op, "inputs": inputs, "attrs": attrs, "weights": {}}

    multiplied = {"operation": "multiply", "constant_first": False}
    data["parts"][1]["operators"] += [
        operator("column", "tensor_reshape", ["a"], {"shape": [200, 1]}),
        operator("row", "tensor_reshape", ["a"], {"shape": [1, 200]}),
        operator("square", "tensor_binary", ["column", "row"], multiplied),
        operator("long", "tensor_reshape", ["square"], {"shape": [40_000, 1]}),
        operator("wide", "tensor_slice", ["square"], {"begin": [0, 0], "size": [8, 200], "strides": [1, 1]}),
        operator("across", "tensor_reshape", ["wide"], {"shape": [1, 1600]}),
        *(operator(f"filled{k}", "tensor_binary", ["long", "across"], multiplied) for k in range(tensors)),
    ]
