"""The first sets: public ones, and rows that are drawn in secret."""
