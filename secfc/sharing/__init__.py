"""Shares of rows: dealt, checked, proved, opened."""
