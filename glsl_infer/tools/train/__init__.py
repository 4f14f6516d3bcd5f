"""Training of a classifier on the user's photographs.

Folders of photographs become a bundle of shipped features and a new last layer.
"""
