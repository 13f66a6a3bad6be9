"""Known answers of the Lagrange code, computed without secfc and without NumPy: ``python generate.py``.

Everything uses Python integers and textbook methods: Newton's divided differences to interpolate, Horner to
evaluate, AES-256-CTR of `cryptography` for masks, the Chinese remainder theorem for distances. The script
verifies what it writes: shares give back the rows, and decoded distances are the distances of the rows
themselves.

The file holds residues in [0, p). The last axis of segments, masks, shares and distances is the row. Clients
are numbered from 1. Integers that may exceed 2**53 are decimal strings.
"""

import json
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

FILE = Path(__file__).with_name("lagrange.json")

# The primes of the ring in order, each with its smallest primitive root.
PRIMES = (
    (16760833, 7),
    (16736257, 5),
    (16699393, 5),
    (16674817, 7),
    (16650241, 14),
    (16617473, 3),
    (16592897, 3),
    (16588801, 19),
)

CASES: tuple[dict[str, Any], ...] = (
    {
        "name": "three clients, one segment, one column",
        "n": 3,
        "t": 1,
        "ell": 1,
        "primes": 1,
        "rows": [[5], [-7], [0], [1000]],
        "k": 2,
        "sets": [0, 1, 0, 1],
        "responders": [[1, 2, 3]],
        "recoverers": [[1, 2], [3, 1], [1, 2, 3]],
    },
    {
        "name": "two segments, the last one padded, a row in no set, an empty set",
        "n": 6,
        "t": 1,
        "ell": 2,
        "primes": 2,
        "rows": [[1, -2, 3], [40000, 50000, -60000], [8380416, -8380416, 8380417]],
        "k": 3,
        "sets": [2, 0, -1],
        "responders": [[1, 2, 3, 4, 5], [6, 5, 3, 2, 1]],
        "recoverers": [[1, 2, 3], [6, 2, 4]],
    },
    {
        "name": "more segments than columns",
        "n": 9,
        "t": 1,
        "ell": 4,
        "primes": 1,
        "rows": [[123, -456], [-789, 12]],
        "k": 1,
        "sets": [0, 0],
        "responders": [[9, 8, 7, 6, 5, 4, 3, 2, 1]],
        "recoverers": [[1, 3, 5, 7, 9]],
    },
    {
        "name": "the default t=4, ell=2 with eleven clients and four primes",
        "n": 11,
        "t": 4,
        "ell": 2,
        "primes": 4,
        "rows": [
            [268435456, 0, 0, 0, 0],
            [-268435456, 0, 0, 0, 0],
            [1, 2, 3, 4, 5],
            [-100000000, 99999999, -99999998, 7, 123456789],
        ],
        "k": 2,
        "sets": [0, 0, 1, 1],
        "responders": [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
        "recoverers": [[1, 2, 3, 4, 5, 6], [11, 9, 7, 5, 3, 1]],
    },
    {
        "name": "every prime, spare clients",
        "n": 7,
        "t": 2,
        "ell": 1,
        "primes": 8,
        "rows": [[4503599627370496], [-4503599627370496], [3]],
        "k": 2,
        "sets": [1, 0, 0],
        "responders": [[1, 2, 3, 4, 5], [7, 6, 5, 4, 3], [1, 2, 3, 4, 5, 6, 7]],
        "recoverers": [[2, 4, 6]],
    },
)


def evaluation_points(p: int, generator: int, *, n: int, coded: int) -> tuple[list[int], list[int]]:
    """(alpha, beta): beta_u = w**u, alpha_j = g w**j; w has the least order 2**a >= max(n, coded)."""
    order = 1
    while order < max(n, coded):
        order *= 2
    powers = [pow(generator, (p - 1) // order * u, p) for u in range(max(n, coded))]
    return [generator * x % p for x in powers[:n]], powers[:coded]


class Polynomial:
    """The polynomial through (nodes, values) modulo p, by Newton's divided differences."""

    def __init__(self, nodes: Sequence[int], values: Sequence[int], p: int) -> None:
        self.nodes, self.p = list(nodes), p
        table = [value % p for value in values]
        for order in range(1, len(table)):
            for i in range(len(table) - 1, order - 1, -1):
                gap = self.nodes[i] - self.nodes[i - order]
                table[i] = (table[i] - table[i - 1]) * pow(gap, -1, p) % p
        self.differences = table

    def __call__(self, x: int) -> int:
        value = 0
        for node, difference in zip(reversed(self.nodes), reversed(self.differences), strict=True):
            value = (value * (x - node) + difference) % self.p
        return value


def mask_residues(key: bytes, p: int, count: int) -> list[int]:
    """The first `count` masks of a key: words below p of the keystream, minus (p - 1)/2."""
    kept: list[int] = []
    keystream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
    while len(kept) < count:
        word = int.from_bytes(keystream.update(bytes(4)), "little") % 2 ** p.bit_length()
        if word < p:
            kept.append((word - (p - 1) // 2) % p)
    return kept


def nested(flat: Sequence[int], *shape: int) -> list[Any]:
    """A flat list in row-major order as nested lists."""
    if len(shape) == 1:
        return list(flat)
    step = prod(shape[1:])
    return [nested(flat[i * step : (i + 1) * step], *shape[1:]) for i in range(shape[0])]


def transposed(matrix: list[list[int]]) -> list[list[int]]:
    return [list(column) for column in zip(*matrix, strict=True)]


def split(rows: list[list[int]], ell: int) -> list[list[list[int]]]:
    """Segments of shape (ell, width, m)."""
    width = -(-len(rows[0]) // ell)
    columns = transposed([row + [0] * (ell * width - len(row)) for row in rows])
    return [columns[u * width : (u + 1) * width] for u in range(ell)]


def squared_distances(rows: list[list[int]], sets: list[int], k: int) -> list[list[int]]:
    """||mu_h - |S_h| x_i||^2 of integer rows, shape (k, m)."""
    members = [[row for row, s in zip(rows, sets, strict=True) if s == h] for h in range(k)]
    centres = [
        [sum(column) for column in zip(*([0] * len(rows[0]), *member), strict=True)] for member in members
    ]
    return [
        [sum((mu - len(member) * x) ** 2 for mu, x in zip(centre, row, strict=True)) for row in rows]
        for centre, member in zip(centres, members, strict=True)
    ]


def encode(values: list[list[list[int]]], *, alpha: list[int], beta: list[int], p: int) -> list[Any]:
    """Shares of shape (n, width, m) of segments and masks of shape (ell + t, width, m)."""
    width, m = len(values[0]), len(values[0][0])
    polynomials = [
        [Polynomial(beta, [plane[c][i] for plane in values], p) for i in range(m)] for c in range(width)
    ]
    return [[[f(a) for f in column] for column in polynomials] for a in alpha]


def residue_part(case: dict[str, Any], index: int) -> dict[str, Any]:
    (p, generator), n, t, ell = PRIMES[index], case["n"], case["t"], case["ell"]
    rows, sets, k = case["rows"], case["sets"], case["k"]
    alpha, beta = evaluation_points(p, generator, n=n, coded=ell + t)
    segments = [[[x % p for x in column] for column in plane] for plane in split(rows, ell)]
    m, width = len(rows), len(segments[0])
    key = bytes(range(index, index + 32))
    masks = nested(mask_residues(key, p, t * width * m), t, width, m)
    shares = encode(segments + masks, alpha=alpha, beta=beta, p=p)
    coded = [
        [[d % p for d in centre] for centre in squared_distances(transposed(plane), sets, k)]
        for plane in shares
    ]
    clear = [[d % p for d in centre] for centre in squared_distances(rows, sets, k)]

    decodings = []
    for responders in case["responders"]:
        nodes = [alpha[j - 1] for j in responders]
        # A client's weight is the decoded value if its answer is 1 and all others are 0.
        units = [[int(i == j) for i in range(len(nodes))] for j in range(len(nodes))]
        weights = [sum(Polynomial(nodes, unit, p)(b) for b in beta[:ell]) % p for unit in units]
        decoded = [
            [
                sum(Polynomial(nodes, [coded[j - 1][h][i] for j in responders], p)(b) for b in beta[:ell]) % p
                for i in range(m)
            ]
            for h in range(k)
        ]
        weighted = [
            [
                sum(w * coded[j - 1][h][i] for w, j in zip(weights, responders, strict=True)) % p
                for i in range(m)
            ]
            for h in range(k)
        ]
        assert decoded == weighted == clear
        decodings.append({"responders": responders, "weights": weights, "decoded": decoded})

    for clients in case["recoverers"]:
        nodes = [alpha[j - 1] for j in clients]
        recovered = [
            [
                [Polynomial(nodes, [shares[j - 1][c][i] for j in clients], p)(b) for i in range(m)]
                for c in range(width)
            ]
            for b in beta[:ell]
        ]
        assert recovered == segments

    return {
        "p": p,
        "generator": generator,
        "alpha": alpha,
        "beta": beta,
        "segments": segments,
        "mask_key": key.hex(),
        "masks": masks,
        "shares": shares,
        "coded_distances": coded,
        "decodings": decodings,
    }


def chinese_remainder(residues: Sequence[int], primes: Sequence[int]) -> int:
    """The integer in [0, product of the primes) with these residues."""
    q = prod(primes)
    return sum(r * (q // p) * pow(q // p, -1, p) for r, p in zip(residues, primes, strict=True)) % q


def case_of(case: dict[str, Any]) -> dict[str, Any]:
    """A case with all its answers; its distances must fit its primes."""
    parts = [residue_part(case, index) for index in range(case["primes"])]
    primes = [part["p"] for part in parts]
    distances = squared_distances(case["rows"], case["sets"], case["k"])
    for h, centre in enumerate(distances):
        for i, distance in enumerate(centre):
            decoded = [part["decodings"][0]["decoded"][h][i] for part in parts]
            assert chinese_remainder(decoded, primes) == distance, case["name"]
    rows = [[str(x) for x in row] for row in case["rows"]]
    written = [[str(d) for d in centre] for centre in distances]
    return {**case, "primes": primes, "rows": rows, "distances": written, "residues": parts}


def packed(*residues: int) -> str:
    """Three bytes for each residue, little endian, in hexadecimal."""
    return b"".join(residue.to_bytes(3, "little") for residue in residues).hex()


def checks() -> list[dict[str, Any]]:
    """Single operations that succeed ("error": null), with or without a result, or fail with this error."""
    (p, _), (q, _) = PRIMES[:2]

    def unpack(
        name: str, shape: list[int], payload: str, primes: list[int], below: bool | None
    ) -> dict[str, Any]:
        """Whether every residue is below its prime; None for a payload that does not fit the shape."""
        arguments = {"shape": shape, "payload": payload, "primes": primes}
        error = "MessageError" if below is None else None
        return {"name": name, "operation": "unpack", "arguments": arguments, "error": error, "result": below}

    def basis(name: str, nodes: list[int], at: list[int], error: str | None) -> dict[str, Any]:
        arguments = {"nodes": nodes, "at": at, "p": p}
        return {"name": name, "operation": "basis", "arguments": arguments, "error": error}

    def key(name: str, length: int, error: str | None) -> dict[str, Any]:
        arguments = {"key": bytes(length).hex()}
        return {"name": name, "operation": "mask_source", "arguments": arguments, "error": error}

    def job(name: str, n: int, t: int, ell: int, error: str | None) -> dict[str, Any]:
        return {"name": name, "operation": "job", "arguments": {"n": n, "t": t, "ell": ell}, "error": error}

    return [
        unpack("largest canonical residue", [1, 1, 2], packed(0, p - 1), [p], True),
        unpack("residue equal to its prime", [1, 1, 2], packed(0, p), [p], False),
        unpack("residue above its prime", [1, 1, 1], packed(p + 1), [p], False),
        unpack("three bytes of ones", [1, 1, 1], "ffffff", [p], False),
        unpack("each plane below its own prime", [2, 1, 1], packed(p - 1, q - 1), [p, q], True),
        unpack("second plane not below its prime", [2, 1, 1], packed(1, q), [p, q], False),
        unpack("planes exchanged", [2, 1, 1], packed(q - 1, p - 1), [p, q], False),
        unpack("one byte too few", [1, 1, 2], packed(1, 2)[:-2], [p], None),
        unpack("one byte too many", [1, 1, 2], packed(1, 2) + "00", [p], None),
        unpack("no bytes for a row", [1, 1, 1], "", [p], None),
        unpack("no rows", [1, 3, 0], "", [p], True),
        unpack("bytes for no rows", [1, 3, 0], packed(1), [p], None),
        basis("distinct points", [1, 2, 3], [4, 0], None),
        basis("evaluation at a node", [1, 2, 3], [4, 3], "ValueError"),
        basis("evaluation at a residue of a node", [1, 2, 3], [p + 1], "ValueError"),
        basis("a node twice", [1, 2, 1], [4], "ValueError"),
        basis("a node and its residue", [1, 2, p + 1], [4], "ValueError"),
        key("32 bytes of key", 32, None),
        key("31 bytes of key", 31, "ValueError"),
        key("33 bytes of key", 33, "ValueError"),
        key("no key", 0, "ValueError"),
        job("as many clients as the threshold", 11, 4, 2, None),
        job("one client too few", 10, 4, 2, "ThresholdError"),
        job("two clients", 2, 1, 1, "ThresholdError"),
    ]


def compact(value: Any, indent: str = "") -> str:
    """JSON with one line for every list of scalars or of lists."""
    inner = indent + " "
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(name)}: {compact(item, inner)}" for name, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(inner + compact(item, inner) for item in value) + f"\n{indent}]"
    return json.dumps(value)


def text() -> str:
    source = "tests/vectors/generate.py; verified there and, with galois, in tests/test_vectors.py"
    return compact({"source": source, "cases": [case_of(case) for case in CASES], "checks": checks()}) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8", newline="\n")
