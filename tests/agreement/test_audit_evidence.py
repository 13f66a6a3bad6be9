"""A party's record of a coordinator that cheated is proof for anyone with the job; no other record is."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from secfc.agreement.audit import audit_evidence, read_evidence
from secfc.agreement.key_files import read_key
from secfc.cli.app import app
from secfc.crypto.identity import Identity
from secfc.crypto.proof import Signer
from secfc.protocol.contradiction import Contradiction
from secfc.protocol.messages import SERVER, Assignment, Challenge, LeaveOut
from secfc.protocol.messages.wire import decode, encode

RUN = bytes(range(16))


def asked(recipient, *, sets=(0, 1), round_=1, run=RUN):
    head = {"run": run, "sender": SERVER, "recipient": recipient, "round": round_}
    return Assignment(**head, sets=np.array(sets, dtype=np.int32))


def proof(organisations, message):
    """Proof of a message that the coordinator signed for its recipient."""
    agreement = organisations.agreement
    session = agreement.session(message.run)
    signer = Signer(session, read_key(organisations.coordinator_key))
    k = agreement.job.k
    return decode(encode(message, k=k, signer=signer), k=k, session=session).proof


def evidence(organisations, first, second):
    return Contradiction(
        agreement=organisations.agreement.digest,
        first=proof(organisations, first),
        second=proof(organisations, second),
    )


@pytest.fixture
def audited(organisations):
    """Status and output of the command, for evidence as JSON text."""

    def run(text):
        path = organisations.folder / "evidence.json"
        path.write_bytes(text)
        result = CliRunner().invoke(app, ["audit", str(path), "--job", str(organisations.job)])
        return result.exit_code, re.sub(r"\s+", " ", result.output)

    return run


@pytest.fixture
def found(organisations):
    return evidence(organisations, asked(1), asked(2, sets=(1, 0)))


def test_two_signed_assignments_of_one_round_hold(organisations, audited, found):
    status, output = audited(found.to_json())
    assert status == 0
    assert output.startswith(
        f"holds hub cheated in the run {RUN.hex()}: it signed two of Assignment of round 1"
    )
    digests = [one.digest.hex()[:16] for one in (found.first, found.second)]
    assert digests[0] != digests[1]
    assert " and ".join(digests) in output


FIELDS = [
    ("agreement",),
    *((name, field) for name in ("first", "second") for field in ("header", "digest", "signature")),
]


@pytest.mark.parametrize("field", FIELDS, ids=".".join)
def test_evidence_with_a_bit_changed_in_a_field_does_not_hold(audited, found, field):
    values = json.loads(found.to_json())
    *place, key = field
    inside = values[place[0]] if place else values
    data = bytearray.fromhex(inside[key])
    for at in range(len(data)):
        data[at] ^= 1
        inside[key] = data.hex()
        data[at] ^= 1
        if at in (0, len(data) // 2, len(data) - 1):
            status, output = audited(json.dumps(values).encode())
            assert status == 1
            assert output.startswith("DOES NOT HOLD")


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values.update(format="secfc evidence 2"),
        lambda values: values.pop("second"),
        lambda values: values["first"].pop("digest"),
        lambda values: values["first"].update(digest="ab"),
        lambda values: values["second"].update(signature=7),
        lambda values: values.update(agreement="no hex"),
    ],
)
def test_what_is_no_evidence_is_refused(audited, found, change):
    values = json.loads(found.to_json())
    change(values)
    status, output = audited(json.dumps(values).encode())
    assert status not in (0, 1)
    assert "hub cheated" not in output


def test_evidence_of_another_job_or_roster_does_not_hold(organisations, audited, found):
    """Another key of the coordinator makes another roster, and so another agreement."""
    text, agreement = found.to_json(), organisations.agreement
    organisations.replace(organisations.job, "runs = 100", "runs = 99")
    status, output = audited(text)
    assert status == 1
    assert f"DOES NOT HOLD evidence of another job, {agreement.digest.hex()[:16]}" in output
    organisations.replace(organisations.job, "runs = 99", "runs = 100")
    assert audited(text)[0] == 0
    # Signed with the key of another person, who claims that the agreement is this one.
    stranger = Identity()
    values = json.loads(text)
    for name, one in (("first", found.first), ("second", found.second)):
        statement = b"secfc server 1" + found.agreement + one.header + one.digest
        values[name]["signature"] = stranger.sign(statement).hex()
    status, output = audited(json.dumps(values).encode())
    assert status == 1
    assert "its message is not signed" in output


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (asked(1), asked(1)),
        (asked(1), asked(2)),
        (asked(1), asked(2, sets=(1, 0), round_=2)),
        (asked(1), asked(2, sets=(1, 0), run=bytes(16))),
        (asked(1), Challenge(run=RUN, sender=SERVER, recipient=2, round=1, seed=bytes(32))),
        (
            LeaveOut(run=RUN, sender=SERVER, recipient=1, client=2),
            LeaveOut(run=RUN, sender=SERVER, recipient=1, client=3),
        ),
    ],
    ids=["one message", "equal bodies", "other rounds", "other runs", "other types", "two clients left out"],
)
def test_two_messages_that_an_honest_coordinator_may_sign_do_not_hold(organisations, audited, first, second):
    status, output = audited(evidence(organisations, first, second).to_json())
    assert status == 1
    assert "the two messages do not contradict each other" in output


def test_evidence_is_told_from_a_summary(organisations, found):
    path = organisations.folder / "evidence.json"
    path.write_bytes(found.to_json())
    assert [one.holds for one in audit_evidence(read_evidence(path), organisations.agreement)] == [True]
    path.write_text("{}")
    assert read_evidence(path) is None


def test_a_key_of_a_party_is_refused_as_the_coordinators(organisations):
    """The command that writes a roster refuses it in either order; the file does not change."""
    invoke, folder = CliRunner().invoke, organisations.folder
    for name in ("one", "two"):
        assert invoke(app, ["keygen", str(folder / f"{name}.key"), "--name", name]).exit_code == 0
    same = (folder / "one.pub").read_text().replace('name = "one"', 'name = "other"')
    (folder / "other.pub").write_text(same)
    path, parties = folder / "new.toml", [str(folder / "one.pub"), str(folder / "two.pub")]
    refused = invoke(app, ["roster", "add", str(path), *parties, "--coordinator", str(folder / "other.pub")])
    assert refused.exit_code != 0
    assert "the coordinator (other): the key of party 1 too" in re.sub(r"\s+", " ", refused.output)
    assert not path.exists()
    assert invoke(app, ["roster", "add", str(path), *parties]).exit_code == 0
    before = path.read_bytes()
    add = ["roster", "add", str(path), "--coordinator"]
    assert invoke(app, [*add, str(folder / "other.pub"), str(folder / "two.pub")]).exit_code != 0
    assert path.read_bytes() == before
