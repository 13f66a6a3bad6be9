"""What comes before the first iteration: rows are shared and checked, and the first sets are chosen."""
