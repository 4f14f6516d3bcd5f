"""Speed and resources of a bundle on this machine, measured by ``glsl-infer benchmark``.

``measuring.measure`` returns a result as plain data, whose format is result.schema.json. performance.md explains every
figure.
"""
