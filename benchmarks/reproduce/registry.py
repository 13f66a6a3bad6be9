"""The experiments by name. Their modules are loaded when an experiment runs."""

import difflib
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secfc.errors import ParameterError

if TYPE_CHECKING:
    from benchmarks.reproduce.common import Context, FigureRow


@dataclass(frozen=True)
class Experiment:
    """A published table or figure.

    Attributes
    ----------
    name : str
        The paper and what it prints. `EXPERIMENTS` of the paper's module has its function.
    title : str
    files : str
        The folder of the data directory that it reads; "" if it makes its rows itself.
    """

    name: str
    title: str
    files: str = ""

    def rows(self, context: "Context") -> Iterator["FigureRow"]:
        """Measure. A missing file is a one-line DataError."""
        paper, _, what = self.name.partition("-")
        module = importlib.import_module(f"benchmarks.reproduce.{paper}_paper")
        found: Iterator[FigureRow] = module.EXPERIMENTS[what](context)
        return found


_LISTED = (
    Experiment("secfc-table1", "SecFC, Table 1: accuracy on Gaussians, sigma 1"),
    Experiment("secfc-table2", "SecFC, Table 2: accuracy on Gaussians, sigma 20"),
    Experiment("secfc-table3", "SecFC, Table 3: accuracy on rotated MNIST", "mnist"),
    Experiment("secfc-figure1", "SecFC, Figure 1: seconds of an iteration"),
    Experiment("fkm-figure1b", "FKM, Figure 1(b): ARI on the grid", "fkm_synthetic"),
    Experiment("fkm-figure3", "FKM, Figure 3: ARI against noise", "fkm_synthetic"),
    Experiment("fkm-figure4", "FKM, Figure 4: ARI with unequal clients", "fkm_synthetic"),
    Experiment("fkm-figure5", "FKM, Figure 5: silhouettes on FEMNIST", "femnist_fkm"),
    Experiment("ffcm-table2", "FFCM, Table 2: unequal parties"),
    Experiment("ffcm-table3", "FFCM, Table 3: a hidden cluster"),
    Experiment("ffcm-table4", "FFCM, Table 4: locally absent clusters"),
    Experiment("ffcm-table5", "FFCM, Table 5: the G2 sets (files of g2/ where they are)"),
    Experiment("dwf-synthetic", "DWF, Tables 1 to 3: score, accuracy, v-measure on synthetic"),
    Experiment("dwf-mnist", "DWF, Tables 1 to 3: score, accuracy, v-measure on mnist", "mnist"),
    Experiment("dwf-femnist", "DWF, Tables 1 to 3: score, accuracy, v-measure on femnist", "femnist_leaf"),
)

EXPERIMENTS = {each.name: each for each in _LISTED}


def experiment(name: str) -> Experiment:
    """The experiment of this name.

    Raises
    ------
    ParameterError
        If there is none, with the names nearest to it.
    """
    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    near = difflib.get_close_matches(name, EXPERIMENTS, n=3)
    hint = f"did you mean {', '.join(near)}?" if near else "--list shows all"
    raise ParameterError(f"there is no experiment {name!r}; {hint}")
