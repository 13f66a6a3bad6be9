"""How the site renders x_i and 2^E of pages."""

import runpy
from pathlib import Path

import pytest

HOOK = Path(__file__).parent.parent / "docs" / "hooks" / "indices.py"
set_indices = runpy.run_path(str(HOOK))["set_indices"]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("*m_j* rows", "*m<sub>j</sub>* rows"),
        ("x̄_{i,1}, …, x̄_{i,ℓ}", "x̄<sub>i,1</sub>, …, x̄<sub>i,ℓ</sub>"),
        ("Σ_{i ∈ S_h} f_i(α_j)", "Σ<sub>i ∈ S<sub>h</sub></sub> f<sub>i</sub>(α<sub>j</sub>)"),
        ("‖μ̃_h‖²", "‖μ̃<sub>h</sub>‖²"),
        ("2^E B, 2^precision", "2<sup>E</sup> B, 2<sup>precision</sup>"),
        ("g ω^(j−1), p^−c", "g ω<sup>j−1</sup>, p<sup>−c</sup>"),
        ("c_e^(j)", "c<sub>e</sub><sup>(j)</sup>"),  # an index, not a power
    ],
)
def test_indices_and_powers_are_set(written, shown):
    assert set_indices(written) == shown


@pytest.mark.parametrize(
    "text",
    [
        "A = max_liars > 0",
        "`m_j` and `2^E`",
        "```\nx_i 2^E\n```\n",
        "    x_i = 2^E",
        "[a](x_i.md)",
        "snake_case_name, SFC_1",
    ],
)
def test_names_code_and_addresses_are_left_alone(text):
    assert set_indices(text) == text
