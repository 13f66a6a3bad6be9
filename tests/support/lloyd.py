"""ExactLloyd in both arithmetics, for small cases."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from plaintext_baselines import ExactLloyd
from plaintext_baselines._integers import PythonIntegers
from plaintext_baselines._limbs import Limbs

MAKE = {"integers": PythonIntegers, "limbs": Limbs}

both = pytest.mark.parametrize("arithmetic", list(MAKE))


def column(*values):
    return np.array(values, dtype=float)[:, None]


def fit_quietly(parties, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ExactLloyd(**parameters).fit(parties)


def lists(labels):
    return [party.tolist() for party in labels]
