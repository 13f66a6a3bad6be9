"""Files of compiled code: which are used, and what the loops accept."""

import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from secfc.field.mixed_radix import MixedRadix
from secfc.field.primes import PRIMES
from secfc.kernels import blocks, compiled, native, shared_folder
from secfc.kernels.interface import EncodingTransform
from secfc.psu import kernels as union_kernels

MODULES = ("secfc.kernels.gate_loops",)
F64 = np.dtype(np.float64)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder for compiled code."""
    monkeypatch.setattr(native, "_folders", lambda: iter([tmp_path]))
    return tmp_path


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The modules that were compiled."""
    found: list[tuple[str, ...]] = []

    def compile_(llvm: object, modules: tuple[str, ...], real: Callable[..., object] = native._compiled):
        found.append(modules)
        return real(llvm, modules)

    monkeypatch.setattr(native, "_compiled", compile_)
    return found


def works(loops: SimpleNamespace) -> bool:
    kind, bits, out = np.dtype(np.uint64), np.array([[6]], dtype=np.uint64), np.zeros((1, 1), dtype=np.uint64)
    loops.leaf_products(loops.read(bits, kind, 2), 1, 1, 0, loops.write(out, kind, 2), 1)
    return bool(out[0, 0] == 6)


def test_code_is_compiled_once_and_then_read(folder, compilations):
    for _ in range(3):
        assert works(native.loops(*MODULES))
    assert compilations == [MODULES]
    (file,) = folder.iterdir()
    assert file.stat().st_mode & 0o111 == 0


def changed(data: bytes) -> bytes:
    return data[:-9] + bytes([data[-9] ^ 1]) + data[-8:]


def head_changed(data: bytes) -> bytes:
    return data.replace(b"leaf_products", b"leaf_productz", 1)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:31],
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: data[32:],
        changed,
        head_changed,
        lambda data: b"[" * 100_000,
    ],
    ids=["empty", "no digest", "short", "long", "no head", "a bit", "another name", "brackets"],
)
def test_a_damaged_file_is_compiled_again(folder, compilations, damage):
    native.loops(*MODULES)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert works(native.loops(*MODULES))
    assert len(compilations) == 2
    assert list(folder.iterdir()) == [file]
    assert file.read_bytes()[32:200] == whole[32:200]


def test_a_file_of_other_loops_or_of_another_setting_is_not_read(folder, compilations, monkeypatch):
    native.loops(*MODULES)
    monkeypatch.setenv("NUMBA_OPT", "2")
    native.loops(*MODULES)
    monkeypatch.setattr(native, "_COMMON", (*native._COMMON, "secfc.threads"))
    native.loops(*MODULES)
    assert len(compilations) == len(list(folder.iterdir())) == 3


@pytest.mark.skipif(sys.platform == "win32", reason="file modes")
@pytest.mark.parametrize("mode", [0o666, 0o664])
def test_a_file_that_others_can_write_is_not_run(folder, compilations, mode):
    native.loops(*MODULES)
    (file,) = folder.iterdir()
    file.chmod(mode)
    assert works(native.loops(*MODULES))
    assert len(compilations) == 2
    assert file.stat().st_mode & 0o022 == 0


@pytest.mark.skipif(sys.platform == "win32", reason="file modes")
def test_a_file_is_writable_for_its_owner_only_whatever_the_umask(folder, compilations):
    before = os.umask(0)
    try:
        native.loops(*MODULES)
    finally:
        os.umask(before)
    native.loops(*MODULES)
    assert len(compilations) == 1


@pytest.mark.skipif(getattr(os, "geteuid", int)() != 0, reason="root alone can give files away")
def test_a_file_of_another_user_is_not_run(folder, compilations):
    native.loops(*MODULES)
    (file,) = folder.iterdir()
    os.chown(file, 1234, -1)
    assert works(native.loops(*MODULES))
    assert len(compilations) == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in folders")
def test_a_pipe_in_place_of_the_file_is_replaced_and_does_not_block(folder, compilations):
    native.loops(*MODULES)
    (file,) = folder.iterdir()
    file.unlink()
    os.mkfifo(file)
    assert works(native.loops(*MODULES))
    assert file.is_file()
    assert len(compilations) == 2


