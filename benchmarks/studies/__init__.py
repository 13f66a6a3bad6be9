"""Measurements behind single decisions and constants of the protocol."""
