"""A model's card: what it is made from, its pictures, its text. ``training/model_card.py`` is the command."""
