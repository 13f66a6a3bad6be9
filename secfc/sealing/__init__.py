"""Sealed messages between clients: who they are (identity), how they meet (handshake), sealing (channel).

The server relays these messages and can neither read, change, move nor repeat one unnoticed.
"""
