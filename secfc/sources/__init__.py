"""Sources of rows: text files, workbooks, PostgreSQL, SQLite, and files and databases of DuckDB."""

from secfc.codes import Code
from secfc.errors import ParameterError


def missing(library: str, purpose: str, extra: str, *, code: Code | None = None) -> ParameterError:
    """The error for a library that is not installed."""
    text = f"{library} is needed for {purpose}, pip install '.[{extra}]' in a checkout of secfc"
    return ParameterError(text, code=code)
