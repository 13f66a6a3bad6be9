"""Who has signed a job, and which signatures are valid."""

import pytest

from secfc.agreement.signatures import (
    check_signed,
    collect,
    read_signatures,
    signatures_path,
    standing,
)
from secfc.errors import AgreementError, ParameterError
from secfc.version import PROTOCOL, VERSION


@pytest.fixture
def path(organisations):
    return signatures_path(organisations.job)


def test_all_signatures_are_needed(organisations, path):
    with pytest.raises(AgreementError, match=r"not all .*: north \(not signed\), south \(not signed\), west"):
        check_signed(organisations.agreement, path)
    organisations.sign("north", "west")
    with pytest.raises(
        AgreementError, match=r"job\.signatures: not all .* [0-9a-f]{16}: south \(not signed\)$"
    ):
        check_signed(organisations.agreement, path)
    organisations.sign("south")
    check_signed(organisations.agreement, path)


def test_signatures_are_kept_in_the_order_of_clients_once_each(organisations, path):
    for name in ("west", "north", "west", "south"):
        organisations.sign(name)
    assert [one.party for one in read_signatures(path)] == ["north", "south", "west"]


def test_signatures_of_a_job_that_was_changed_are_worth_nothing(organisations, path):
    organisations.sign()
    before = organisations.agreement.digest.hex()[:16]
    organisations.replace(organisations.job, "k = 2", "k = 3")
    found = standing(organisations.agreement, read_signatures(path))
    assert set(found.values()) == {f"signed another job, {before}"}
    organisations.sign("south")
    assert standing(organisations.agreement, read_signatures(path))["south"] == "signed"


def test_a_signature_by_another_key_is_told(organisations, path):
    organisations.sign()
    text = path.read_text().replace('party = "west"', 'party = "x"').replace('"north"', '"west"')
    path.write_text(text)
    found = standing(organisations.agreement, read_signatures(path))
    assert found["west"] == "wrong signature: not by the key in the roster"
    assert found["north"] == "not signed"


def test_wrong_signatures_are_not_collected(organisations, path):
    organisations.sign("north")
    before = path.read_bytes()
    north = organisations.signature("north")
    agreement = organisations.agreement
    for one, told in (
        ({"party": "east"}, "'east' has signed, but is no party"),
        ({"party": "south"}, "south: wrong signature"),
        ({"signature": bytes(64)}, "north: wrong signature"),
        ({"digest": "0" * 64}, "north: signed another job, 0000000000000000; the job is"),
    ):
        with pytest.raises(AgreementError, match=told):
            collect(agreement, path, [north.model_copy(update=one)])
    assert path.read_bytes() == before


def test_a_file_of_signatures_that_is_wrong_is_told_by_line(organisations, path):
    organisations.sign("north")
    text = path.read_text()
    digest = organisations.agreement.digest.hex()
    for changed, told in (
        (text.replace(digest, digest[:-1]), r"job\.signatures:7: signature\[1\]\.digest: "),
        (text.replace(digest, digest.upper()), r"job\.signatures:7: signature\[1\]\.digest: "),
        (
            text.replace('signature = "', 'signature = "!'),
            r"job\.signatures:8: signature\[1\]\.signature: 64 bytes in base64",
        ),
        (text + "more = 1\n", r"job\.signatures:9: signature\[1\].more: unknown key"),
    ):
        path.write_text(changed)
        with pytest.raises(ParameterError, match=told):
            read_signatures(path)


def test_a_signature_of_another_protocol_says_both_versions(organisations, path):
    organisations.sign()
    path.write_text(path.read_text().replace(f"protocol = {PROTOCOL}", "protocol = 99", 1))
    found = standing(organisations.agreement, read_signatures(path))
    told = f"made by secfc {VERSION}, protocol 99; this is secfc {VERSION}, protocol {PROTOCOL}"
    assert found == {"north": f"its signature was {told}", "south": "signed", "west": "signed"}
    with pytest.raises(AgreementError, match="north: its signature was made by secfc"):
        collect(organisations.agreement, path, read_signatures(path))


def test_a_signature_covers_the_versions(organisations, path):
    changed = organisations.signature("north").model_copy(update={"secfc": "9.9"})
    with pytest.raises(AgreementError, match="north: wrong signature"):
        collect(organisations.agreement, path, [changed])
