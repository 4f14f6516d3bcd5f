"""How fast a bundle runs on this machine, and what it takes: what ``glsl-infer benchmark`` measures.

``measuring.measure`` gives a result as plain data, which result.schema.json describes; performance.md says how to
read every number of it.
"""
