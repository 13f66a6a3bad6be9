"""What the fuzzer found worth keeping is tried again: refused unchanged, or taken; nothing else escapes."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from fuzz.harness import SCENARIOS, Harness, edited, random_input

from secfc import row_layout

CORPUS = sorted((Path(__file__).resolve().parents[1] / "corpus").iterdir())


@pytest.fixture
def harness(monkeypatch):
    for name in ("PART_BYTES", "PART_ROWS"):
        monkeypatch.setattr(
            row_layout, name, getattr(row_layout, name)
        )  # the harness sets them: undone after
    return Harness()


@pytest.mark.parametrize("scenario", range(len(SCENARIOS)))
def test_inputs_of_the_corpus_show_no_defect(harness, scenario):
    kept = [data for data in (path.read_bytes() for path in CORPUS) if data[0] % len(SCENARIOS) == scenario]
    became = Counter(harness.run(data) for data in kept)
    assert became["refused"] > 0
    assert became["taken"] > 0


@pytest.mark.parametrize("seed", range(2))
def test_memory_for_what_is_refused_is_bounded_by_what_was_received(harness, seed):
    rng = Random(seed)
    for _ in range(60):
        harness.run(random_input(rng), bounded=True)


def test_the_corpus_is_small():
    assert CORPUS
    assert sum(path.stat().st_size for path in CORPUS) < 200_000


def test_an_input_without_edits_is_a_message_as_it_was_sent():
    assert edited(b"message", b"") == b"message"
    assert edited(b"message", bytes([0, 1, 0, 3])) == b"mmssage"
    assert edited(b"message", bytes([1, 3, 0])) == b"mes"
    assert edited(b"message", bytes([2, 1, 0, 2]) + b"ab") == b"mabessage"
    assert edited(b"message", bytes([3, 1, 0, 2]) + b"ab") == b"mabsage"
