"""The closed list of error codes. Other parties get only an error's type, code and public numbers.

A code says what kind of thing is wrong. It contains no path, column, value or row. The party where the error
arose keeps the whole text in its own log (docs/decisions/037).
"""

import errno
from enum import StrEnum


class Code(StrEnum):
    """The kind of an error, public. `meaning` and `advice` describe it in words (docs/how-to/errors.md)."""

    meaning: str
    advice: str

    def __new__(cls, value: str, meaning: str, advice: str) -> "Code":
        """A code with its meaning and advice."""
        code = str.__new__(cls, value)
        code._value_ = value
        code.meaning, code.advice = meaning, advice
        return code

    # A party's rows
    MISSING_COLUMN = (
        "missing-column",
        "a column that the job or the site file names is not in the party's data",
        "Add the column, or map its name in [data.columns] of the site file.",
    )
    EXTRA_COLUMN = (
        "extra-column",
        "the party's data has a column that it must not have",
        "Remove the column, or name it as one that is left out.",
    )
    REPEATED_COLUMN = (
        "repeated-column",
        "two columns of the party's data have one name, or one column has two uses",
        "Give each column one name and one use.",
    )
    NO_COLUMN = ("no-column", "no column is left to cluster", "Name at least one column.")
    NOT_A_NUMBER = (
        "not-a-number",
        "a column of numbers holds something else",
        "Correct the values, or leave the column out.",
    )
    MISSING_VALUE = (
        "missing-value",
        "a value is missing, NaN or infinite",
        "Fill the values in, or leave the rows out.",
    )
    OUT_OF_RANGE = (
        "out-of-range",
        "a value is outside the range that the job states, or too large",
        "Correct the values, or agree on another range.",
    )
    OFF_STEP = (
        "off-step",
        "a value is no multiple of the step that the parties agreed on",
        "Round the values, or agree on another step or on none.",
    )
    TOO_MANY_DEVIATIONS = (
        "too-many-deviations",
        "a value is further from the mean than the job allows",
        "Correct the values, or agree on another cut or on clipping.",
    )
    UNKNOWN_CATEGORY = (
        "unknown-category",
        "a value is none of the categories of the schema",
        "Correct the values, or agree on a schema with the category.",
    )
    BAD_LABELS = (
        "bad-labels",
        "start labels are missing, too many or too few, or not from 0 to k - 1",
        "Write one label from 0 to k - 1 for each row.",
    )
    BAD_WEIGHTS = (
        "bad-weights",
        "weights of rows are missing, too many or too few, or no whole numbers from 1 on",
        "Write one whole number, 1 or more, for each row; leave rows without weight out.",
    )
    BAD_ID = (
        "bad-id",
        "a row ID is missing, empty or of a type that cannot be used",
        "Give each row an ID that is a text or an integer.",
    )
    DUPLICATE_ID = (
        "duplicate-id",
        "a row ID is held twice",
        "Remove the rows that are there twice, or agree on who brings them.",
    )
    TOO_FEW_ROWS = (
        "too-few-rows",
        "there are too few rows for what the job asks for",
        "Bring more rows, or agree on fewer clusters.",
    )
    MISSING_FILE = ("missing-file", "a file is not there", "Look at the paths in the site file.")
    UNREADABLE_FILE = (
        "unreadable-file",
        "a file cannot be read: its type, its encoding, its form or its permissions are wrong",
        "Look at the file that the party's own log names.",
    )
    DATABASE = (
        "database",
        "a database cannot be reached, or refuses the query",
        "Look at the URL, the account and the query in the site file.",
    )
    BAD_DATA = ("bad-data", "the party's data cannot be used", "Look at the party's own log.")

    # A party's machine
    DISK_FULL = ("disk-full", "a disk is full", "Make room and run again.")
    UNWRITABLE = (
        "unwritable",
        "a file or folder for results or storage cannot be written",
        "Look at the permissions of the folders that the site file names.",
    )
    STORAGE = (
        "storage",
        "what the party stored of the run cannot be used",
        "The run cannot be resumed at this party; start a new run.",
    )

    # What the parties agreed on
    BAD_PARAMETER = (
        "bad-parameter",
        "a setting, an argument or a key file cannot be used",
        "Look at the party's own log.",
    )
    THRESHOLD = ("threshold", "there are too few clients for t and ell", "Agree on a smaller t or ell.")
    LIMIT = ("limit", "the party's limits forbid the job", "Agree on another job, or change the limits.")
    LIMIT_SMALLEST_SET = (
        "limit-smallest-set",
        "the server asks about a set with fewer rows than the party's limits allow",
        "Agree on fewer clusters or another start, or change the limits.",
    )
    LIMIT_ROUNDS = (
        "limit-rounds",
        "the server asks more rounds than the party's limits allow",
        "Agree on fewer iterations and starts, or change the limits.",
    )
    LIMIT_ROWS = (
        "limit-rows",
        "the parties have more rows than the party's limits allow",
        "Bring fewer rows, or change the limits.",
    )
    NO_CONSENT = (
        "no-consent",
        "the party does not consent to what the job reveals",
        "Agree on another job, or change the limits.",
    )
    NOT_AGREED = (
        "not-agreed",
        "the party did not agree to this job, roster, run or version",
        "Compare the digests of the job and the words of the roster.",
    )
    EXPIRED = ("expired", "the last day of the job has passed", "Agree on a new job with a later day.")
    NO_RUNS_LEFT = (
        "no-runs-left",
        "the party has taken part in as many runs as the job allows",
        "Agree on a new job, or on more runs.",
    )
    KEY_NOT_IN_ROSTER = (
        "key-not-in-roster",
        "the party's key is not the one that the roster has",
        "Use the key of the roster, or agree on a new roster.",
    )
    NOT_SIGNED = (
        "not-signed",
        "a signature of the job is missing or wrong",
        "Collect the signatures of all parties again.",
    )

    # What other parties do
    BAD_MESSAGE = (
        "bad-message",
        "a message is refused",
        "Look at the versions of all parties. If they are equal, a party or the network does not follow the "
        "protocol.",
    )
    BAD_SIGNATURE = (
        "bad-signature",
        "a signed or sealed message is not from the party that it names, or not for this place in this run",
        "A key is another than the roster's, or somebody changed the message.",
    )
    CHEATING_SERVER = (
        "cheating-server",
        "the server told clients different things, or something that their shares contradict",
        "Do not run again with this server before the cause is known.",
    )
    IMPOSSIBLE_TOTALS = (
        "impossible-totals",
        "totals were opened that no values have",
        "A party did not follow the protocol when the totals were opened.",
    )
    UNION = (
        "union",
        "the parties' IDs make no union",
        "Look at the number of IDs of all parties and at the job's cap on it.",
    )
    OTHER_ID_KEY = (
        "other-id-key",
        "two clients hash their IDs with different keys",
        "Give all parties copies of one ID key.",
    )
    IMPOSSIBLE_DISTANCES = (
        "impossible-distances",
        "distances of a round are larger than the bound allows: shared rows or an answer are wrong",
        "Ask who took part whether their copies of secfc and their rows are as agreed.",
    )
    TOO_MANY_FAULTS = (
        "too-many-faults",
        "more parties vanished or lied than the run can bear",
        "Look at the parties that are named as lost.",
    )
    UNION_OPENED = (
        "union-opened",
        "a party was lost after the union was opened, and nobody can be left out",
        "The union of a new run without the party shows how many rows it held, and which to those who can "
        "guess IDs. Start a new run with all parties, or agree to show that.",
    )
    PARTY_VANISHED = (
        "party-vanished",
        "the party's process ended, or the connection to it",
        "Look at the party's own log and at the network.",
    )
    TIMEOUT = (
        "timeout",
        "nothing was heard from the party in time",
        "Look at the party's own log and at the network.",
    )
    STOPPED = ("stopped", "the run was stopped from outside", "Start a new run.")
    INTERNAL = ("internal", "an error in the program", "Look at the party's own log, and report the error.")


def code_of_write(error: OSError) -> Code:
    """The code for a failed write."""
    return Code.DISK_FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else Code.UNWRITABLE


def code_of_read(error: OSError) -> Code:
    """The code for a failed read."""
    return Code.MISSING_FILE if isinstance(error, FileNotFoundError) else Code.UNREADABLE_FILE
