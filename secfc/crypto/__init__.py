"""Sealed messages between clients: keys of parties (identity), key agreement (handshake), sealing (channel).

The server relays these messages. It cannot read one, and clients notice if it changes, moves or repeats one.
"""
