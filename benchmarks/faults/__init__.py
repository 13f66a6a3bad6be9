"""Runs on a faulty network with clients that lie: scenarios, and a search for broken promises."""
