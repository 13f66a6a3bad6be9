"""Files on which organisations agree before a run, and statements that they sign after it."""
