"""Sealing a part of shares: AES-256-GCM against ChaCha20-Poly1305, turn by turn on one core."""

import os
import time
from statistics import median

import cryptography
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

from secfc.row_layout import PART_BYTES
from secfc.sealing.channel import TAG_BYTES

TURNS, REPEATS = 21, 50


def seconds(cipher: AESGCM | ChaCha20Poly1305, payload: bytes, room: bytearray) -> float:
    """CPU seconds of sealing the payload."""
    before = time.process_time()
    for number in range(REPEATS):
        cipher.encrypt_into(number.to_bytes(12, "little"), payload, b"", room)
    return (time.process_time() - before) / REPEATS


def measure() -> None:
    """Print both rates and their ratio."""
    payload, room = os.urandom(PART_BYTES), bytearray(PART_BYTES + TAG_BYTES)
    turns = [
        (
            seconds(AESGCM(os.urandom(32)), payload, room),
            seconds(ChaCha20Poly1305(os.urandom(32)), payload, room),
        )
        for _ in range(TURNS)
    ]
    aes, chacha = (PART_BYTES / median(column) / 1e9 for column in zip(*turns, strict=True))
    ratio = median(other / one for one, other in turns)
    print(f"cryptography {cryptography.__version__}, parts of {PART_BYTES} bytes")
    print(f"AES-256-GCM {aes:.1f} GB/s, ChaCha20-Poly1305 {chacha:.1f} GB/s, ratio {ratio:.1f}")
