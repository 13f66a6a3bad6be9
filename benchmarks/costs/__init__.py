"""The costs of a run, compared with plaintext in the same measurement."""
