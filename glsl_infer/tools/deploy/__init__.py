"""Folder with models to copy to a Raspberry Pi and install there, created by ``glsl-infer deploy``.

``description`` is the YAML file, ``fetch`` gets its sources, ``raspberry_pi`` writes the unit and the install script,
``wheel`` packs this glsl-infer, ``folder`` combines them.
"""
