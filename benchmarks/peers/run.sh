#!/bin/sh
# SecFC, NumPy, MPyC, SPU and CrypTen on the same data, one after another: benchmarks/peers/run.sh OUT.json [SIZE...]
#
# SIZE is a, b or c (data.py), all three by default. The peers are installed from PyPI into virtual environments of
# their own, in a temporary folder that is removed at the end. CrypTen's takes about 5 GB, with PyTorch for graphics
# cards. A peer that does not install or run is left out, with a line on standard error. PYTHON names the interpreter
# that has secfc.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
out=$1
shift
[ $# -gt 0 ] || set -- a b c
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH="$here/../..${PYTHONPATH:+:$PYTHONPATH}"

"$python" "$here/data.py" "$work" "$@"
"$python" "$here/secfc_side.py" "$work" "$work/0.json" "$@"

sizes=$*
limit=""
! command -v timeout >/dev/null || limit="timeout 3600"

# peer NUMBER NAME [OPTION]: install requirements-NAME.txt, run NAME_lloyd.py
peer() {
    if ! "$python" -m venv "$work/$2" ||
        ! "$work/$2/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements-$2.txt" >&2; then
        echo "peers: $2 does not install here; it is left out" >&2
        return 0
    fi
    # Words on purpose: $limit, the option and $sizes may be none or several.
    $limit "$work/$2/bin/python" "$here/$2_lloyd.py" ${3:-} "$work" "$work/$1.json" $sizes >&2 ||
        echo "peers: $2 failed; it is left out" >&2
    rm -rf "${work:?}/$2"
}
peer 1 mpyc -M3
peer 2 spu
# CrypTen requires an empty package by a name that is no longer in use.
export SKLEARN_ALLOW_DEPRECATED_SKLEARN_PACKAGE_INSTALL=True OMP_NUM_THREADS=1
peer 3 crypten

"$python" - "$out" "$work"/[0-9].json <<'END'
import json, sys
from pathlib import Path
rows = [row for name in sys.argv[2:] for row in json.loads(Path(name).read_text())]
Path(sys.argv[1]).write_text(json.dumps(sorted(rows, key=lambda row: row["size"]), indent=1) + "\n")
END
