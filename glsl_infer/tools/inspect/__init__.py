"""What is in a bundle, for people."""
