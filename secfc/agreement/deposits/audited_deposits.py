"""What holds of the deposits of a run, by the parties' statements and what is in the store.

Members sign what they hold. Each statement names the digests of all holdings, and the digest that its run was
bound to (`Agreement.run_digest`), which follows from them. A deposit's file has what its owner signed, alike
for all members, and its certificate: whoever has the roster can check both. What is sealed in it only its
member can.
"""

from collections.abc import Sequence

from secfc.agreement.deposits.admission import Certificate
from secfc.agreement.deposits.holdings import Deposits, call_of, closed
from secfc.agreement.job_file import Agreement
from secfc.agreement.statement import Statement, difference
from secfc.errors import AgreementError, MessageError, StorageError
from secfc.sharing.deposits import Call

_SHOWN = 20
"""Owners that are named, and of those left out."""


def check_deposits(statements: Sequence[Statement], agreement: Agreement) -> list[str]:
    """What was checked, a line each; AgreementError, or StorageError, for the first thing that does not hold.

    The statements' signatures have been checked.
    """
    silent = [one.party for one in statements if not (one.deposits and one.holdings)]
    if silent:
        raise AgreementError(f"{', '.join(silent)}: its statement names no deposits, or no holdings")
    if who := difference({one.party: (one.deposits, *one.holdings) for one in statements}):
        raise AgreementError(f"they state different holdings: {who}")
    digest, holdings = statements[0].deposits or "", statements[0].holdings
    if len(holdings) != agreement.job.n:
        raise AgreementError(f"{len(holdings)} holdings are stated, the job has {agreement.job.n} members")
    deposits = Deposits.of(agreement)
    found = closed(deposits, stated={member: bytes.fromhex(one) for member, one in enumerate(holdings, 1)})
    if found.agreement.run_digest.hex() != digest:
        raise AgreementError("the holdings that are stated are not those of the run that is stated")
    owners, call = found.complete.owners, call_of(agreement)
    said, names = found.complete.said, agreement.names
    count = f"{len(said)} owners with {sum(owners)} rows"
    lines = [f"deposits of {count} are signed by all members, {digest[:16]}"]
    for owner in said:
        one = _certificate(deposits, call, owner, said[owner], found.names[owner])
        if len(lines) <= _SHOWN:
            text = f"{names[one.member - 1]} admitted {one.name} (owner {owner}), who signed its deposit"
            lines.append(f"{text} of {owners[owner - 1]} rows, {said[owner].hex()[:16]}")
    if len(said) > _SHOWN:
        lines.append(f"{len(said) - _SHOWN} more owners were admitted, and signed their deposits")
    left_out = found.left_out
    lines += [f"left out: {text}" for text in left_out[:_SHOWN]]
    if len(left_out) > _SHOWN:
        lines.append(f"left out: {len(left_out) - _SHOWN} more")
    return lines


def _certificate(deposits: Deposits, call: Call, owner: int, said: bytes, name: str) -> Certificate:
    """The certificate of an owner of this name whose deposit has this digest."""
    for member in range(1, call.job.n + 1):
        try:
            certificate, deposit = deposits.deposit(member, owner)
            if call.said(deposit) == said and certificate.name == name:
                certificate.check(deposits.agreement)
                call.check_signed(deposit, certificate.key)
                return certificate
        except (MessageError, StorageError):
            continue  # another member's file may be whole
    raise AgreementError(f"owner {owner}: no file in the store is the deposit that members signed")
