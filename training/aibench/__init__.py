"""The networks of the AI Benchmark, in Keras: each after its own paper, with seeded weights.

The benchmark is that of Ignatov et al., "AI Benchmark: Running Deep Neural Networks on Android Smartphones" (2018).
``networks.NETWORKS`` lists them; ``python -m training.aibench.build`` writes them as ``.keras`` files, which
``glsl-infer aibench`` exports and runs.
"""
