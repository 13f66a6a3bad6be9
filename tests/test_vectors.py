"""The known answers of tests/vectors, repeated with secfc and with galois."""

import json
import runpy
from pathlib import Path
from typing import Any

import galois
import numpy as np
import pytest
from support.sweeps import every

import secfc.errors
from secfc.crypto.randomness import MaskSource
from secfc.field.array_types import Floats
from secfc.field.mixed_radix import MixedRadix
from secfc.field.packing import PackedResidues, pack, unpack
from secfc.field.primes import PRIMES
from secfc.field.residues import canonical, reduce
from secfc.kernels import Kernels
from secfc.kernels.compiled import CompiledKernels
from secfc.kernels.vectorised import VectorisedKernels
from secfc.kmeans.coded_distance import CodedPoints
from secfc.lagrange.basis import evaluation_points, lagrange_basis, recovery_threshold
from secfc.protocol.job.making import make_job
from secfc.sharing.codewords import Codewords, split

FOLDER = Path(__file__).parent / "vectors"
TEXT = (FOLDER / "lagrange.json").read_text(encoding="utf-8")
VECTORS = json.loads(TEXT)
CASES = VECTORS["cases"]
PARTS = [(case, part) for case in CASES for part in case["residues"]]

KERNELS = (VectorisedKernels(), CompiledKernels())
each_kernels = every("kernels", KERNELS)
each_case = every("case", CASES)
each_part = every(("case", "part"), PARTS)


def residues(values: list[Any], p: int) -> Floats:
    return reduce(np.array(values, dtype=np.float64), p)


def listed(x: Floats, p: int) -> list[Any]:
    """Nested lists of the canonical residues of reduced ones."""
    assert np.abs(x).max() <= p / 2 + 4
    return canonical(x, p).astype(np.int64).tolist()


def field_of(part: dict[str, Any]) -> type[galois.FieldArray]:
    return galois.GF(part["p"], primitive_element=part["generator"], compile="python-calculate")


def test_generator_reproduces_the_file_byte_for_byte() -> None:
    generated = runpy.run_path(str(FOLDER / "generate.py"))["text"]()
    assert generated.encode() == (FOLDER / "lagrange.json").read_bytes()


def test_generator_does_not_use_secfc_or_numpy() -> None:
    source = (FOLDER / "generate.py").read_text(encoding="utf-8")
    imports = [line for line in source.splitlines() if line.startswith(("import ", "from "))]
    assert imports
    assert not [line for line in imports if "secfc" in line or "numpy" in line]


