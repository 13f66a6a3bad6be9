"""What a run costs compared with plaintext, measured in the same run."""
