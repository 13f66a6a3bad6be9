"""Deposits as files, and runs of a committee."""
