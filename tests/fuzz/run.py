"""Fuzz the decoder and both roles, guided by coverage, with Atheris (https://github.com/google/atheris).

    pip install ".[test,fuzz]"
    PYTHONPATH=tests python -m fuzz.run --seconds 600 --corpus FOLDER
    PYTHONPATH=tests python -m fuzz.prune FOLDER

What reaches code that nothing else reached is kept in the folder that --corpus names; `prune` takes what is
needed of it to tests/corpus/, which the ordinary tests replay. A defect stops the run with the input that
shows it, written to the folder that --found names.
"""

import argparse
import shutil
import sys
from pathlib import Path
from random import Random

import atheris

with atheris.instrument_imports(
    include=["secfc.protocol", "secfc.psu", "secfc.crypto", "secfc.field.packing"]
):
    from fuzz.harness import Harness, random_input


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--found", type=Path, default=Path("."), help="folder for inputs that show a defect")
    options = parser.parse_args()
    options.corpus.mkdir(exist_ok=True)
    kept = Path(__file__).resolve().parents[1] / "corpus"
    if not any(options.corpus.iterdir()):
        for path in kept.iterdir():
            shutil.copy(path, options.corpus)
        rng = Random(0)
        for number in range(400):
            (options.corpus / f"first-{number:03}").write_bytes(random_input(rng))
    harness = Harness()
    arguments = [
        sys.argv[0],
        str(options.corpus),
        f"-max_total_time={options.seconds}",
        "-max_len=200",
        "-rss_limit_mb=2048",
        "-timeout=20",
        "-reload=0",
        f"-artifact_prefix={options.found}/",
    ]
    atheris.Setup(arguments, lambda data: harness.run(data) and None)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
