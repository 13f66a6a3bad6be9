"""All encodings of the points of edwards25519 whose order divides 8 (RFC 8032, 5.1)."""

P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
L = 2**252 + 27742317777372353535851937790883648493  # order of the base point
IDENTITY = (1).to_bytes(32, "little")


def encoded(y, sign=0):
    return (y | sign << 255).to_bytes(32, "little")


def added(one, other):
    (x, y), (u, v) = one, other
    product = D * x * y * u * v
    return (x * v + u * y) * pow(1 + product, -1, P) % P, (y * v + x * u) * pow(1 - product, -1, P) % P


def times(count, point):
    found = 0, 1
    while count:
        if count & 1:
            found = added(found, point)
        point, count = added(point, point), count >> 1
    return found


def point_with(y):
    """A point with this y, None if there is none."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    for root in (x, x * pow(2, (P - 1) // 4, P) % P):
        if root * root % P == square:
            return root, y
    return None


def _torsion():
    """Multiples of a point of order 8: L times a point of the curve is of small order."""
    for y in range(2, 100):
        point = point_with(y)
        found = None if point is None else times(L, point)
        if found is not None and times(4, found) != (0, 1):
            return [times(count, found) for count in range(8)]
    raise AssertionError


POINTS = _torsion()
ENCODINGS = [
    encoded(y + more, sign)
    for y in sorted({y for _, y in POINTS})
    for more in (0, P)
    if y + more < 2**255
    for sign in (0, 1)
]
"""With y below 2^255 and either sign: a lenient reader takes each of them for a point of small order."""
