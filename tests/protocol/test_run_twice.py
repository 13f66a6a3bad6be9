"""A server that uses a run identifier twice cannot use in the second run what clients signed in the first."""

from dataclasses import replace

import numpy as np
import pytest

from secfc.crypto import handshake
from secfc.errors import SealError
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import unpack
from secfc.field.primes import PRIMES, primes_of
from secfc.field.residues import matmul, reduce
from secfc.lagrange.basis import lagrange_basis
from secfc.lagrange.points import evaluation_points
from secfc.protocol.introductions import Introductions
from secfc.protocol.messages import SERVER, Challenge, Dispute, Evidence, Report
from secfc.protocol.signed import SignedReport
from secfc.sharing.dealing import covers_of

pytestmark = pytest.mark.questions

_RNG = np.random.default_rng(3)
ROWS = [_RNG.normal(size=(4, 7)).round(2), *[np.empty((0, 7))] * 4]
"""R + 2A clients, of which one has rows; R = 3 with t=1, ell=1."""

SEED = bytes(range(32))


def reports(net):
    """Run until all clients have reported about a challenge of the server; return reports by client."""
    said = {}
    while links := net.pending():
        message = net.take(links[0])
        if isinstance(message, Report):
            said[message.sender] = message
            continue
        net.deliver(replace(message, seed=SEED) if isinstance(message, Challenge) else message)
    assert len(said) == net.job.n
    return said


def disputes(wire):
    """In the second run each client gets its own report with those that others signed in the first run."""
    first = wire(ROWS, max_liars=1)
    old = reports(first)
    second = wire(ROWS, max_liars=1, identities=first.identities, coordinator=first.coordinator)
    new = reports(second)
    for j in range(2, 6):
        shown = {i: (new if i == j else old)[i] for i in new}
        signed = tuple(
            SignedReport(client=i, residues=one.residues, signature=one.signature) for i, one in shown.items()
        )
        dispute = Dispute(run=second.session.run, sender=SERVER, recipient=j, reports=signed)
        yield second, second.clients[j], dispute


def test_reports_that_are_not_bound_to_the_handshake_open_an_honest_dealers_rows(wire, monkeypatch):
    monkeypatch.setattr(handshake, "transcript_of", lambda session, present: session.run + bytes(16))
    monkeypatch.setattr(Introductions, "transcript", property(lambda self: self._session.run + bytes(16)))
    shares = {}
    for net, client, dispute in disputes(wire):
        (shown,) = client.receive(dispute)
        assert isinstance(shown, Evidence)
        shares[client.number], job = shown, net.job
    primes = primes_of(job.residues(4))
    read = np.empty((len(primes), job.width, 4))
    for index, p in enumerate(primes):
        points = evaluation_points(PRIMES[index], n=job.n, coded=2)
        basis = lagrange_basis([points.alpha[j - 1] for j in (2, 3)], points.beta[:1], p)
        held = [_plane(shares[j], index, len(primes), job) for j in (2, 3)]
        read[index] = reduce(matmul(basis, reduce(np.array(held).reshape(2, -1), p), p), p).reshape(7, 4)
    radix = MixedRadix(primes)
    modulus = radix.radices[-1] * primes[-1]
    found = [
        [int(x) - (modulus if 2 * int(x) > modulus else 0) for x in line]
        for line in radix.integers(radix.digits(read))
    ]
    np.testing.assert_array_equal(np.array(found, dtype=float).T, np.rint(np.ldexp(ROWS[0], job.exponent)))


def _plane(shown, index, primes, job):
    octets = np.frombuffer(shown.payload, dtype=np.uint8)
    held = octets[: octets.size - 3 * primes * covers_of(job)].reshape(primes, job.width, -1)
    return unpack(held[index])


def test_reports_of_an_earlier_run_with_the_same_identifier_show_nothing(wire):
    for _, client, dispute in disputes(wire):
        with pytest.raises(SealError, match=r"^client \d: its report is not signed"):
            client.receive(dispute)
        assert not client.phase.held.sharing._testimonies[0]._shown
