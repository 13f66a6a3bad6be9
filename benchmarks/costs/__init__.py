"""What a run costs beside plaintext, measured in one go."""
