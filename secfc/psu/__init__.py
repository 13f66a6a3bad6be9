"""Private set union: all learn which IDs there are, none whose they are (docs/protocol.md, "Phase union")."""
