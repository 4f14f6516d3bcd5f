"""The AI Benchmark, run by ``glsl-infer aibench``: nine tests, their rules and a score.

The rules are those of Ignatov et al., "AI Benchmark: Running Deep Neural Networks on Android Smartphones" (2018).

``tests`` has the table, ``bundles`` builds the bundles, ``timing`` and ``largest_image`` run them, ``score`` computes
the score.
"""
