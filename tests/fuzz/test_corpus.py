"""The fuzzer's kept inputs are tried again: each is refused unchanged, or taken; nothing else happens."""

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from fuzz.harness import SCENARIOS, Harness, Moment, edited, random_input
from support.sweeps import sweep

from secfc.crypto.identity import SIGNATURE_BYTES
from secfc.errors import MessageError
from secfc.protocol.messages import SERVER
from secfc.protocol.messages.wire import HEADER_BYTES, decode, envelope

CORPUS = sorted((Path(__file__).resolve().parents[1] / "corpus").iterdir())


@pytest.fixture
def harness():
    return Harness()


@pytest.mark.some(1)
@pytest.mark.parametrize("scenario", range(len(SCENARIOS)))
def test_inputs_of_the_corpus_show_no_defect(harness, scenario):
    kept = [data for data in (path.read_bytes() for path in CORPUS) if data[0] % len(SCENARIOS) == scenario]
    became = Counter(harness.run(data) for data in kept)
    assert became["refused"] > 0
    assert became["taken"] > 0


@pytest.mark.parametrize("seed", sweep(range(2), keep=(0,)))
def test_memory_for_what_is_refused_is_bounded_by_what_was_received(harness, seed):
    rng = Random(seed)
    for _ in range(20):
        harness.run(random_input(rng), bounded=True)


MUTATED = 100
"""Mutated messages of each type that are decoded here; `SECFC_FUZZ` can set another number."""


def mutated(net, data, edits):
    """A message with edits. The server's messages are signed anew, as a cheating server could, to be read."""
    if envelope(data).sender != SERVER:
        return edited(data, edits)
    changed = edited(data[:-SIGNATURE_BYTES], edits)
    return changed + net.signer.sign(changed[:HEADER_BYTES], changed[HEADER_BYTES:])


@pytest.mark.some(2)
@pytest.mark.parametrize("scenario", range(len(SCENARIOS)))
def test_mutated_messages_of_every_type_are_refused_or_the_one_encoding_of_what_they_say(harness, scenario):
    rng, moment, by_type = Random(scenario), Moment(scenario, None), {}
    net, count = moment.net, int(os.environ.get("SECFC_FUZZ", MUTATED))
    for data in moment.sent:
        by_type.setdefault(data[4], []).append(data)
    for sent in by_type.values():
        for _ in range(count):
            received = mutated(net, rng.choice(sent), random_input(rng)[4:])
            with suppress(MessageError):
                role = net.role(min(envelope(received).recipient, net.job.n))
                message = decode(received, k=net.job.k, session=net.session, most=role.sizes.most_bytes)
                assert net.encode(message) == received
