"""What the importers of all kinds of files share: names, padding, the ends of a network."""
