"""Centres and spreads, opened by consent, with noise if that is agreed."""
