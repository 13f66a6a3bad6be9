"""Values of options that were retired, and what serves instead. An error says so wherever one is given."""

CHOICES = {
    ("disclosure", "distances"): 'the server learned nearly every row; use "labels", with which nobody '
    'learns a distance, or "coded", the protocol of the paper',
}
"""By name of the option and value."""


def retired_choice(name: str, value: object) -> str:
    """What serves instead of an option's value that was retired; empty if it was not."""
    instead = CHOICES.get((name, value)) if isinstance(value, str) else None
    return f"it was retired: {instead}" if instead else ""
