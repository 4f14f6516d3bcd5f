"""Comparison of an exported model with its original: by layer and end to end, on images of the user.

``compare`` runs both, ``measures`` has the metrics, ``page`` the report; ``glsl-infer validate`` is the command.
"""
