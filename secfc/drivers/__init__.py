"""Drivers move messages between the roles. They own clocks and processes."""
