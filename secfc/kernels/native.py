"""Machine code of compiled loops. Numba makes it once, a file keeps it, and llvmlite loads it.

So a process that finds the file does not import Numba. That and the first use of Numba's own cache take half
a second. The file is for one kind of processor, and one version of the loops and of what compiles them. It is
in the user's folder for it (`shared_folder.CACHE`), beside the package, in the user's cache folder, or in a
temporary one. Where none can be written, each process compiles.
"""

import hashlib
import importlib
import json
import logging
import os
import platform
import re
import secrets
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from secfc.kernels import shared_folder

_LOG = logging.getLogger(__name__)

_COMMON = ("secfc.kernels.native", "secfc.kernels.lanes", "secfc.kernels.blocks")
"""Modules on which the code of all loops depends."""

_SETTINGS = ("OPT", "DEBUGINFO", "BOUNDSCHECK", "CPU_NAME", "CPU_FEATURES", "LOOP_VECTORIZE", "SLP_VECTORIZE")
"""Variables of Numba, after NUMBA_, that change its code."""

_SYSTEM = {"malloc", "free", "abort"}
_TO_RAISE = re.compile(
    r"Py\w+|numba_(gil_ensure|gil_release|unpickle|runtime_build_excinfo_struct|do_raise)"
    r"|NRT_(Free|MemInfo_call_dtor)"
)
"""What Numba's code calls only to raise an error, or for memory that Numba allocated."""

_DECLARED = re.compile(r"declare (?P<type>.*) @(?P<name>[^(]+)(?P<arguments>\([^)]*\))")
_MOST_BYTES, _DIGEST_BYTES = 1 << 24, 32  # of a file, and at its start
_PATIENCE, _PAUSE = 60.0, 0.05  # seconds for another process that compiles, and between two looks at its file
_FLAGS = {name: getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY")}
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_compiling = threading.RLock()
_engines: list[Any] = []  # they own loaded code

_Code = tuple[bytes, dict[str, tuple[str, str]]]  # with the symbol and the type in C of each function


class NoLoopsError(Exception):
    """Loops cannot be compiled here, for the reason that it states."""


def loops(*modules: str) -> SimpleNamespace:
    """The loops of some modules, by name, and `read` and `write`, which give them addresses of arrays.

    NoLoopsError without llvmlite or Numba, or where these fail. A fork waits while another thread is here.
    """
    try:
        import llvmlite.binding as llvm  # noqa: PLC0415 - of the extra

        with _compiling:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            kept = _Kept(llvm, modules)
            return _loaded(llvm, *(kept.read() or kept.made()))
    except (ImportError, OSError, RuntimeError) as error:
        raise NoLoopsError(str(error)) from error


def _loaded(llvm: Any, code: bytes, named: dict[str, tuple[str, str]]) -> SimpleNamespace:
    """Functions by name."""
    from _cffi_backend import FFI  # noqa: PLC0415 - cryptography brings it; its calls are faster than ctypes

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target(llvm))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append((engine, code))
    ffi, found = FFI(), {}
    for name, (symbol, declared) in named.items():
        address = engine.get_function_address(symbol)
        if not address:
            raise RuntimeError(f"compiled code has no function {symbol}")
        found[name] = ffi.cast(declared, address)
    return SimpleNamespace(**found, **_addresses(ffi))


def _addresses(ffi: Any) -> dict[str, Callable[[NDArray[Any], np.dtype[Any], int], Any]]:
    """Functions that give the address of an array, to read it and to write to it.

    TypeError unless the array has elements of this type and so many axes; ValueError unless it is in C order,
    and can be written if it is to be.
    """
    of, octets = ffi.from_buffer, ffi.typeof("char[]")

    def read(array: NDArray[Any], kind: np.dtype[Any], axes: int) -> Any:
        if array.dtype != kind or array.ndim != axes or not array.flags.aligned:
            raise _wrong(array, kind, axes)
        return of(array)

    def write(array: NDArray[Any], kind: np.dtype[Any], axes: int) -> Any:
        if array.dtype != kind or array.ndim != axes or not array.flags.aligned:
            raise _wrong(array, kind, axes)
        return of(octets, array, True)

    return {"read": read, "write": write}


