"""What makes Mesa's llvmpipe start sooner; results are unchanged."""
