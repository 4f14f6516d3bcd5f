"""The AI Benchmark: nine tests, their rules and a score. ``glsl-infer aibench`` is the command.

The rules are those of Ignatov et al., "AI Benchmark: Running Deep Neural Networks on Android Smartphones" (2018).

``tests`` has the table, ``bundles`` makes what runs, ``timing`` and ``largest`` run it, ``score`` adds up.
"""
