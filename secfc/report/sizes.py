"""Numbers as text."""


def bytes_text(count: int) -> str:
    """A count of bytes, with a decimal unit."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.2f} GB"
