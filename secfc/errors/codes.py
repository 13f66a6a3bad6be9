"""The closed list of error codes. Other parties get only an error's type, code and public numbers.

A code says what kind of thing is wrong. It contains no path, column, value or row. The party where the error
arose keeps the whole text in its own log (docs/how-to/errors.md).
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
        "the party's data has a column that the job does not allow",
        "Remove the column, or list it as a column to leave out.",
    )
    REPEATED_COLUMN = (
        "repeated-column",
        "two columns of the party's data have one name, or one column has two uses",
        "Give each column one name and one use.",
    )
    NO_COLUMN = ("no-column", "no column is left to cluster", "Name at least one column.")
    NOT_A_NUMBER = (
        "not-a-number",
        "a column of numbers has a value that is not a number",
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
        "a value is not among the categories of the schema",
        "Correct the values, or agree on a schema with the category.",
    )
    BAD_LABELS = (
        "bad-labels",
        "start labels are missing, too many or too few, or not from 0 to k - 1",
        "Write one label from 0 to k - 1 for each row.",
    )
    BAD_WEIGHTS = (
        "bad-weights",
        "weights of rows are missing, too many or too few, or not whole numbers of 1 or more",
        "Write one whole number, 1 or more, for each row; leave out rows without weight.",
    )
    BAD_ID = (
        "bad-id",
        "a row ID is missing, empty or of a type that cannot be used",
        "Give each row an ID that is a text or an integer.",
    )
    DUPLICATE_ID = (
        "duplicate-id",
        "a row ID occurs twice",
        "Remove the repeated rows, or agree on which party has them.",
    )
    TOO_FEW_ROWS = (
        "too-few-rows",
        "there are too few rows for the job",
        "Add rows, or agree on fewer clusters.",
    )
    MISSING_FILE = ("missing-file", "a file does not exist", "Check the paths in the site file.")
    UNREADABLE_FILE = (
        "unreadable-file",
        "a file cannot be read: its type, its encoding, its form or its permissions are wrong",
        "Check the file that the party's own log names.",
    )
    DATABASE = (
        "database",
        "a database cannot be reached, or refuses the query",
        "Check the URL, the account and the query in the site file.",
    )
    BAD_DATA = ("bad-data", "the party's data cannot be used", "Read the party's own log.")

    # A party's machine
    DISK_FULL = ("disk-full", "a disk is full", "Free some space and run again.")
    UNWRITABLE = (
        "unwritable",
        "a file or folder for results or storage cannot be written",
        "Check the permissions of the folders that the site file names.",
    )
    STORAGE = (
        "storage",
        "the files that the party stored for the run cannot be used",
        "The run cannot be resumed at this party; start a new run.",
    )

    # What the parties agreed on
    BAD_PARAMETER = (
        "bad-parameter",
        "a setting, an argument or a key file cannot be used",
        "Read the party's own log.",
    )
    THRESHOLD = ("threshold", "there are too few clients for t and ell", "Agree on a smaller t or ell.")
    LIMIT = ("limit", "the party's limits forbid the job", "Agree on another job, or change the limits.")
    LIMIT_SMALLEST_SET = (
        "limit-smallest-set",
        "a set has fewer rows than the party's limits allow",
        "Agree on fewer clusters or another start, or change the limits.",
    )
    LIMIT_ROUNDS = (
        "limit-rounds",
        "the run takes more rounds than the party's limits allow",
        "Agree on fewer iterations and starts, or change the limits.",
    )
    LIMIT_ROWS = (
        "limit-rows",
        "the parties have more rows than the party's limits allow",
        "Use fewer rows, or change the limits.",
    )
    LIMIT_SHARE = (
        "limit-share",
        "one party has a larger share of all rows, or of all weight, than the party's limits allow",
        "Use fewer rows of that party, or change the limits.",
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
    EXPIRED = (
        "expired",
        "the last day of the job or of a certificate has passed",
        "Agree on a new job with a later day; if it is a certificate, make a new consortium.",
    )
    NO_RUNS_LEFT = (
        "no-runs-left",
        "the party has taken part in all the runs that the job allows",
        "Agree on a new job, or on more runs.",
    )
    KEY_NOT_IN_ROSTER = (
        "key-not-in-roster",
        "the party's key is not its key in the roster",
        "Use the key of the roster, or agree on a new roster.",
    )
    OTHER_VERSION = (
        "other-version",
        "a file was made by a version of secfc with another protocol",
        "Install the version that the error names.",
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
        "Compare the versions of all parties. If they are equal, a party or the network does not follow "
        "the protocol.",
    )
    BAD_SIGNATURE = (
        "bad-signature",
        "a signed or sealed message is not from the party that it names, or is for another step or "
        "another run",
        "Compare the party's key with the roster. If they are equal, somebody changed the message.",
    )
    CHEATING_SERVER = (
        "cheating-server",
        "the server sent clients different values, or values that contradict their shares",
        "Do not use this server again before you know the cause.",
    )
    IMPOSSIBLE_TOTALS = (
        "impossible-totals",
        "the opened totals cannot be totals of any values",
        "A party did not follow the protocol when the totals were opened.",
    )
    UNION = (
        "union",
        "the union of the parties' IDs cannot be found",
        "Compare the number of IDs of all parties with ids_cap of the job.",
    )
    OTHER_ID_KEY = (
        "other-id-key",
        "two clients hash their IDs with different keys",
        "Give all parties copies of one ID key.",
    )
    IMPOSSIBLE_DISTANCES = (
        "impossible-distances",
        "distances of a round are larger than the bound allows, so shared rows or an answer are wrong",
        "Ask all parties whether their versions of secfc and their rows are as agreed.",
    )
    TOO_MANY_FAULTS = (
        "too-many-faults",
        "too many parties vanished or lied for the run to continue",
        "Ask the parties that the error names as lost.",
    )
    UNION_OPENED = (
        "union-opened",
        "a party was lost after the union of IDs was opened; the run needs all its parties",
        "Start a new run with all parties. A new run without the lost party shows how many rows it "
        "held, and somebody who can guess IDs learns which; do so only if all parties agree.",
    )
    PARTY_VANISHED = (
        "party-vanished",
        "the party's process ended, or the connection to it was lost",
        "Read the party's own log and check the network.",
    )
    TIMEOUT = (
        "timeout",
        "the party did not answer in time",
        "Read the party's own log and check the network.",
    )
    IN_USE = (
        "in-use",
        "another command uses the folder",
        "Wait until that command has ended, or end it.",
    )
    STOPPED = ("stopped", "a user or another program stopped the run", "Start a new run.")
    INTERNAL = ("internal", "an error in the program", "Read the party's own log, and report the error.")


def code_of_write(error: OSError) -> Code:
    """The code for a failed write."""
    return Code.DISK_FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else Code.UNWRITABLE


def code_of_read(error: OSError) -> Code:
    """The code for a failed read."""
    return Code.MISSING_FILE if isinstance(error, FileNotFoundError) else Code.UNREADABLE_FILE
