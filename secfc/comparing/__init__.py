"""Comparisons by three parties: masks of answers, gates for which one party deals, and their keys."""
