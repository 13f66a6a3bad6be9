"""What a client reads in the sealed shares that another sent it."""

from collections.abc import Mapping

from secfc.errors import MessageError
from secfc.field.packing import PackedResidues, packed_bytes
from secfc.kernels import Kernels
from secfc.params import Job, Parts
from secfc.protocol.dealing import covers_of
from secfc.protocol.messages import Share
from secfc.sealing.channel import TAG_BYTES, Channel

Dealt = list[PackedResidues]
"""Residues of rows and, in part 0 where shares are checked, of covers."""


def open_share(
    message: Share,
    *,
    job: Job,
    channels: Mapping[int, Channel],
    parts: Parts,
    primes: tuple[int, ...],
    kernels: Kernels,
) -> Dealt:
    """The residues and covers of a share, or an error and no trace of them."""
    rows = parts.share_rows(message.sender, message.part)
    if rows.stop == rows.start:
        raise MessageError(
            f"Share: part {message.part} from client {message.sender}, which has no rows for it"
        )
    shapes = [(len(primes), job.width, rows.stop - rows.start)]
    if message.part == 0 and covers_of(job):
        shapes.append((len(primes), covers_of(job), 1))
    size, expected = len(message.sealed.payload), sum(map(packed_bytes, shapes)) + TAG_BYTES
    if size != expected:
        raise MessageError(
            f"Share: {size} sealed bytes from client {message.sender}, shape {shapes[0]} takes {expected}"
        )
    channel = channels[message.sender]
    payload = memoryview(channel.open(Share.__name__, part=message.part, sealed=message.sealed.payload))
    dealt = []
    for shape in shapes:
        residues = PackedResidues(shape=shape, payload=payload[: packed_bytes(shape)])
        payload = payload[packed_bytes(shape) :]
        for plane, p in zip(residues.planes(), primes, strict=True):
            if not kernels.below(plane.reshape(-1), p):
                raise MessageError(
                    f"Share: a residue from client {message.sender} is not below its prime {p}"
                )
        dealt.append(residues)
    return dealt
