"""What a party writes to disk so that it can continue a run after it was killed (docs/decisions/019)."""
