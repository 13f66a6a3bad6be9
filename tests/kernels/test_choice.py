"""Which kernels a job gets, and what happens if nothing can be compiled or written."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

import secfc
from secfc import kernels
from secfc.errors import ParameterError
from secfc.kernels import choose, chosen_name
from secfc.kernels.compiled import CompiledKernels
from secfc.kernels.vectorised import VectorisedKernels
from secfc.protocol.job.making import make_job
from secfc.protocol.job.row_layout import Layout

PACKAGE = Path(secfc.__file__).resolve().parent
LARGE = kernels._LARGE


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SECFC_KERNELS", "NUMBA_DISABLE_JIT"):
        monkeypatch.delenv(name, raising=False)


class TestName:
    @pytest.mark.parametrize(
        ("residues", "name"),
        [(0, "numpy"), (1, "numpy"), (LARGE - 1, "numpy"), (LARGE, "compiled"), (1 << 50, "compiled")],
    )
    @pytest.mark.parametrize("wanted", [None, "auto"])
    def test_small_jobs_get_numpy_and_large_ones_compiled_code(
        self, monkeypatch: pytest.MonkeyPatch, wanted: str | None, residues: int, name: str
    ) -> None:
        if wanted:
            monkeypatch.setenv("SECFC_KERNELS", wanted)
        assert chosen_name(residues) == name

    @pytest.mark.parametrize(
        ("m", "job", "alone", "together"),
        [
            (5000, {"n": 5, "d": 10, "k": 8, "n_init": 20}, "compiled", "compiled"),
            (10_000, {"n": 11, "d": 50, "k": 8, "t": 4, "ell": 2}, "compiled", "compiled"),
            (3010, {"n": 301, "d": 10, "k": 4, "t": 4, "ell": 2}, "numpy", "compiled"),
            (8000, {"n": 3, "d": 784, "k": 2}, "compiled", "compiled"),  # shares are most of the work
            (150, {"n": 3, "d": 4, "k": 3}, "numpy", "numpy"),
        ],
    )
    def test_the_work_of_the_whole_run_counts(
        self, m: int, job: dict[str, int], alone: str, together: str
    ) -> None:
        given = make_job(**({"t": 1, "ell": 1} | job), bound=1.0, disclosure="coded", max_iter=300)
        residues = Layout((m,)).run_residues(given)
        assert chosen_name(residues) == alone
        assert chosen_name(residues * (given.parties + 1)) == together

    @pytest.mark.parametrize("residues", [0, LARGE - 1, LARGE, 1 << 50])
    @pytest.mark.parametrize("wanted", ["numpy", "compiled"])
    def test_the_variable_decides_whatever_the_size(
        self, monkeypatch: pytest.MonkeyPatch, wanted: str, residues: int
    ) -> None:
        monkeypatch.setenv("SECFC_KERNELS", wanted)
        assert chosen_name(residues) == wanted

    @pytest.mark.parametrize("wanted", ["", "NumPy", "numba", "compiled ", "1"])
    def test_another_value_is_refused_by_name(self, monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
        monkeypatch.setenv("SECFC_KERNELS", wanted)
        with pytest.raises(
            ParameterError, match=r"^SECFC_KERNELS: 'auto', 'compiled' or 'numpy' is needed, "
        ):
            chosen_name(1)

    @pytest.mark.parametrize("value", ["1", "true", "yes"])
    def test_numba_that_is_switched_off_is_not_used(
        self, monkeypatch: pytest.MonkeyPatch, value: str
    ) -> None:
        monkeypatch.setenv("NUMBA_DISABLE_JIT", value)
        assert chosen_name(1 << 50) == "numpy"
        monkeypatch.setenv("SECFC_KERNELS", "compiled")
        with pytest.raises(ParameterError, match=r"^SECFC_KERNELS: compiled kernels need Numba"):
            chosen_name(1)

    @pytest.mark.parametrize("value", ["", "0"])
    def test_numba_that_is_not_switched_off_is_used(
        self, monkeypatch: pytest.MonkeyPatch, value: str
    ) -> None:
        monkeypatch.setenv("NUMBA_DISABLE_JIT", value)
        assert chosen_name(1 << 50) == "compiled"

    @pytest.mark.parametrize(
        ("residues", "wanted", "said"),
        [(LARGE, None, 1), (LARGE - 1, None, 0), (LARGE, "numpy", 0)],
        ids=["a large run", "a small run", "NumPy is wanted"],
    )
    def test_a_large_run_without_numba_says_once_that_it_is_slower(
        self,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        residues: int,
        wanted: str | None,
        said: int,
    ) -> None:
        if wanted:
            monkeypatch.setenv("SECFC_KERNELS", wanted)
        monkeypatch.setitem(sys.modules, "numba", None)
        kernels._warn_of_numpy.cache_clear()
        for _ in range(2):
            assert isinstance(choose(residues), VectorisedKernels)
        texts = [one for one in caplog.messages if "pip install '.[numba]'" in one]
        assert len(texts) == said

    def test_numba_that_is_missing_is_not_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "numba", None)
        assert chosen_name(1 << 50) == "numpy"
        monkeypatch.setenv("SECFC_KERNELS", "compiled")
        with pytest.raises(ParameterError, match=r"^SECFC_KERNELS: compiled kernels need Numba"):
            chosen_name(1)


class TestChoose:
    def test_gives_what_the_name_says_and_to_every_role_its_own(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, kind in (("numpy", VectorisedKernels), ("compiled", CompiledKernels)):
            monkeypatch.setenv("SECFC_KERNELS", name)
            chosen = choose(1)
            assert type(chosen) is kind
            assert chosen.name == name
            assert type(choose(1 << 50)) is kind
            assert choose(1) is not chosen

    def test_a_job_without_compiled_code_does_not_import_numba(self, python) -> None:
        code = """
            import sys
            from secfc.kernels import choose
            assert choose(1).name == "numpy"
            assert not {"numba", "llvmlite"} & set(sys.modules)
        """
        python(code)

    RUN = """
        import numpy as np
        import secfc
        rows = [np.random.default_rng(j).normal(size=(12, 2)) for j in range(3)]
        print([part.tolist() for part in secfc.run(rows, 3, 1, 1, seed=1).labels])
    """

    @pytest.mark.parametrize(
        "before", [pytest.param("", marks=pytest.mark.slow), "import sys\nsys.modules['numba'] = None\n"]
    )
    def test_a_run_without_numba_gives_equal_labels(self, python, before: str) -> None:
        # The threshold is lowered to 0, so that the job would be compiled if possible.
        auto = "import secfc.kernels\nsecfc.kernels._LARGE = 0\n"
        disabled = {} if before else {"NUMBA_DISABLE_JIT": 1}
        found = python(f"{before}{auto}{dedent(self.RUN)}", **disabled)
        assert found == python(self.RUN, SECFC_KERNELS="compiled")

    BROKEN = """
        import sys

        class Broken:
            def find_spec(self, name, path=None, target=None):
                if name == "llvmlite":
                    raise ImportError("a library is missing, or NumPy is too new")

        sys.meta_path.insert(0, Broken())
    """

    def test_numba_that_cannot_be_imported_makes_large_jobs_use_numpy(self, python) -> None:
        code = """
            from secfc.kernels import choose
            assert choose(1 << 50).name == "numpy"
        """
        python(dedent(self.BROKEN) + dedent(code))

    def test_compiled_code_asked_for_with_numba_that_cannot_be_imported_is_an_error_of_ours(
        self, python
    ) -> None:
        code = """
            from secfc.errors import ParameterError
            from secfc.kernels import choose
            try:
                choose(1)
            except ParameterError as error:
                print(error)
        """
        found = python(dedent(self.BROKEN) + dedent(code), SECFC_KERNELS="compiled")
        assert found.startswith("SECFC_KERNELS: compiled kernels need Numba")


UNPRIVILEGED = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""Root, but subject to file modes."""