def _wrong(array: NDArray[Any], kind: np.dtype[Any], axes: int) -> TypeError:
    return TypeError(
        f"an array of {array.ndim} axes of {array.dtype}; the loop needs {axes} of {kind}, aligned"
    )


def _processor(llvm: Any) -> tuple[str, str, str]:
    """Triple, name and features of this machine's processor."""
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM does not know them on some processors; Numba then uses none either
        features = ""
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), features


def _target(llvm: Any) -> Any:
    triple, name, features = _processor(llvm)
    return llvm.Target.from_triple(triple).create_target_machine(
        opt=3,
        cpu=name,
        features=features,
        reloc="static" if triple.startswith(("x86", "i386", "i686")) else "default",
        codemodel="jitdefault",
        jit=True,
    )


class _Kept:
    """The file of the loops of some modules: a digest of what follows, a line of JSON, and machine code."""

    def __init__(self, llvm: Any, modules: tuple[str, ...]) -> None:
        from importlib.metadata import version  # noqa: PLC0415 - imports much

        self._llvm, self._modules = llvm, modules
        settings = [os.environ.get(f"NUMBA_{name}") for name in _SETTINGS]
        made_by = version("numba"), llvm.llvm_version_info, _processor(llvm), settings
        made_of = hashlib.sha256(repr(made_by).encode())
        for module in (*_COMMON, *modules):
            spec = find_spec(module)
            if spec is None or spec.origin is None:
                raise ImportError(f"{module}: no file")
            made_of.update(Path(spec.origin).read_bytes())
        self._name = f"{modules[0].rpartition('.')[2]}-{made_of.hexdigest()[:32]}.code"

    def __repr__(self) -> str:
        return f"_Kept({self._name})"

    def read(self) -> _Code | None:
        """The machine code and its functions; None if no folder has a whole file of these loops."""
        ours = shared_folder.adopt()
        folders = [*_folders(), *([] if ours is None else [Path(ours)])]
        return next((found for folder in folders if (found := _read(folder / self._name)) is not None), None)

    def made(self) -> _Code:
        """Compile the loops, and keep them in the first folder that can be written."""
        found: _Code | None = None
        for folder in _places():
            path = folder / self._name
            with suppress(OSError), _alone(path):
                kept = _read(path)  # another process has compiled them meanwhile
                found = kept or found or self._compiled()
                if kept is None:
                    _write(path, *found)
                return found
        _LOG.warning("compiled code cannot be kept in any folder, so each process compiles for some 20 s")
        return found or self._compiled()

    def _compiled(self) -> _Code:
        try:
            return _compiled(self._llvm, self._modules)
        except Exception as error:  # Numba has many kinds
            raise NoLoopsError(str(error)) from error


def _folders() -> Iterator[Path]:
    """Folders of the user where compiled code may be."""
    named, caches = os.environ.get(shared_folder.CACHE), os.environ.get("XDG_CACHE_HOME", "")
    if named:
        yield Path(named).absolute()
    yield Path(__file__).parent / "__pycache__"
    caches = caches if os.path.isabs(caches) else os.environ.get("LOCALAPPDATA", "")
    with suppress(RuntimeError):  # no home is known
        yield (Path(caches) if caches else Path.home() / ".cache") / "secfc"


