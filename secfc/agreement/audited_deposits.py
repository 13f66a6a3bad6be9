"""What holds of the deposits of a run, by the parties' statements and what is in the store.

Members sign what they hold, and each statement names the digest that its run was bound to
(`Agreement.run_digest`). A deposit's file has what its owner signed, alike for all members, and its
certificate: whoever has the roster can check both. What is sealed in it only its member can.
"""

from collections.abc import Mapping, Sequence
from itertools import islice, product

from secfc.agreement.admission import Certificate
from secfc.agreement.holdings import Closed, Deposits, call_of, closed
from secfc.agreement.job_file import Agreement
from secfc.agreement.statement import Statement
from secfc.errors import AgreementError, MessageError, StorageError
from secfc.protocol.deposits import Call

_SHOWN = 20
"""Owners that are named, and of those left out."""

_TRIED = 3
"""Holdings that are tried of each member without a statement; each is read as a whole."""


def check_deposits(statements: Sequence[Statement], agreement: Agreement) -> list[str]:
    """What was checked, a line each; AgreementError, or StorageError, for the first thing that does not hold.

    The statements' signatures have been checked. Of a member without a statement, the last holdings that it
    has signed are tried.
    """
    deposits, stated = Deposits.of(agreement), {one.party: one.deposits for one in statements if one.deposits}
    holdings = {
        one.client: bytes.fromhex(one.holding)
        for one in statements
        if one.holding and one.client <= agreement.job.n
    }
    silent = [
        one.party
        for one in statements
        if not one.deposits or (one.client <= agreement.job.n and not one.holding)
    ]
    if silent:
        raise AgreementError(f"{', '.join(silent)}: its statement names no deposits, or no holding")
    found = _found(deposits, holdings, stated)
    digest = found.agreement.run_digest.hex()
    others = [party for party, said in stated.items() if said != digest]
    if others:
        raise AgreementError(
            f"{', '.join(others)}: a run of other ones than all members signed that they hold"
        )
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


def _found(deposits: Deposits, holdings: Mapping[int, bytes], stated: Mapping[str, str]) -> Closed:
    """The deposits of a run by what members state. For a member without a statement: by what it has signed.

    AgreementError names members without a statement if none of their last holdings gives a stated digest.
    """
    agreement = deposits.agreement
    missing = [member for member in range(1, agreement.job.n + 1) if member not in holdings]
    if not missing:
        return closed(deposits, stated=holdings)
    signed = [list(islice(deposits.digests(member), _TRIED)) for member in missing]
    for some in islice(product(*signed), _TRIED**2):
        found = closed(deposits, stated={**holdings, **dict(zip(missing, some, strict=True))})
        if found.agreement.run_digest.hex() in stated.values():
            return found
    names = ", ".join(agreement.names[member - 1] for member in missing)
    raise AgreementError(f"{names}: without its statement, nothing that it has signed fits the run")


def _certificate(deposits: Deposits, call: Call, owner: int, said: bytes, name: str) -> Certificate:
    """The certificate of an owner of this name whose deposit has this digest.

    AgreementError where the store has none.
    """
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
