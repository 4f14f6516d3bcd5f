"""Models as a folder that is copied to a Raspberry Pi and installed there: what ``glsl-infer deploy`` makes.

``description`` is the YAML file, ``fetch`` gets its sources, ``raspberry_pi`` writes the unit and the install script,
``folder`` puts everything together.
"""
