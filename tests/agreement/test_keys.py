"""Key files, their words, and rosters of them."""

import base64
import os
import re
import stat

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from support.bip39 import BIP39_VECTORS

from secfc.agreement.consortium import Consortium, Member, add_members, check_member, read_roster
from secfc.agreement.key_files import (
    key_bytes,
    key_text,
    key_words,
    read_ids_key,
    read_key,
    write_new_ids_key,
    write_new_key,
)
from secfc.agreement.secret_files import write_new
from secfc.agreement.words import check_words, in_lines, to_words
from secfc.crypto.identity import Identity
from secfc.errors import AgreementError, ParameterError

# Private key files


def public_of(made):
    return made.public if isinstance(made, Identity) else made


both = pytest.mark.parametrize(
    ("write", "read", "what"),
    [(write_new_key, read_key, "a private key"), (write_new_ids_key, read_ids_key, "an ID key")],
    ids=["identity", "IDs"],
)


@both
def test_a_new_key_is_readable_by_its_owner_only_and_reads_back(tmp_path, write, read, what):
    before = os.umask(0)
    try:
        made = write(tmp_path / "north.key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "north.key").stat().st_mode) == 0o600
    assert public_of(read(tmp_path / "north.key")) == public_of(made)
    assert public_of(write(tmp_path / "other.key")) != public_of(made)


def test_a_key_is_never_overwritten(tmp_path):
    write_new_key(tmp_path / "north.key")
    before = (tmp_path / "north.key").read_bytes()
    with pytest.raises(ParameterError, match=r"north\.key: it exists and is left as it is"):
        write_new_key(tmp_path / "north.key")
    assert (tmp_path / "north.key").read_bytes() == before


def test_a_dangling_link_is_not_followed(tmp_path):
    (tmp_path / "north.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ParameterError, match="it exists"):
        write_new_key(tmp_path / "north.key")
    assert not (tmp_path / "elsewhere").exists()


@both
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o620])
def test_a_key_that_others_may_read_or_write_is_refused(tmp_path, mode, write, read, what):
    write(tmp_path / "north.key")
    (tmp_path / "north.key").chmod(mode)
    with pytest.raises(ParameterError, match=rf"north\.key: {what} that others .*{mode:04o}"):
        read(tmp_path / "north.key")


def test_what_is_no_key_of_ours_is_refused_and_not_shown(tmp_path):
    path = tmp_path / "north.key"
    with pytest.raises(ParameterError, match=r"north\.key: No such file"):
        read_key(path)
    write_new(path, b"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n", mode=0o600)
    with pytest.raises(ParameterError, match=r"north\.key: not a private key") as caught:
        read_key(path)
    assert "c2VjcmV0" not in str(caught.value)
    other = X25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.unlink()
    write_new(path, other, mode=0o600)
    with pytest.raises(ParameterError, match="a key of another kind"):
        read_key(path)


# Public keys


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ed25519:",
        "ed25519:AAAA",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=",  # bits after the 32 bytes
        "ed25519: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "ed25519:" + base64.b64encode(bytes(33)).decode(),
    ],
)
def test_a_public_key_has_one_form(text):
    with pytest.raises(ValueError, match="32 bytes in base64"):
        key_bytes(text)


def test_a_public_key_reads_back():
    public = Identity().public
    assert key_bytes(key_text(public)) == public


# Words


@pytest.mark.parametrize(("entropy", "words"), BIP39_VECTORS)
def test_words_are_those_of_bip_39(entropy, words):
    assert to_words(bytes.fromhex(entropy)) == words
    assert check_words(words.upper().replace(" ", "\n ")) == words


def test_words_that_were_misheard_are_told_from_other_words():
    words = BIP39_VECTORS[0][1]
    with pytest.raises(ParameterError, match="their checksum is wrong"):
        check_words(words.replace("about", "abandon"))
    with pytest.raises(
        ParameterError, match=r"'abandom', the 1\. word, is not in the list; did you mean 'aban"
    ):
        check_words("abandom " + words)
    with pytest.raises(ParameterError, match=r"'zzzz', the 2\. word, is not in the list$"):
        check_words("zoo zzzz")
    with pytest.raises(ParameterError, match="a key has 12 and a roster 24, 2 were given"):
        check_words("zoo zoo")


def test_words_of_a_key_depend_on_the_key_alone():
    assert key_words(bytes(32)) == key_words(bytes(32))
    assert key_words(bytes(32)) != key_words(bytes(31) + b"\1")
    assert [len(line.split()) for line in in_lines(key_words(bytes(32)))] == [4, 4, 4]


# Rosters


def member(name, **more):
    return Member(name=name, key=Identity().public, **more)


