"""Totals of all clients: the sums, at clients alone, of at least two clients that do not lie, or an error."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operations.own_net import StuckError, parties_of, play
from support.sweeps import tries

import secfc
from secfc.errors import CheatError, LimitError
from secfc.field.primes import primes_of
from secfc.operations.beginning.totals import LIMIT, Addends, totals_of
from secfc.prepare import Column, Schema
from secfc.prepare.contributing import addends_of, check_holders
from secfc.prepare.tables import Checked
from secfc.sharing.codewords import Codewords

AGE = Column(name="age", low=0, high=120, scale="standardise")
DOSE = Column(name="dose", low=0, high=50, missing="mean")


def addends(numbers, *, holds=None, check=lambda holders: None):
    holds = (True,) * len(numbers) if holds is None else holds
    return Addends(m=1, holds=holds, numbers=tuple(numbers), check=check, rows_of=lambda found: found)


def net(n, t, *, max_liars=0, helpers=False):
    """Parties of a run with other primes and, if it has room, two segments."""
    ell = 2 if n >= 2 * (t + 2) - 1 else 1
    code = Codewords(n=n, t=t, ell=ell, primes=primes_of(1000))
    roles = {"dealer": 1, "first": n + 1, "second": n + 2} if helpers else {}
    return parties_of(code, max_liars=max_liars, **roles)


def run(parties, own, *, sizes=None, **more):
    """What each party learns. `own` are the clients' addends, in order."""
    sizes = [1] * len(own[0].numbers) if sizes is None else sizes
    programs = {j: totals_of(me, sizes, own[j - 1] if me.holds else None) for j, me in parties.items()}
    return play(parties, programs, **more)


