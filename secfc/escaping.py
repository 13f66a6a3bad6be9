"""Text that another party wrote, made fit to be logged and printed."""

MOST_SHOWN = 500  # characters of another party's text that are shown


def shown(text: object, most: int = MOST_SHOWN) -> str:
    r"""The text in one line of at most `most` characters, of which only printable ones are as they were.

    Line breaks, the escape character of terminals and characters that change the direction of writing are
    written as Python writes them, such as ``\n``, ``\x1b`` and ``\u202e``; after a longer text stands
    ``...``.
    """
    given = str(text)
    whole = "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in given[:most]
    )
    return whole[:most] + "..." if len(given) > most or len(whole) > most else whole
