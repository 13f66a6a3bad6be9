"""Private set union: all learn which IDs there are, none whose they are (docs/union.md, "Phase union")."""
