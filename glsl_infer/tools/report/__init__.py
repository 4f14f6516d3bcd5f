"""Report on a machine by ``glsl-infer report``: driver, self-checks, times, the GPU's counters.

``collect.collect`` returns it as plain data, ``page.page`` formats it as a page, and ``saved.read`` reads a saved one.
docs/engineering/boards.md compares the reports sent by users.
"""
