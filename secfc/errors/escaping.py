"""Escapes text from another party so that it can be logged and printed."""

MOST_SHOWN = 500  # characters


def shown(text: object, most: int = MOST_SHOWN) -> str:
    r"""The text in one line of at most `most` characters, with all non-printable characters escaped.

    Line breaks, the escape character of terminals and characters that change the direction of writing appear
    as Python escapes, such as ``\n``, ``\x1b`` and ``\u202e``. ``...`` is added to a text that was cut.
    """
    given = str(text)
    whole = "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in given[:most]
    )
    return whole[:most] + "..." if len(given) > most or len(whole) > most else whole
