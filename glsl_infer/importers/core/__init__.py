"""The importer core: operations on tensors that are independent of the file format."""
