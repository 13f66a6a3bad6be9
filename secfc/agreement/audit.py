"""Checks a summary: who signed it, and whether all signatures are about the same run of the same job."""

from dataclasses import dataclass

from secfc.agreement.deposits.audited_deposits import check_deposits
from secfc.agreement.job_file import Agreement
from secfc.agreement.public_errors import COMPLETE
from secfc.agreement.statement import SignedStatement, Statement, Summary, difference
from secfc.errors import AgreementError, SealError, StorageError
from secfc.errors.codes import Code


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of one check, with a reason if it failed."""

    holds: bool
    text: str
    missing: str | None = None  # the party whose statement is missing
    code: Code | None = None  # of the error, where one was found
    advice: str = ""  # what to do


def audit(summary: Summary, agreement: Agreement) -> list[Finding]:
    """Check a summary, which is not trusted, against the auditor's own agreement, roster included."""
    same = summary.agreement == agreement.to_json()
    of_file = f"those of the job file ({agreement.digest.hex()[:16]})"
    text = f"job and roster are {of_file}" if same else f"job or roster in it are not {of_file}"
    findings = [Finding(holds=same, text=text)]
    by_name: dict[str, list[SignedStatement]] = {name: [] for name in agreement.names}
    for one in summary.statements:
        party = one.statement.party
        if party in by_name:
            by_name[party].append(one)
        else:
            findings.append(_wrong(f"{party!r}: unknown signer; no party of the roster has this name"))
    valid: list[SignedStatement] = []
    for number, (name, given) in enumerate(by_name.items(), 1):
        finding = _of_party(number, name, given, agreement)
        findings.append(finding)
        if finding.holds:
            valid += given
    if valid:
        findings += [
            _agree(valid, "run", "run", "they state different runs"),
            _agree(
                [one for one in valid if one.statement.introductions is not None],
                "introductions",
                "keys and row counts of all parties",
                "they were shown different introductions",
            ),
            _of_ending(valid, agreement),
        ]
        if agreement.owners is not None:
            findings += _of_deposits([one.statement for one in valid], agreement)
    return findings


def _wrong(text: str) -> Finding:
    return Finding(holds=False, text=text)


def _of_party(number: int, name: str, given: list[SignedStatement], agreement: Agreement) -> Finding:
    if not given:
        return Finding(holds=False, text=f"{name}: its statement is missing", missing=name)
    if len(given) > 1:
        return _wrong(f"{name}: {len(given)} statements in its name, there must be one")
    statement = given[0].statement
    try:
        agreement.consortium.roster.verify(number, given[0].signature, statement.signed_bytes())
    except SealError:
        return _wrong(f"{name}: its statement was changed, or signed by another key than the roster's")
    if statement.client != number:
        return _wrong(f"{name}: signed as client {statement.client}, in the roster it is client {number}")
    if statement.job != agreement.digest.hex():
        return _wrong(f"{name}: signed for another job, {statement.job[:16]}")
    sent = sum(one.bytes for one in statement.sent.values())
    text = f"{name}: its signature holds; {sent} bytes left it; ended: {statement.ended}"
    return Finding(holds=True, text=text)


def _agree(valid: list[SignedStatement], key: str, what: str, otherwise: str) -> Finding:
    values = {one.statement.party: getattr(one.statement, key) for one in valid}
    if who := difference(values):
        return _wrong(f"{otherwise}: {who}")
    shown = f" {next(iter(values.values()))[:16]}" if values else ""
    return Finding(holds=True, text=f"all statements with a valid signature have the same {what}{shown}")


def _of_ending(valid: list[SignedStatement], agreement: Agreement) -> Finding:
    """Whether all parties had the same result. A failed run does not make its summary wrong."""
    done = [one.statement for one in valid if one.statement.ended == COMPLETE]
    results = {(one.iterations, one.converged) for one in done}
    if len(results) > 1:
        return _wrong("they state different results: numbers of iterations, or whether the run converged")
    if not done:
        return Finding(holds=True, text="the run did not end with a result")
    iterations, converged = results.pop()
    how = "converged" if converged else "ended without converging"
    text = f"the run {how} after {iterations} iterations; {len(done)} of {len(agreement.names)} state it"
    return Finding(holds=True, text=text)


def _of_deposits(valid: list[Statement], agreement: Agreement) -> list[Finding]:
    try:
        return [Finding(holds=True, text=text) for text in check_deposits(valid, agreement)]
    except (AgreementError, StorageError) as error:
        return [_wrong(f"deposits: {error}")]