def test_where_nothing_can_be_written_compiled_code_is_used_and_a_line_says_so(
    folder, compilations, monkeypatch, caplog
):
    native.loops(*MODULES)
    (file,) = folder.iterdir()
    file.unlink()
    file.mkdir()
    monkeypatch.setattr(shared_folder, "make", lambda: None)
    assert works(native.loops(*MODULES))
    assert len(compilations) == 2
    assert list(folder.iterdir()) == [file]
    assert caplog.messages == [
        "compiled code cannot be kept in any folder, so each process compiles for some 20 s"
    ]


class TestMarks:
    @pytest.fixture
    def mark(self, folder) -> Path:
        """The mark of a process that compiles."""
        native.loops(*MODULES)
        (file,) = folder.iterdir()
        (file.parent / "kept").write_bytes(file.read_bytes())
        file.unlink()
        mark = file.with_suffix(".busy")
        mark.touch()
        return mark

    def test_the_file_of_another_process_is_waited_for(self, mark, compilations, monkeypatch):
        def arrives(_: float) -> None:
            mark.with_suffix(".code").write_bytes((mark.parent / "kept").read_bytes())

        monkeypatch.setattr(native.time, "sleep", arrives)
        assert works(native.loops(*MODULES))
        assert compilations == []

    def test_a_mark_that_is_removed_lets_the_next_compile(self, mark, compilations, monkeypatch):
        monkeypatch.setattr(native.time, "sleep", lambda _: mark.unlink())
        assert works(native.loops(*MODULES))
        assert compilations == [MODULES]
        assert not mark.exists()

    @pytest.mark.parametrize("seconds", [-1e6, 1e6])
    def test_an_old_mark_or_one_of_the_future_is_ignored_and_removed(self, mark, compilations, seconds):
        now = native.time.time()
        os.utime(mark, (now + seconds, now + seconds))
        assert works(native.loops(*MODULES))
        assert compilations == [MODULES]
        assert not mark.exists()

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there a process number cannot be looked up")
    def test_the_mark_of_a_process_that_has_ended_is_ignored(self, mark, compilations, monkeypatch):
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        mark.write_text(f"{platform.node()} {ended.pid}")
        monkeypatch.setattr(native.time, "sleep", lambda _: pytest.fail("it waits"))
        assert works(native.loops(*MODULES))
        assert compilations == [MODULES]

    @pytest.mark.parametrize("told", ["elsewhere 1", "no number", "this process"])
    def test_nobody_waits_for_ever(self, mark, compilations, monkeypatch, told):
        mark.write_text(f"{platform.node()} {os.getpid()}" if told == "this process" else told)
        monkeypatch.setattr(native, "_PATIENCE", 0.2)
        monkeypatch.setattr(native.time, "sleep", lambda _: os.utime(mark))
        assert works(native.loops(*MODULES))
        assert compilations == [MODULES]
        assert not mark.exists()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors")
