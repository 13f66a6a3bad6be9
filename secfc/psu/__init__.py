"""Private set union: everybody learns which IDs there are, nobody whose they are (docs/protocol.md, "Union")."""
