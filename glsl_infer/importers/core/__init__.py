"""The importer core: everything about tensors, inputs and outputs that is independent of the file format."""
