"""Pictures: decoding, preprocessing, scaling, tiling, and upload to the GPU."""