class TestReplay:
    @each_case
    def test_primes_are_the_first_of_the_ring(self, case: dict[str, Any]) -> None:
        expected = [prime.p for prime in PRIMES[: len(case["primes"])]]
        assert [part["p"] for part in case["residues"]] == case["primes"] == expected

    @each_part
    def test_evaluation_points(self, case: dict[str, Any], part: dict[str, Any]) -> None:
        prime = next(prime for prime in PRIMES if prime.p == part["p"])
        assert prime.generator == part["generator"]
        points = evaluation_points(prime, n=case["n"], coded=case["ell"] + case["t"])
        assert list(points.alpha) == part["alpha"]
        assert list(points.beta) == part["beta"]

    @each_part
    def test_segments(self, case: dict[str, Any], part: dict[str, Any]) -> None:
        rows = np.array([[int(x) for x in row] for row in case["rows"]], dtype=np.float64)
        assert listed(split(reduce(rows, part["p"]), case["ell"]), part["p"]) == part["segments"]

    @each_part
    def test_masks(self, case: dict[str, Any], part: dict[str, Any]) -> None:
        shape = np.shape(part["masks"])
        masks = MaskSource(bytes.fromhex(part["mask_key"])).uniform(part["p"], shape)
        assert listed(masks, part["p"]) == part["masks"]

    @each_kernels
    @each_part
    def test_packed_shares(self, case: dict[str, Any], part: dict[str, Any], kernels: Kernels) -> None:
        p = part["p"]
        basis = lagrange_basis(part["beta"], part["alpha"], p)
        values = np.concatenate([residues(part["segments"], p), residues(part["masks"], p)])
        packed = np.empty((case["n"], values.shape[1], 3 * values.shape[2]), dtype=np.uint8)
        kernels.encode(values, basis, p, packed)
        assert unpack(packed).astype(np.int64).tolist() == part["shares"]

    @each_part
    def test_recovery(self, case: dict[str, Any], part: dict[str, Any]) -> None:
        p = part["p"]
        shares = residues(part["shares"], p)
        for clients in case["recoverers"]:
            chosen = [j - 1 for j in clients]
            basis = lagrange_basis([part["alpha"][j] for j in chosen], part["beta"][: case["ell"]], p)
            assert listed(reduce(np.tensordot(basis, shares[chosen], axes=1), p), p) == part["segments"]

    @each_kernels
    @each_case
    def test_coded_distances(self, case: dict[str, Any], kernels: Kernels) -> None:
        k, sets = case["k"], np.array(case["sets"], dtype=np.int32)
        sizes = np.bincount(sets[sets >= 0], minlength=k)
        primes, m = tuple(case["primes"]), sets.size
        for client in range(case["n"]):
            shares = [np.array(part["shares"][client], dtype=np.float64) for part in case["residues"]]
            memory = np.empty((len(primes), shares[0].shape[0] + 1, m), dtype=np.float32)
            points = CodedPoints(shares=memory, primes=primes, k=k, kernels=kernels)
            packed = PackedResidues.empty((len(primes), *shares[0].shape))
            for index, p in enumerate(primes):
                packed.planes()[index] = pack(shares[index], p)
            kernels.store(packed.planes(), primes, memory, 0)
            points.ask(sets, sizes, len(primes))
            answer = unpack(points.answer(0, m).planes()).astype(np.int64).tolist()
            assert answer == [part["coded_distances"][client] for part in case["residues"]]

    @each_case
    def test_decoding_weights(self, case: dict[str, Any]) -> None:
        code = Codewords(n=case["n"], t=case["t"], ell=case["ell"], primes=tuple(case["primes"]))
        for at, part in enumerate(case["residues"]):
            for decoding in part["decodings"]:
                weights = code.weights(tuple(decoding["responders"]))[at]
                assert listed(weights, part["p"]) == decoding["weights"]

    @each_part
    def test_decoding(self, case: dict[str, Any], part: dict[str, Any]) -> None:
        p = part["p"]
        coded = np.array(part["coded_distances"], dtype=object)
        for decoding in part["decodings"]:
            chosen = [j - 1 for j in decoding["responders"]]
            weights = np.array(decoding["weights"], dtype=object)
            assert (np.tensordot(weights, coded[chosen], axes=1) % p).tolist() == decoding["decoded"]

    @each_kernels
    @each_part
    def test_decoding_of_packed_answers(
        self, case: dict[str, Any], part: dict[str, Any], kernels: Kernels
    ) -> None:
        p, m = part["p"], len(case["rows"])
        coded = [pack(np.array(answer, dtype=np.float64), p) for answer in part["coded_distances"]]
        for decoding in part["decodings"]:
            answers = [coded[j - 1][np.newaxis] for j in decoding["responders"]]
            weights = residues(decoding["weights"], p)[np.newaxis]
            decoded = np.empty((1, case["k"], 3 * m), dtype=np.uint8)
            assert kernels.weigh(answers, weights, (p,), decoded) == -1
            assert kernels.digits(decoded, MixedRadix((p,)))[0].tolist() == decoding["decoded"]

    @each_case
    def test_distances_from_their_residues(self, case: dict[str, Any]) -> None:
        planes = [residues(part["decodings"][0]["decoded"], part["p"]) for part in case["residues"]]
        system = MixedRadix(tuple(case["primes"]))
        distances = system.integers(system.digits(np.array(planes))).tolist()
        assert [[str(d) for d in centre] for centre in distances] == case["distances"]

    @each_case
    def test_every_responder_set_reaches_the_threshold(self, case: dict[str, Any]) -> None:
        threshold = recovery_threshold(case["t"], case["ell"])
        assert all(len(set(responders)) >= threshold for responders in case["responders"])