QUICK_LOOPS = """
from numba import int64
from secfc.kernels.compiling import loop

@loop(int64(int64))
def one(x):
    return x + 1
"""


def quicken(kernels: Path) -> None:
    """Make a copy of the kernels compile quickly: one small loop."""
    (kernels / "loops.py").write_text(QUICK_LOOPS)
    (kernels / "gate_loops.py").write_text("")


COMPILE = """
from secfc.kernels import choose

kernels = choose(1 << 50)
if kernels.name == "compiled":
    from secfc.kernels.compiled import _loops
    assert _loops.one(1) == 2
print(kernels.name)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="file modes")
@pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("setpriv") is None,
    reason="root may write everywhere, and setpriv is missing",
)
class TestFoldersOfTheCache:
    @pytest.fixture
    def place(self, tmp_path: Path) -> Iterator[Path]:
        """A folder with a read-only package that has quick loops, and a folder for everything else."""
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PACKAGE, tmp_path / "site" / "secfc", ignore=ignored)
        quicken(tmp_path / "site/secfc/kernels")
        (tmp_path / "home").mkdir()
        (tmp_path / "site/secfc/kernels").chmod(0o555)
        yield tmp_path
        for folder in tmp_path.rglob("*"):
            if folder.is_dir():
                folder.chmod(0o755)

    def test_the_first_compilation_is_said_and_the_next_load_is_not(self, place: Path) -> None:
        environment = {
            **os.environ,
            "PYTHONPATH": str(place / "site"),
            "NUMBA_CACHE_DIR": str(place / "cache"),
        }
        command = [sys.executable, "-P", "-c", COMPILE]
        said = [
            subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr
            for _ in range(2)
        ]
        assert said[0].startswith("loops are compiled now, which takes about half a minute")
        assert said[1] == ""

    def compiled(self, python, place: Path, **variables: object) -> str:
        options = UNPRIVILEGED if os.geteuid() == 0 else ()
        given = {"HOME": place / "home", "XDG_CACHE_HOME": None, "PYTHONDONTWRITEBYTECODE": 1, **variables}
        return python(COMPILE, package=place / "site", options=options, **given).strip()

    def test_a_home_that_can_be_written_keeps_code(self, python, place: Path) -> None:
        assert self.compiled(python, place) == "compiled"
        assert list((place / "home").rglob("*.nbi"))

    def test_a_package_that_can_be_written_keeps_code(self, python, place: Path) -> None:
        (place / "site/secfc/kernels").chmod(0o755)
        (place / "home").chmod(0o555)
        assert self.compiled(python, place) == "compiled"
        assert list((place / "site").rglob("*.nbi"))

    def test_where_nothing_can_be_written_compiled_code_is_used_and_not_kept(
        self, python, place: Path
    ) -> None:
        (place / "home").chmod(0o555)
        assert self.compiled(python, place) == "compiled"
        assert not list(place.rglob("*.nbi"))
