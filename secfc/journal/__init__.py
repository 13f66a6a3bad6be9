"""What a party writes down so that, killed at any moment, it goes on where it was (docs/decisions/019)."""
