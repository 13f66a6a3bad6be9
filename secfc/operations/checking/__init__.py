"""The check of what holders computed, before anything that depends on it is opened."""
