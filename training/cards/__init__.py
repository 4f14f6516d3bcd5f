"""Model cards: their sources, images and text, for the command ``training/model_card.py``."""
