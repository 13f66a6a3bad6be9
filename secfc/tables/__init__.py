"""Rows, columns and files as people have them, and what their texts mean."""
