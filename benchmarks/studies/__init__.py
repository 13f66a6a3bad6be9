"""Measurements for single decisions and constants of the protocol."""
