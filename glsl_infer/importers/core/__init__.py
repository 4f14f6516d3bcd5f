"""The importer core: everything about operators on tensors that does not depend on the kind of file."""