NUMBERS = st.integers(0, LIMIT // 16) | st.integers(0, 9)


@tries()
@given(st.data(), st.integers(3, 9), st.integers(1, 4))
def test_clients_learn_the_sums_and_others_nothing(data, n, length):
    values = data.draw(st.lists(st.lists(NUMBERS, min_size=length, max_size=length), min_size=n, max_size=n))
    t = data.draw(st.integers(1, (n - 1) // 2))
    parties = net(n, t, helpers=True)
    primes = parties[1].code.primes
    found = run(parties, [addends(own) for own in values])
    for j, one in found.items():
        assert parties[j].code.primes == primes  # those of the run again
        if parties[j].holds:
            assert one.numbers == tuple(sum(column) for column in zip(*values, strict=True))
            assert one.holders == (n,) * length
        else:
            assert one is None


def test_the_largest_numbers_do_not_wrap_around():
    most = LIMIT // 3 - 1
    found = run(net(3, 1), [addends([most])] * 3)
    assert found[2].numbers == (3 * most,)


@pytest.mark.parametrize("numbers", [[LIMIT // 3], [-1], [1, 2], []])
def test_numbers_out_of_range_are_never_shared(numbers):
    own = [addends(numbers, holds=(True,))] * 3
    sent = []
    with pytest.raises(secfc.ParameterError, match="numbers: 1 whole numbers from 0 are needed"):
        run(net(3, 1), own, sizes=[1], carry=noted(sent))
    assert "piece" not in sent


def noted(sent):
    def carry(sender, recipient, place, data):
        sent.append(place.tag)
        return data

    return carry


def test_sizes_do_not_depend_on_what_clients_hold():
    sizes = []
    for count in (1, 900):
        found = []

        def carry(sender, recipient, place, data, found=found):
            found.append((sender, recipient, place.tag, len(data)))
            return data

        run(net(3, 1), [of_table([3.0] * count) for _ in range(3)], sizes=[3], carry=carry)
        sizes.append(sorted(found))
    assert sizes[0] == sizes[1]


def of_table(values, *, smallest=1):
    """What a party with these ages adds."""
    ages = {"age": np.array(values, dtype=float)}
    table = Checked(rows=len(values), numbers=ages, categories={}, clipped={}, missing={})
    schema = Schema(columns=(AGE,), smallest=smallest)
    return addends_of(table, schema, n=3, t=1, rows_of=lambda found: found.statistics)


# Holders


def test_too_few_holders_end_it_before_any_value_is_dealt():
    sent = []
    own = [of_table([1.0, 2.0], smallest=2), of_table([1.0], smallest=2), of_table([3.0, 4.0], smallest=2)]
    with pytest.raises(LimitError, match=r"t \+ 2 = 3 of 3 are needed.*; column 'age' 2$"):
        run(net(3, 1), own, sizes=[3], carry=noted(sent))
    assert set(sent) <= {"holds", "holders", "held"}


@pytest.mark.parametrize("told", [3, 2, 255])
def test_who_says_that_it_is_several_holders_is_refused_before_a_value_is_dealt(told):
    sent = []

    def carry(sender, recipient, place, data):
        sent.append(place.tag)
        return bytes([told]) if (sender, place.tag) == (3, "holds") else data

    with pytest.raises(CheatError, match=r"^holds: from client 3, a byte that is neither 0 nor 1$") as caught:
        run(net(3, 1), [addends([1])] * 3, carry=carry)
    assert caught.value.clients == (3,)
    assert "piece" not in sent


def test_who_tells_parties_different_holders_opens_nothing():
    sent = []

    def carry(sender, recipient, place, data):
        sent.append(place.tag)
        return b"\0" if (sender, recipient, place.tag) == (4, 2, "holds") else data

    with pytest.raises(CheatError, match="clients were told different holders of columns"):
        run(net(4, 1), [addends([1])] * 4, carry=carry)
    assert "piece" not in sent


@pytest.mark.parametrize(("n", "t"), [(3, 1), (4, 1), (5, 2), (6, 2), (7, 3)])
def test_of_t_plus_two_holders_two_are_honest_whatever_t_liars_say(n, t):
    """For all honest parties with values and all liars: nobody deals unless two honest ones have some."""
    schema = Schema(columns=(AGE,))
    for honest in product((0, 1), repeat=n - t):
        for lies in product((0, 1), repeat=t):
            try:
                check_holders(schema, [sum(honest) + sum(lies)], n=n, t=t)
            except LimitError:
                continue
            assert sum(honest) >= 2


def test_each_column_needs_holders_of_its_own():
    schema = Schema(columns=(AGE, DOSE), smallest=2)
    check_holders(schema, [3, 3], n=4, t=1)
    with pytest.raises(LimitError, match=r"^parties with at least 2 values: .*; column 'dose' 2$"):
        check_holders(schema, [3, 2], n=4, t=1)


# What is dealt and opened


def test_a_wrong_share_is_refused_and_its_dealer_named():
    def carry(sender, recipient, place, data):
        if (sender, recipient, place.tag) != (4, 2, "piece"):
            return data
        changed = bytearray(data)
        changed[-40] ^= 1  # before the salt
        return bytes(changed)

    with pytest.raises(CheatError, match=r"^party 4 dealt shares that lie on no polynomial") as caught:
        run(net(5, 1), [addends([7])] * 5, carry=carry)
    assert caught.value.clients == (4,)


def wrong_sum(sender, recipient, place, data):
    return bytes(len(data)) if (sender, place.tag) == (2, "totals") else data


@pytest.mark.parametrize("n", [3, 4, 5])
def test_a_wrong_sum_is_noticed(n):
    with pytest.raises(CheatError, match=r"^totals: shares lie on no polynomial of their degree$"):
        run(net(n, 1), [addends([7])] * n, carry=wrong_sum)


def test_a_wrong_sum_is_corrected_where_a_liar_is_tolerated():
    parties = net(5, 1, max_liars=1)
    found = run(parties, [addends([7])] * 5, carry=wrong_sum)
    assert found[1].numbers == (35,)
    assert {2} in [me.liars for me in parties.values()]


def test_who_deals_other_shares_after_a_sum_has_come_is_refused():
    """Client 4 tells client 1 a digest of other pieces. Client 1 would have its totals, but nobody else's."""
    parties = net(4, 1)
    real, twice = parties[4].tell, []

    def tell(tag, data):
        real(tag, data)
        if tag == "root":
            at = next(i for i, one in enumerate(parties[4].outbox) if one[0] == 1 and one[1].tag == "root")
            recipient, place, _ = parties[4].outbox[at]
            twice.append(at)
            parties[4].outbox[at] = recipient, place, bytes(32)

    parties[4].tell = tell
    with pytest.raises(CheatError, match="party 4 dealt shares that lie on no polynomial"):
        run(parties, [addends([7])] * 4)
    assert twice


def test_nobody_opens_before_everybody_has_dealt():
    sent = []

    def carry(sender, recipient, place, data):
        sent.append((place.tag, sender))
        return None if (sender, recipient, place.tag) == (4, 3, "piece") else data

    with pytest.raises(CheatError, match=r"party 4 went on without having sent piece"):
        run(net(4, 1), [addends([7])] * 4, carry=carry)
    assert ("totals", 3) not in sent


def test_who_holds_back_its_sum_has_the_totals_alone():
    """The promise ends here: of 2t + 1 parties one reads what all would have read."""

    def carry(sender, recipient, place, data):
        return None if (sender, place.tag) == (3, "totals") else data

    parties = net(3, 1)
    programs = {j: totals_of(me, [1], addends([7]) if me.holds else None) for j, me in parties.items()}
    found = {}

    def noting(j, program):
        found[j] = yield from program

    with pytest.raises(StuckError):
        play(parties, {j: noting(j, program) for j, program in programs.items()}, carry=carry)
    assert found[3].numbers == (21,)
    assert not {1, 2} & found.keys()


def test_counts_that_no_party_can_hold_are_noticed():
    own = [of_table([3.0]), addends([1 << 100] * 3, holds=(True,)), of_table([4.0])]
    found = run(net(3, 1), own, sizes=[3])
    text = "column 'age': no values have the opened totals, .*; shares hide which client"
    with pytest.raises(CheatError, match=text):
        own[0].rows_of(found[1])


def test_nothing_secret_shows():
    own = of_table([77.0])
    assert "77" not in repr(own)
    assert str(own.numbers[1]) not in repr(own)