def test_a_folder_in_place_of_the_file_costs_no_descriptors(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        assert native._read(tmp_path) is None
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_process_that_is_forked_while_a_thread_compiles_can_compile(python, tmp_path):
    code = """
        import os, threading
        from pathlib import Path
        from secfc.kernels import native
        native._folders = lambda: iter([Path(FOLDER)])
        begun, real = threading.Event(), native._compiled
        def compiled(*given):
            begun.set()
            return real(*given)
        native._compiled = compiled
        thread = threading.Thread(target=native.loops, args=["secfc.kernels.gate_loops"])
        thread.start()
        begun.wait()
        child = os.fork()
        if not child:
            native.loops("secfc.kernels.gate_loops")
            os._exit(7)
        thread.join()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert python(code.replace("FOLDER", repr(str(tmp_path)))).split() == ["7"]


def test_where_the_processor_is_unknown_to_llvm_code_has_no_features(folder, compilations, monkeypatch):
    def unknown() -> None:
        raise RuntimeError("failed to get host cpu features.")

    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", unknown)
    assert native._processor(__import__("llvmlite.binding").binding)[2] == ""
    assert works(native.loops(*MODULES))


def test_code_that_would_call_numba_is_refused(folder, monkeypatch):
    one = blocks.Loop(
        "declare i8* @NRT_Allocate(i64)\n"
        "define i8* @cfunc.one(i64 %n) { %found = call i8* @NRT_Allocate(i64 %n)\n ret i8* %found }",
        "void *(*)(int64_t)",
    )
    monkeypatch.setitem(blocks.LOOPS, MODULES[0], {"one": one})
    with pytest.raises(native.NoLoopsError, match="needs NRT_Allocate"):
        native.loops(*MODULES)
    assert list(folder.iterdir()) == []


class TestAddresses:
    @pytest.mark.parametrize("take", [compiled._read, compiled._write], ids=["read", "write"])
    def test_arrays_of_another_type_or_order_are_refused(self, take):
        whole = np.zeros((4, 4))
        take(whole, F64, 2)
        for wrong in (whole[0], whole[np.newaxis]):
            with pytest.raises(TypeError, match="the loop needs 2 of float64"):
                take(wrong, F64, 2)
        for wrong in (whole.astype(np.float32), whole.astype(np.int64), whole.astype(">f8")):
            with pytest.raises(TypeError, match="the loop needs 2 of float64"):
                take(wrong, F64, 2)
        odd = np.zeros(33, dtype=np.uint8)[1:].view(np.float64)
        with pytest.raises(TypeError, match="aligned"):
            take(odd, F64, 1)
        for wrong in (whole[:, :2], whole[::2], whole.T, np.asfortranarray(np.ones((2, 3)))):
            with pytest.raises(ValueError, match="contiguous"):
                take(wrong, F64, 2)

    def test_an_array_that_cannot_be_written_is_only_read(self):
        fixed = np.zeros(4)
        fixed.flags.writeable = False
        compiled._read(fixed, F64, 1)
        with pytest.raises(ValueError, match="read-only"):
            compiled._write(fixed, F64, 1)

    def test_a_list_has_no_address(self):
        with pytest.raises(AttributeError):
            compiled._read([1.0], F64, 1)  # type: ignore[arg-type]


def test_a_union_uses_numpy_where_only_the_other_loops_can_be_loaded(monkeypatch, caplog):
    def broken(*_: str) -> None:
        raise native.NoLoopsError("Numba is broken")

    monkeypatch.setattr(native, "loops", broken)
    monkeypatch.delitem(sys.modules, "secfc.psu.compiled", raising=False)
    union_kernels._compiled.cache_clear()
    try:
        assert union_kernels.choose(1 << 40).name == "numpy"
    finally:
        union_kernels._compiled.cache_clear()
    assert caplog.messages == ["unions use NumPy, because compiled code cannot be made: Numba is broken"]


def test_all_loops_run_without_numba(python):
    """A new interpreter in which Numba cannot be imported loads the code of all loops."""
    code = """
        import sys
        sys.modules["numba"] = None
        from secfc.kernels import compiled
        from secfc.psu import compiled as union
        print(len(vars(compiled._loops)), len(vars(union._loops)))
    """
    import secfc.psu.compiled as union  # noqa: PLC0415 - compiles its loops

    told = python(code).split()
    assert told == [str(len(vars(one._loops))) for one in (compiled, union)]
    assert min(map(int, told)) > 2


class TestChecksOfShapes:
    """What a loop would read or write beyond the end of an array, or end the process for."""

    kernels = compiled.CompiledKernels()
    primes = (PRIMES[0].p, PRIMES[1].p)

    @staticmethod
    def words(*shape: int) -> np.ndarray:
        return np.zeros(shape, dtype=np.uint64)

    @pytest.mark.parametrize(
        ("rows", "old", "new"),
        [([5], [0], [1]), ([-1], [0], [1]), ([0], [0], [2]), ([0], [2], [0]), ([0, 1], [0], [1])],
    )
    def test_rows_and_sets_that_move(self, rows, old, new):
        shares, sums = np.zeros((3, 5), dtype=np.float32), np.zeros((2, 3))
        given = np.array(rows), np.array(old, dtype=np.int32), np.array(new, dtype=np.int32)
        with pytest.raises(ValueError, match="do not fit the shares"):
            self.kernels.move_rows(shares, *given, sums)

    @pytest.mark.parametrize("sets", [[0, 2, 0], [-2, 0, 0], [0, 0]])
    def test_sets_that_are_summed(self, sets):
        with pytest.raises(ValueError, match="do not fit the shares"):
            self.kernels.set_sums(np.zeros((2, 3), dtype=np.float32), np.array(sets, dtype=np.int32), 2)

    @pytest.mark.parametrize(
        ("n", "before", "order", "roots"), [(9, 2, 8, 4), (5, 9, 8, 4), (5, 2, 6, 3), (5, 2, 8, 3)]
    )
    def test_transforms(self, n, before, order, roots):
        transform = EncodingTransform(
            before=np.ones(before),
            spectrum=np.ones(order),
            after=np.ones(n),
            roots=np.ones(roots),
            inverse_roots=np.ones(roots),
        )
        out = np.zeros((n, 1, 3), dtype=np.uint8)
        with pytest.raises(ValueError, match="the transform is too short"):
            self.kernels.encode_by_transform(np.ones((before, 1, 1)), transform, self.primes[0], out)

    def test_residues_that_are_no_words(self):
        planes = np.zeros((2, 1, 4), dtype=np.uint8)
        with pytest.raises(ValueError, match="words"):
            self.kernels.refused(planes, self.primes)
        with pytest.raises(ValueError, match="do not fit the memory"):
            self.kernels.store(planes, self.primes, np.zeros((2, 2, 9), dtype=np.float32), 0)
        with pytest.raises(ValueError, match="words"):
            self.kernels.weigh([planes], np.ones((2, 1)), self.primes, planes.copy())
        with pytest.raises(ValueError, match="do not fit the answer"):
            self.kernels.combine(planes[0], np.ones((1, 1)), self.primes[0], np.zeros(1))

    def test_answers_of_another_type(self):
        with pytest.raises(TypeError, match="the loop needs 3 of uint8"):
            self.kernels.weigh(
                [np.zeros((2, 1, 48), dtype=np.int8)],
                np.ones((2, 1)),
                self.primes,
                np.zeros((2, 1, 48), dtype=np.uint8),
            )

    def test_the_nearest_of_no_sets(self):
        with pytest.raises(ValueError, match="do not fit"):
            self.kernels.nearest(
                np.zeros((2, 0, 3), dtype=np.float32),
                MixedRadix(self.primes),
                np.zeros(0, dtype=np.int64),
                0.0,
            )

    def test_leaves_of_more_axes(self):
        with pytest.raises(TypeError, match="the loop needs"):
            self.kernels.leaves(
                self.words(2, 64), 0, self.words(3, 4, 64), True, self.words(4, 64), self.words(4, 64)
            )

    @pytest.mark.parametrize(
        ("less", "equal", "out"),
        [
            ((0, 1), (2, 1), ((1, 1), (1, 1))),
            ((2, 1), (2, 1), ((0, 1), (1, 1))),
            ((2, 1), (2, 1), ((1, 1), (2, 1))),
        ],
    )
    def test_outputs_of_gates(self, less, equal, out):
        entries = 1 + (1 if less[0] else 0)
        deltas, halves = ((self.words(*less), self.words(*equal)) for _ in range(2))
        with pytest.raises(ValueError, match="do not fit the wires"):
            self.kernels.gates(
                deltas, halves, 2, self.words(entries, 1, 1), True, tuple(self.words(*one) for one in out)
            )

    def test_gates_that_lack_two_wires(self):
        with pytest.raises(ValueError, match="products do not fit"):
            self.kernels.gate_products(self.words(0, 1), self.words(2, 1), 4, self.words(1, 1, 1))

    def test_numbers_that_are_too_large(self):
        with pytest.raises(ValueError, match=r"not below 2\*\*24"):
            self.kernels.accept(np.zeros(1, dtype=np.uint32), 1 << 24, np.zeros(1))
