"""Models as a folder that is copied to a Raspberry Pi and installed there: what ``glsl-infer deploy`` makes.

``description`` is the YAML file, ``fetch`` gets its sources, ``raspberry_pi`` writes the unit and the install script,
``wheel`` packs this glsl-infer, ``folder`` puts everything together.
"""