def test_a_roster_keeps_the_order_in_which_parties_were_added(tmp_path):
    path = tmp_path / "roster.toml"
    added = [member("west", organisation='Dr. "W" \\ Söhne'), member("north"), member("south")]
    add_members(path, added[:2])
    path.write_text(path.read_text() + "# a note of ours\n")
    consortium = add_members(path, added[2:])
    assert consortium == read_roster(path) == Consortium(tuple(added))
    assert consortium.names == ("west", "north", "south")
    assert consortium.roster.keys == tuple(one.key for one in added)
    assert "# a note of ours" in path.read_text()


def test_what_cannot_be_added_leaves_the_roster_as_it_was(tmp_path):
    path = tmp_path / "roster.toml"
    north = member("north")
    add_members(path, [north])
    before = path.read_bytes()
    with pytest.raises(ParameterError, match=r"roster\.toml:8: party 2: 'North' is the name of party 1 too"):
        add_members(path, [member("North")])
    with pytest.raises(ParameterError, match=r"roster\.toml:9: party 2 \(x\): the key of party 1 too"):
        add_members(path, [Member(name="x", key=north.key)])
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["roster.toml"]


@pytest.mark.parametrize("name", ["server", "Server"])
def test_nobody_in_a_roster_has_the_name_of_flares_server(tmp_path, name):
    text = f"name: '{name}' is what FLARE calls the coordinator's process"
    with pytest.raises(ParameterError, match=text):
        check_member(name, "")
    member = Member.model_construct(name=name, key=write_new_key(tmp_path / "a.key").public)
    other = Member(name="north", key=write_new_key(tmp_path / "b.key").public)
    roster = tmp_path / "roster.toml"
    for members, coordinator, helpers in (
        ([member], None, []),
        ([other], member, []),
        ([other], None, [member]),
    ):
        with pytest.raises(ParameterError, match=rf"roster\.toml:\d+: .*{text}"):
            add_members(roster, members, coordinator, helpers)
        assert not roster.exists()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("key = ", "key = 'ed25519:'#", "7: party[2].key: 'ed25519:' and 32 bytes in base64 are needed"),
        ("south", "so uth", "6: party[2].name: 1 to 63 letters, digits, '-' and '_' are possible, a letter"),
        ("key = ", "organisation = '\t'\nkey = ", "7: party[2].organisation: at most 200 printable"),
    ],
)
def test_a_roster_that_is_wrong_is_told_by_line_and_party(tmp_path, old, new, told):
    path = tmp_path / "roster.toml"
    north, south = member("north").to_toml(), member("south").to_toml()
    path.write_text(north + "\n" + south.replace(old, new))
    with pytest.raises(ParameterError, match=re.escape(f"roster.toml:{told}")):
        read_roster(path)


@pytest.mark.parametrize("text", ["", "party = []", "[party]\nname = 'x'\n", "[[partie]]\n"])
def test_a_file_that_is_no_roster_is_refused(tmp_path, text):
    (tmp_path / "roster.toml").write_text(text)
    with pytest.raises(ParameterError, match=r"roster\.toml:1: part(y|ie)"):
        read_roster(tmp_path / "roster.toml")


def test_words_of_a_roster_change_with_a_name_a_key_or_the_order():
    first, second = member("north"), member("south")
    words = Consortium((first, second)).words
    assert len(words.split()) == 24
    assert words == Consortium((first, second)).words
    others = [
        Consortium((second, first)),
        Consortium((first, Member(name="sout", key=second.key))),
        Consortium((first, Member(name="south", organisation="x", key=second.key))),
        Consortium((first, member("south"))),
        Consortium((first,)),
    ]
    assert len({words, *(other.words for other in others)}) == 6


def test_a_key_is_found_by_name_or_by_itself(tmp_path):
    north, south = member("north"), member("south")
    consortium = Consortium((north, south))
    file = tmp_path / "a.key"
    assert consortium.number_of("south", south.key, file=file) == consortium.number_with(south.key, file=file)
    with pytest.raises(
        AgreementError, match=r"a\.key: not the key that the roster has for south \(client 2\)"
    ):
        consortium.number_of("south", north.key, file=file)
    with pytest.raises(AgreementError, match=r"'east' is not in the roster \(north, south\)"):
        consortium.number_of("east", north.key, file=file)
    with pytest.raises(AgreementError, match=r"a\.key: its public key is not in the roster"):
        consortium.number_with(bytes(32), file=file)


@pytest.mark.parametrize("name", ["", "a b", "-a", "ä", "a/b", "a" * 64, "a\n"])
def test_names_that_no_party_can_have(name):
    with pytest.raises(ParameterError, match="name: 1 to 63 letters"):
        check_member(name, "")
