"""The phases of a run: identify, union, share, iterate, reveal; a client's and the server's half of each.

A phase is an object. Its step takes a message and gives the phase that follows, itself or the next, and the
messages that it causes. It is constructed with all that it needs, and an error leaves no next phase.
"""
