"""The experiments by name. Their modules are loaded when an experiment runs."""

import difflib
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from secfc.errors import ParameterError

if TYPE_CHECKING:
    from benchmarks.reproduce.common import Context
    from benchmarks.reproduce.parts import Part


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A published table or figure.

    Attributes
    ----------
    name : str
    title : str
    module, function : str
        The function that yields the parts; its arguments are the context and `arguments`.
    arguments : tuple
    files : str
        The folder of the data directory that it reads; "" if it makes its rows itself.
    """

    name: str
    title: str
    module: str
    function: str
    arguments: tuple[int | str, ...] = ()
    files: str = ""

    def parts(self, context: "Context") -> Iterator["Part"]:
        """The parts to measure. A part raises a one-line DataError for a missing file."""
        module = importlib.import_module(f"benchmarks.reproduce.{self.module}")
        found: Iterator[Part] = getattr(module, self.function)(context, *self.arguments)
        return found


def _dwf() -> Iterator[Experiment]:
    for dataset, files in {"synthetic": "", "mnist": "mnist", "femnist": "femnist_leaf"}.items():
        yield Experiment(
            name=f"dwf-{dataset}",
            title=f"DWF, Tables 1 to 3: score, accuracy, v-measure on {dataset}"
            + (" IID" * (dataset == "femnist")),
            module="dwf_paper",
            function="tables",
            arguments=(dataset,),
            files=files,
        )


_LISTED = (
    Experiment(
        name="secfc-table1",
        title="SecFC, Table 1: accuracy on Gaussians, sigma 1",
        module="secfc_paper",
        function="table",
        arguments=(1,),
    ),
    Experiment(
        name="secfc-table2",
        title="SecFC, Table 2: accuracy on Gaussians, sigma 20",
        module="secfc_paper",
        function="table",
        arguments=(2,),
    ),
    Experiment(
        name="secfc-table3",
        title="SecFC, Table 3: accuracy on rotated MNIST",
        module="secfc_paper",
        function="table_3",
        files="mnist",
    ),
    Experiment(
        name="secfc-figure1",
        title="SecFC, Figure 1: seconds of an iteration",
        module="secfc_paper",
        function="figure_1",
    ),
    Experiment(
        name="fkm-figure1b",
        title="FKM, Figure 1(b): ARI on the grid",
        module="fkm_paper",
        function="figure_1b",
        files="fkm_synthetic",
    ),
    Experiment(
        name="fkm-figure3",
        title="FKM, Figure 3: ARI against noise",
        module="fkm_paper",
        function="figure_3",
        files="fkm_synthetic",
    ),
    Experiment(
        name="fkm-figure4",
        title="FKM, Figure 4: ARI with unequal clients",
        module="fkm_paper",
        function="figure_4",
        files="fkm_synthetic",
    ),
    Experiment(
        name="fkm-figure5",
        title="FKM, Figure 5: silhouettes on FEMNIST",
        module="fkm_paper",
        function="figure_5",
        files="femnist_fkm",
    ),
    Experiment(
        name="ffcm-table2",
        title="FFCM, Table 2: unequal parties",
        module="ffcm_paper",
        function="table_2",
    ),
    Experiment(
        name="ffcm-table3",
        title="FFCM, Table 3: a hidden cluster",
        module="ffcm_paper",
        function="table_3",
    ),
    Experiment(
        name="ffcm-table4",
        title="FFCM, Table 4: locally absent clusters",
        module="ffcm_paper",
        function="table_4",
    ),
    Experiment(
        name="ffcm-table5",
        title="FFCM, Table 5: the G2 sets (files of g2/ where they are)",
        module="ffcm_paper",
        function="table_5",
    ),
    *_dwf(),
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
