"""Calls between a coordinator and the parties' processes."""
