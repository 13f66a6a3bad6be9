"""Runs on a network that goes wrong, with clients that lie: scenarios, and a search for broken promises."""
