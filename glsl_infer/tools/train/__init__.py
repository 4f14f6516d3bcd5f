"""Training of a classifier of the user's classes: photographs in folders -> a bundle of shipped features and a new last layer."""
