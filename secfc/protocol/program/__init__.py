"""A run as one program that all parties run: what they bring to it, and how its messages travel."""
