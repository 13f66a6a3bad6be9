"""Private set union: every party learns which IDs exist, none learns whose (docs/union.md, "Phase union")."""
