"""Which features of a job do not go together: one table, which `secfc.protocol.job.making` reads.

All pairs that are not in `APART` go together. docs/optional.md has the same table, and tests run every pair.
"""

from collections.abc import Callable

from secfc.errors import ParameterError
from secfc.protocol.job.job_options import JobOptions

FEATURES: dict[str, Callable[[JobOptions], bool]] = {
    "disclosure 'labels'": lambda given: given.disclosure == "labels",
    "disclosure 'coded'": lambda given: given.disclosure == "coded",
    "comparers": lambda given: bool(given.comparers),
    "ids": lambda given: given.ids_cap is not None,
    "committee": lambda given: given.owners is not None,
    "sample_weight": lambda given: given.weighted,
    "precision": lambda given: given.precision != JobOptions.precision,
    "step": lambda given: given.step is not None,
    "predict": lambda given: given.predict,
    "compared": lambda given: bool(given.compared),
    "init by labels or centres": lambda given: given.init == "labels",
    "init 'separation'": lambda given: given.init == "separation",
    "init 'k-means++'": lambda given: given.init == "k-means++",
    "n_init": lambda given: given.n_init != 1,
    "tol_moved": lambda given: given.tol_moved > 0,
    "reveal_centres": lambda given: bool(given.reveal_to),
    "reveal_spread": lambda given: given.reveal_spread is not None,
    "reveal_inertia": lambda given: given.reveal_inertia,
    "centres_epsilon": lambda given: given.centres_epsilon is not None,
    "max_liars": lambda given: given.max_liars > 0,
}
"""Features by name, and whether a job has one. "compared" is `secfc.choose_k`."""

APART = {
    ("init 'separation'", "disclosure 'labels'"): "it needs distances that the server decodes",
    ("comparers", "disclosure 'coded'"): "nobody compares",
    ("reveal_inertia", "disclosure 'coded'"): "everybody learns the inertia",
    ("centres_epsilon", "disclosure 'coded'"): "it tells distances without noise",
    ("init 'k-means++'", "disclosure 'coded'"): "the server would learn each row's distance to single rows",
    ("sample_weight", "disclosure 'coded'"): "the paper's protocol has no weights",
    ("ids", "committee"): "an owner would have to know the union",
    ("sample_weight", "ids"): "a weight tells whose row it is",
    ("predict", "ids"): "start labels would show the server which party has which rows",
    ("init by labels or centres", "ids"): "start labels would show the server which party has which rows",
    ("reveal_spread", "ids"): "nobody may know whose rows a spread counts",
    ("centres_epsilon", "ids"): "no use of both is known",
    ("sample_weight", "committee"): "a deposit has no weights",
    ("predict", "committee"): "a deposit has no start labels",
    ("init by labels or centres", "committee"): "a deposit has no start labels",
    ("reveal_centres", "committee"): "members do not know which rows are a recipient's own",
    ("reveal_spread", "committee"): "members do not know which rows are a recipient's own",
    ("centres_epsilon", "committee"): "no centres are opened",
    ("sample_weight", "compared"): "the measures are of rows",
    ("precision", "step"): "with a step rows are represented exactly",
    ("centres_epsilon", "step"): "exact rows are of no use under noise",
    ("predict", "compared"): "a prediction has one k",
    ("predict", "n_init"): "a prediction has one round",
    ("predict", "tol_moved"): "a prediction moves no centre",
    ("reveal_centres", "predict"): "a prediction opens no centre",
    ("reveal_spread", "predict"): "a prediction opens no centre",
    ("centres_epsilon", "predict"): "a prediction opens no centre",
    ("reveal_inertia", "predict"): "a prediction has no inertia",
    ("init by labels or centres", "compared"): "start labels have one k",
    ("init 'separation'", "compared"): "several k are compared from random partitions",
    ("init 'k-means++'", "compared"): "several k are compared from random partitions",
    ("centres_epsilon", "compared"): "the inertia of each k is told without noise",
    ("n_init", "init by labels or centres"): "there is one start",
    ("reveal_spread", "max_liars"): "the masks of sums of squares are not checked",
    ("reveal_spread", "tol_moved"): "the inertia is of earlier sets and tells more about rows that moved",
    ("centres_epsilon", "reveal_spread"): "spreads tell sums of squares without noise",
    ("centres_epsilon", "reveal_inertia"): "the inertia is told without noise",
}
"""Pairs that do not go together, with the reason."""


def check_combinations(given: JobOptions) -> None:
    """Raise ParameterError, with both names and the reason, if two features do not go together."""
    used = {name for name, has in FEATURES.items() if has(given)}
    for (one, other), reason in APART.items():
        if one in used and other in used:
            raise ParameterError(f"{one}: not with {other}: {reason}")
