"""Sealed messages between clients: identity (who they are), handshake (how they meet), channel (what they seal).

The server relays these messages and can neither read, change, move nor repeat one unnoticed.
"""
