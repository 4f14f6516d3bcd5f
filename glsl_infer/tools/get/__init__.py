"""Published networks: a catalogue as data, fetching by pip or npm, and exporting what was fetched."""
