"""The report of a run: a self-contained HTML page for the people who approve it, and tables for notebooks."""
