"""A classifier of one's own classes: photographs in folders -> a bundle of shipped features and a new last layer."""