def _places() -> Iterator[Path]:
    """Folders to keep compiled code in, the temporary one last."""
    yield from _folders()
    ours = shared_folder.adopt() or shared_folder.make()
    if ours is not None:
        yield Path(ours)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Make a file's folder, and wait while another process writes the file, but not for ever.

    A mark with the name of the machine and the number of the process says that it compiles. OSError if the
    folder can have no mark.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    mark, until = path.with_suffix(".busy"), time.monotonic() + _PATIENCE
    while True:
        try:
            with open(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(f"{platform.node()} {os.getpid()}")
            break
        except FileExistsError:
            if time.monotonic() > until or _read(path) is not None or _abandoned(mark):
                with suppress(OSError):
                    os.utime(mark)  # now it is this process that compiles
                break
            time.sleep(_PAUSE)
    try:
        yield
    finally:
        with suppress(OSError):
            mark.unlink()


def _abandoned(mark: Path) -> bool:
    """Whether the process of a mark has ended, or has had its time."""
    try:
        found = mark.lstat()
        if abs(time.time() - found.st_mtime) > _PATIENCE:
            return True
        if stat.S_ISREG(found.st_mode) and hasattr(os, "fork"):
            machine, _, process = mark.read_text().rpartition(" ")
            if machine == platform.node():
                os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError):  # it is gone, another user's or not yet written
        pass
    return False


def _read(path: Path) -> _Code | None:
    """The code of a whole file that belongs to this user, or to the owner of the package.

    Code in it is run. None for a file that others may write to, and for what is no file.
    """
    wanted = os.O_RDONLY | _FLAGS["O_NONBLOCK"] | _FLAGS["O_NOFOLLOW"] | _FLAGS["O_BINARY"]
    with suppress(OSError):
        descriptor = os.open(path, wanted)  # a pipe with this name does not block
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_BYTES:
                return None
            if hasattr(os, "geteuid"):
                owners = os.geteuid(), Path(__file__).stat().st_uid
                if found.st_uid not in owners or found.st_mode & _OTHERS_WRITE:
                    return None
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(_MOST_BYTES)
        finally:
            os.close(descriptor)
        digest, told = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
        if hashlib.sha256(told).digest() == digest:
            named, _, code = told.partition(b"\n")
            return code, json.loads(named)
    return None


def _write(path: Path, code: bytes, named: dict[str, tuple[str, str]]) -> None:
    """Write a whole file or none, whoever else writes it."""
    told = json.dumps(named).encode() + b"\n" + code
    part = path.with_suffix(f".{secrets.token_hex(8)}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS["O_BINARY"]
        with open(os.open(part, flags, 0o644), "wb") as file:
            file.write(hashlib.sha256(told).digest() + told)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _compiled(llvm: Any, modules: tuple[str, ...]) -> _Code:
    """Machine code for this processor."""
    from secfc.kernels.blocks import LOOPS  # noqa: PLC0415 - imports Numba

    whole, named = llvm.parse_assembly(""), {}
    for module in modules:
        importlib.import_module(module)
        for name, loop in LOOPS[module].items():
            part = llvm.parse_assembly(loop.code)
            symbol = next(one.name for one in part.functions if one.name.startswith("cfunc."))
            named[name] = symbol, loop.declared
            whole.link_in(part)
    # Loops are not to raise errors. What would raise one is replaced by the end of the process.
    ends = ["declare void @abort()"]
    ends += [f"@{one.name} = global i8 0" for one in whole.global_variables if one.is_declaration]
    for one in whole.functions:
        if one.is_declaration and not one.name.startswith("llvm.") and one.name not in _SYSTEM:
            found = _DECLARED.match(str(one).strip())
            if found is None or not _TO_RAISE.fullmatch(one.name):
                raise ImportError(f"code that this version of Numba compiles needs {one.name}")
            ends.append(
                f"define {found['type']} @{one.name}{found['arguments']} {{ call void @abort() unreachable }}"
            )
    whole.link_in(llvm.parse_assembly("\n".join(ends)))
    whole.triple = llvm.get_process_triple()
    whole.verify()
    return _target(llvm).emit_object(whole), named


if hasattr(os, "register_at_fork"):  # otherwise locks of llvmlite stay locked in the new process
    os.register_at_fork(
        before=_compiling.acquire, after_in_parent=_compiling.release, after_in_child=_compiling.release
    )
