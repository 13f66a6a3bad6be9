"""`secfc bench`: what a run costs beside plaintext, measured in one go."""
