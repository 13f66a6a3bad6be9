"""Parties of agreed jobs: their files, runs and statements."""
