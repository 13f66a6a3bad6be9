"""The SecFC protocol as plain objects: messages, their encoding, and the client and server roles.

Nothing here opens a socket, reads a clock, starts a process or uses a global generator: drivers do.
"""
