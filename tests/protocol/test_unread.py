"""Who is said to lie about unreadable shares: nobody honest, and enough for the others to continue."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from secfc.sharing.unread import apart, cannot_be_honest, open_pairs

CLIENTS = range(1, 9)


@st.composite
def pairs_with_liars(draw):
    """Liars, and pairs with at least one liar each: with false shares, or falsely called unreadable."""
    liars = draw(st.sets(st.sampled_from(CLIENTS), min_size=1, max_size=4))
    possible = [(i, j) for i in CLIENTS for j in CLIENTS if i != j and {i, j} & liars]
    return liars, draw(st.sets(st.sampled_from(possible), max_size=12))


@given(pairs_with_liars())
def test_nobody_honest_is_found(drawn):
    liars, pairs = drawn
    assert cannot_be_honest(pairs, known=(), most=len(liars)).keys() <= liars


@given(pairs_with_liars())
def test_those_who_are_left_locate_all_liars_but_for_a_quarter_of_a_squared_and_more(drawn):
    liars, pairs = drawn
    most = len(liars)
    known = set(cannot_be_honest(pairs, known=(), most=most))
    aside = known | {recipient for _, recipient in open_pairs(pairs, known)}
    assert len(aside) + most + len(liars - aside) <= 2 * most + (most + 1) ** 2 // 4


@given(pairs_with_liars())
def test_who_must_lie_by_trying_all_sets_of_liars_is_found_where_pairs_are_stars(drawn):
    liars, pairs = drawn
    if len({one for pair in pairs for one in pair}) != len(pairs) + len(apart(pairs)):
        return  # not stars, for which matchings have as many clients as covers
    most = len(liars)
    covers = [
        set(some)
        for size in range(most + 1)
        for some in combinations(CLIENTS, size)
        if all(set(pair) & set(some) for pair in pairs)
    ]
    assert set(cannot_be_honest(pairs, known=(), most=most)) == set.intersection(*covers)


def test_two_liars_that_each_spoil_two_shares_are_found_where_two_may_lie():
    pairs = {(1, 3), (1, 4), (2, 5), (2, 6)}
    assert set(cannot_be_honest(pairs, known=(), most=2)) == {1, 2}
    assert cannot_be_honest({(1, 3), (1, 4)}, known=(), most=2) == {}


def test_more_liars_than_may_accuse_nobody():
    pairs = {(1, 2), (3, 4), (5, 6), (5, 7), (5, 8)}
    assert cannot_be_honest(pairs, known=(), most=2) == {}
