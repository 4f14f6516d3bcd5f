"""Names of activations for tests: every function, with parameters of each sign."""

from __future__ import annotations

from glsl_infer.graph.activations import FORMS

PARAMETERS = {
    "at_least": ("(-0.5)", "(0.25)"),
    "at_most": ("(0.5)", "(-0.25)"),
    "bent_relu": ("(0.25,0)", "(0.25,0.5,3)", "(0,-1,2)", "(-0.5,1)"),
    "celu": ("(1)", "(0.5)"),
    "clip": ("(-1,1)", "(0.25,2)"),
    "elu": ("(1)", "(0.5)", "(-0.75)"),
    "hard_shrink": ("(0.5)",),
    "leaky_relu": ("(0.3)", "(-0.3)", "(2)"),
    "piecewise_linear": ("(0.25,0.5,2,-0.25,0.75)",),
    "power": ("(1.5)", "(3)", "(4)", "(-2)", "(-1.5)", "(-0.75)", "(2.2)"),
    "prelu": ("(0.25,-0.5,1.5,0,0.125,-2)", "(-1,0,0.5,0.25,1,-0.25)"),
    "relu": ("", "(6)"),
    "soft_shrink": ("(0.5)",),
    "squareplus": ("(4)", "(0.25)"),
    "threshold": ("(0.5,0.25)", "(-0.5,1)"),
}
CHANNELS = 6
"""Number of channels of the functions with parameters per channel."""

TEXTS = [f"{name}{parameters}" for name in FORMS for parameters in PARAMETERS.get(name, ("",))]
