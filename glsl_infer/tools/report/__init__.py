"""What ``glsl-infer report`` collects about a machine: driver, self-checks, times, the GPU's counters.

``collect.collect`` gives it as plain data, ``page.page`` makes a page of it, and ``saved.read`` reads it again.
docs/engineering/boards.md compares the reports that people have sent.
"""