class TestGalois:
    @each_part
    def test_shares(self, case: dict[str, Any], part: dict[str, Any]) -> None:
        field = field_of(part)
        values = np.array(part["segments"] + part["masks"])
        shares = np.array(part["shares"])
        for c, i in np.ndindex(*values.shape[1:]):
            polynomial = galois.lagrange_poly(field(part["beta"]), field(values[:, c, i]))
            assert np.array_equal(polynomial(field(part["alpha"])), shares[:, c, i])

    @each_part
    def test_coded_distances(self, case: dict[str, Any], part: dict[str, Any]) -> None:
        field, sets = field_of(part), np.array(case["sets"])
        for plane, expected in zip(part["shares"], part["coded_distances"], strict=True):
            shares = field(plane).T
            for h in range(case["k"]):
                members = shares[sets == h]
                centre = members.sum(axis=0) if len(members) else field.Zeros(shares.shape[1])
                differences = centre - shares * len(members)
                assert np.array_equal((differences * differences).sum(axis=1), np.array(expected)[h])

    @each_part
    def test_decoding_by_interpolation(self, case: dict[str, Any], part: dict[str, Any]) -> None:
        field = field_of(part)
        coded = np.array(part["coded_distances"])
        for decoding in part["decodings"]:
            chosen = [j - 1 for j in decoding["responders"]]
            alpha = field([part["alpha"][j] for j in chosen])
            for h, i in np.ndindex(*coded.shape[1:]):
                phi = galois.lagrange_poly(alpha, field(coded[chosen, h, i]))
                assert phi.degree <= 2 * (case["ell"] + case["t"] - 1)
                assert phi(field(part["beta"][: case["ell"]])).sum() == decoding["decoded"][h][i]

    @each_part
    def test_decoding_by_weights(self, case: dict[str, Any], part: dict[str, Any]) -> None:
        field = field_of(part)
        coded = field(part["coded_distances"])
        for decoding in part["decodings"]:
            chosen = [j - 1 for j in decoding["responders"]]
            weights = field(decoding["weights"])[:, np.newaxis, np.newaxis]
            assert (weights * coded[chosen]).sum(axis=0).tolist() == decoding["decoded"]


def below(shape: list[int], payload: str, primes: list[int]) -> bool:
    """Whether every residue is below its prime; both kernels must agree."""
    packed = PackedResidues(shape=tuple(shape), payload=bytes.fromhex(payload))
    found = [not kernels.refused(packed.planes(), tuple(primes)) for kernels in KERNELS]
    assert found[0] == found[1]
    return found[0]


def basis(nodes: list[int], at: list[int], p: int) -> None:
    lagrange_basis(nodes, at, p)


def mask_source(key: str) -> None:
    MaskSource(bytes.fromhex(key))


def job(n: int, t: int, ell: int) -> None:
    make_job(n=n, k=2, t=t, ell=ell, d=4, bound=1.0, disclosure="coded")


OPERATIONS = {"unpack": below, "basis": basis, "mask_source": mask_source, "job": job}
CHECKS = VECTORS["checks"]


@pytest.mark.parametrize(
    "check", [check for check in CHECKS if check["error"] is None], ids=lambda check: check["name"]
)
def test_good_arguments_are_accepted(check: dict[str, Any]) -> None:
    assert OPERATIONS[check["operation"]](**check["arguments"]) is check.get("result")


@every("check", [check for check in CHECKS if check["error"] is not None])
def test_bad_arguments_are_refused_with_their_error(check: dict[str, Any]) -> None:
    expected = ValueError if check["error"] == "ValueError" else getattr(secfc.errors, check["error"])
    with pytest.raises(expected) as refusal:
        OPERATIONS[check["operation"]](**check["arguments"])
    assert refusal.type is expected
