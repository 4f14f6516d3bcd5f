"""Networks of the AI Benchmark in Keras, each according to its paper, with seeded weights.

The benchmark is from Ignatov et al., "AI Benchmark: Running Deep Neural Networks on Android Smartphones" (2018).
``networks.NETWORKS`` lists the networks. ``python -m training.aibench.build`` writes ``.keras`` files for ``glsl-infer
aibench``.
"""
