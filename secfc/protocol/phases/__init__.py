"""The phases of a run: identify, union, share, iterate, reveal. Each has a client half and a server half.

A phase is an object. Its `step` takes a message and returns the following phase (itself or the next one) and
the messages to send. The constructor gets everything the phase needs. After an error there is no next phase.
"""
