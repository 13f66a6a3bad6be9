"""The view of the server with a client is the same for two ownerships of one union, or the test detects it.

The coalition is client 1 and the server of three clients (t = 1). It knows its own c_e from its keystream,
opens the first table, and solves for the residue of every ID in it. Each experiment asks the same question
about many runs with either ownership, and compares how often the answer is yes.
"""

from collections.abc import Callable
from math import sqrt

import numpy as np
import pytest
from support.union import Parties, plan_for, tokens_of

from secfc.crypto.randomness import MaskSource
from secfc.psu.kernels import UnionKernels
from secfc.psu.prime import Elements, P
from secfc.psu.roles import UnionClient
from secfc.psu.stages import SeriesStage
from secfc.psu.tokens import Tokens

RUNS = 200
SIGMAS = 5.0

MINE = ["m0", "m1", "m2"]
THEIRS = [f"t{i}" for i in range(5)]
ALONE: Parties = [MINE, THEIRS, []]
HELD_TWICE: Parties = [MINE, THEIRS, MINE[:1]]
SWAPPED: Parties = [MINE, [], THEIRS]
SPREAD: Parties = [MINE, THEIRS[:2], THEIRS[2:]]


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECFC_KERNELS", "compiled")


class View:
    """What the coalition computes from a run's first table.

    Attributes
    ----------
    ratios : list of int
        For each of its own IDs: the opened residue over its own c_e.
    opened : list of int
        The opened values, unchanged.
    received : list of int
        The shares that the other clients dealt to it.
    """

    def __init__(self, parties: Parties, run: int) -> None:
        salt = run.to_bytes(16, "little")
        plan = plan_for(parties, salt=salt, cap=8)  # 8 IDs in one bin
        tokens = tokens_of(parties, salt)
        keys = [MaskSource(), MaskSource(), MaskSource()]
        key = run.to_bytes(32, "big")
        keys[0] = MaskSource(key)
        clients = [
            UnionClient(number=j, plan=plan, tokens=held, masks=masks)
            for j, (held, masks) in enumerate(zip(tokens, keys, strict=True), 1)
        ]
        own_residues = MaskSource(key).wide((len(MINE),), nonzero=True).tolist()
        dealt = [client.deal(0).shares for client in clients]
        self.received = dealt[1][0].tolist() + dealt[2][0].tolist()
        shares = [
            client.opening(0, {j: of_dealer[at] for j, of_dealer in enumerate(dealt, 1)})
            for at, client in enumerate(clients)
        ]
        self.opened = clients[0]._sharing.open(shares, [1, 2, 3]).reshape(-1).tolist()
        stage = clients[0].course.stage
        assert isinstance(stage, SeriesStage)
        union = Tokens(
            u=np.concatenate([tokens[0].u, tokens[1].u, tokens[2].u]),
            v=np.concatenate([tokens[0].v, tokens[1].v, tokens[2].v]),
        )
        poles = list(dict.fromkeys(stage.table.places(union)[1].tolist()))
        residues = solve_vandermonde(poles, self.opened[: len(poles)])
        self.ratios = [
            r * pow(c, -1, P) % P for r, c in zip(residues[: len(MINE)], own_residues, strict=True)
        ]


def solve_vandermonde(poles: list[int], moments: list[int]) -> list[int]:
    """c with sum of c_i poles_i**k = moments_k for k < number of poles."""
    residues = []
    for e in poles:
        others = [x for x in poles if x != e]
        numerator = [1]  # prod (x - other), constant first
        for other in others:
            numerator = [(a - other * b) % P for a, b in zip([0, *numerator], [*numerator, 0], strict=True)]
        value = sum(a * m for a, m in zip(numerator, moments, strict=True))
        at = sum(a * pow(e, i, P) for i, a in enumerate(numerator))
        residues.append(value * pow(at, -1, P) % P)
    return residues


Question = Callable[[View], bool]

QUESTIONS: dict[str, Question] = {
    "an own ID kept its own residue": lambda view: view.ratios[0] == 1,
    "own IDs were scaled alike": lambda view: view.ratios[0] == view.ratios[1],
    "the other own IDs were scaled alike": lambda view: view.ratios[1] == view.ratios[2],
    "the first ratio is odd": lambda view: view.ratios[0] % 2 == 1,
    "the first ratio is large": lambda view: view.ratios[0] > P // 2,
    "the ratios ascend": lambda view: view.ratios[0] < view.ratios[1],
    "their difference is odd": lambda view: (view.ratios[0] - view.ratios[1]) % P % 2 == 1,
    "the first moment is odd": lambda view: view.opened[0] % 2 == 1,
    "the last moment is large": lambda view: view.opened[-1] > P // 2,
    "a share received is odd": lambda view: view.received[0] % 2 == 1,
    "shares received ascend": lambda view: view.received[0] < view.received[1],
    "a share of the second client exceeds the third's": lambda view: (
        view.received[0] > view.received[len(view.received) // 2]
    ),
}


def largest_difference(one: Parties, other: Parties) -> tuple[float, str]:
    """The largest difference of a question's answers between two ownerships, in standard deviations."""
    views = [[View(parties, run) for run in range(RUNS)] for parties in (one, other)]
    scores = []
    for name, question in QUESTIONS.items():
        yes = [sum(question(view) for view in of_one) for of_one in views]
        share = max(sum(yes) / (2 * RUNS), 1 / (2 * RUNS))
        deviation = sqrt(2 * RUNS * share * max(1 - share, 1 / (2 * RUNS)))
        scores.append((abs(yes[0] - yes[1]) / deviation, name))
    return max(scores)


@pytest.mark.some(1)
@pytest.mark.parametrize("other", [HELD_TWICE, SWAPPED, SPREAD], ids=["held twice", "swapped", "spread"])
def test_ownerships_of_one_union_look_alike(other: Parties) -> None:
    sigmas, question = largest_difference(ALONE, other)
    assert sigmas < SIGMAS, question


class TestPlantedLeaks:
    """The same experiment on variants that leak."""

    def test_a_series_opened_as_it_stands_shows_who_else_holds_an_own_id(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def bare(self, total: Elements, weights: Elements, kernels: UnionKernels) -> Elements:
            return total[:, : self.shape.terms].copy()

        monkeypatch.setattr(SeriesStage, "output", bare)
        sigmas, question = largest_difference(ALONE, HELD_TWICE)
        assert sigmas > 2 * SIGMAS
        assert question in {"an own ID kept its own residue", "own IDs were scaled alike"}

    def test_one_weight_for_a_bin_shows_it_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        output = SeriesStage.output

        def scaled(self, total: Elements, weights: Elements, kernels: UnionKernels) -> Elements:
            constant = np.zeros_like(weights)
            constant[:, 0] = weights[:, 0]
            return output(self, total, constant, kernels)

        monkeypatch.setattr(SeriesStage, "output", scaled)
        sigmas, question = largest_difference(ALONE, HELD_TWICE)
        assert sigmas > 2 * SIGMAS
        assert question == "own IDs were scaled alike"
