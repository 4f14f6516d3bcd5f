"""An exported model beside the model it was made from: per layer and end to end, on pictures of one's own.

``compare`` runs both, ``measures`` has what is measured, ``page`` the report; ``glsl-infer validate`` is the command.
"""
