"""Mistakes that somebody could make in the roles, one text of the source replaced by another.

`python tests/simulator/mutants.py` copies secfc, makes one mistake after the other in the copy, and runs the
simulations of the default run with it until one fails. Names of mistakes as arguments select some.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 900
"""Enough for the whole default run; a simulation that does not end fails after a minute."""


@dataclass(frozen=True)
class Mutant:
    """A mistake: `old`, which occurs once in the module's source, is `new`."""

    name: str
    module: str
    old: str
    new: str

    @property
    def path(self) -> Path:
        """The module's file."""
        spec = importlib.util.find_spec(self.module)
        assert spec is not None
        assert spec.origin is not None
        return Path(spec.origin)

    def source(self) -> str:
        """The source with the mistake."""
        text = self.path.read_text()
        assert text.count(self.old) == 1, f"{self.name}: {text.count(self.old)} times in {self.path}"
        return text.replace(self.old, self.new)


MUTANTS = (
    Mutant(
        "reused mask",
        "secfc.sharing.proof",
        "of_prime[code.ell :] = masks.uniform(p, (code.t, size + COVERS))",
        "of_prime[code.ell :] = vars(masks).setdefault((p, size), masks.uniform(p, (code.t, size + COVERS)))",
    ),
    Mutant(
        "tie the other way",
        "secfc.kmeans.compare",
        "chosen = found.exact(contested, near).argmin(axis=0)",
        "chosen = len(near) - 1 - found.exact(contested, near)[::-1].argmin(axis=0)",
    ),
    Mutant(
        "wrong prime count",
        "secfc.field.primes",
        "return max(1, bisect_right(_MODULI, limit))",
        "return max(1, bisect_right(_MODULI, limit) - 1)",
    ),
    Mutant(
        "unverified signature",
        "secfc.protocol.messages.wire",
        "        verify(session, header, body, bytes(octets[end:]))\n",
        "",
    ),
    Mutant(
        "threshold one too low",
        "secfc.lagrange.basis",
        'of degree 2(ell + t - 1)."""\n    return 2 * (ell + t) - 1',
        'of degree 2(ell + t - 1)."""\n    return 2 * (ell + t) - 2',
    ),
    Mutant(
        "masks of a round reused in the next",
        "secfc.crypto.keystream",
        "_PLACE.pack(round_, part)",
        "_PLACE.pack(0, part)",
    ),
    Mutant(
        "no masks",
        "secfc.sharing.proof",
        "of_prime[code.ell :] = masks.uniform(p, (code.t, size + COVERS))",
        "of_prime[code.ell :] = 0",
    ),
    Mutant(
        "seals of all purposes alike",
        "secfc.crypto.channel",
        "link = _LABEL + _LINK.pack(sender, recipient) + purpose",
        "link = _LABEL + _LINK.pack(sender, recipient)",
    ),
    Mutant(
        "unchecked proofs",
        "secfc.sharing.proof",
        "return not reduce(own - code.at_holder(holder, proof, zeros=zeros), code.moduli).any()",
        "return True",
    ),
    Mutant(
        "rows of a lost dealer in the place of others",
        "secfc.operations.beginning.rows",
        "return held.compress(inside, axis=2)",
        "return held[..., : layout.m]",
    ),
    Mutant(
        "shares of who may lie used",
        "secfc.operations.beginning.rows",
        "me.unsure |= cheats.keys() | {holder for _, holder in refused}",
        "pass",
    ),
    Mutant(
        "labels without correction of errors",
        "secfc.operations.to_owners",
        "alone = replace(me, code=me.code.first_prime())",
        "alone = replace(me, code=me.code.first_prime(), max_liars=0)",
    ),
    Mutant(
        "a message with other numbers ends the run",
        "secfc.protocol.parties.inbox",
        "if sender not in self._may_lie:",
        "if True:",
    ),
    Mutant(
        "unchecked range",
        "secfc.protocol.program.whole_run",
        "yield from check_range(me, shared.rows, layout, radius=job.radius, coin=coin)",
        "pass",
    ),
    Mutant(
        "ties to the higher number",
        "secfc.operations.weighed",
        "_add_pairs(me, [(-_squares(me, both), both)], found)",
        "_add_pairs(me, [(-_squares(me, both), both)], found)\n"
        "    for one, p in zip(found.planes(), me.code.primes, strict=True):\n"
        "        me.kernels.add_masks(one.reshape(-1), np.tile(np.uint8([1, 0, 0]), one.size // 3), p)",
    ),
    Mutant(
        "sums without weights",
        "secfc.operations.sums",
        "return sets if (weights == 1).all() else sets * weights",
        "return sets",
    ),
    Mutant(
        "no rows for empty sets",
        "secfc.kmeans.program",
        "        if len(of.full) < k:\n",
        "        if False:\n",
    ),
    Mutant(
        "one moved row is none",
        "secfc.operations.opening",
        "apart = counts - np.array(limits)",
        "apart = counts - np.array(limits) - 1",
    ),
)


def copied(folder: Path) -> Path:
    """A copy of the package in a folder."""
    package = importlib.util.find_spec("secfc")
    assert package is not None
    assert package.submodule_search_locations is not None
    (source,) = package.submodule_search_locations
    return Path(shutil.copytree(source, folder / "secfc"))


def first_failure(folder: Path) -> tuple[str, str]:
    """The seed of the first simulation that fails with the package of this folder, and why; "" for none."""
    environment = os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    environment.pop("SECFC_SIMULATIONS", None)
    python = [sys.executable, "-P"]
    where = [*python, "-c", "import secfc; print(secfc.__file__)"]
    found = subprocess.run(where, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()).is_relative_to(folder)
    tests = [*python, "-m", "pytest", "-x", "-q", "--timeout=60", "-p", "no:cacheprovider"]
    tests += ["-k", "keeps_its_promises", "tests/simulator/test_simulator.py"]
    done = subprocess.run(
        tests, env=environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    seeds = re.findall(r"^FAILED .*\[(\d+)\]", done.stdout, re.MULTILINE)
    reasons = re.findall(r"^E +(?:AssertionError: )?(.+)", done.stdout, re.MULTILINE)
    if not seeds and done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return (seeds or [""])[0], (reasons or ["timeout"])[0] if seeds else ""


def main(names: list[str]) -> int:
    """Print the seed that finds each mistake; the number of those that none finds."""
    missed = 0
    for mutant in MUTANTS:
        if names and mutant.name not in names:
            continue
        source = mutant.source()
        with tempfile.TemporaryDirectory() as folder:
            package = copied(Path(folder))
            package.joinpath(*mutant.module.split(".")[1:]).with_suffix(".py").write_text(source)
            seed, reason = first_failure(Path(folder))
        missed += not seed
        print(f"{mutant.name}: {f'seed {seed}: {reason[:120]}' if seed else 'NOT FOUND'}", flush=True)
    return missed


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
