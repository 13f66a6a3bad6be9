"""Test vectors of BIP-39's authors (trezor/python-mnemonic, vectors.json): entropy and words."""

BIP39_VECTORS = [
    ("00" * 16, "abandon " * 11 + "about"),
    (
        "7f" * 16,
        "legal winner thank year wave sausage worth useful legal winner thank yellow",
    ),
    ("ff" * 16, "zoo " * 11 + "wrong"),
    ("00" * 32, "abandon " * 23 + "art"),
    ("ff" * 32, "zoo " * 23 + "vote"),
]
