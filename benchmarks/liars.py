"""Search for runs in which liars make a label wrong or have somebody honest blamed (`secfc.bench.liars`).

    python benchmarks/liars.py --runs 5000            at most max_liars lie: nothing may be found
    python benchmarks/liars.py --runs 400 --beyond    one more than max_liars collude: counts wrong labels

Each finding is printed with the seed that repeats it.
"""

import argparse
from collections import Counter

from secfc.bench import liars


def main() -> int:
    """Run the search; 1 if something was found that the promise excludes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed of the first run")
    parser.add_argument("--beyond", action="store_true")
    given = parser.parse_args()
    seeds, counts = range(given.first, given.first + given.runs), Counter[str]()
    for seed in seeds:
        if given.beyond:
            drawn = liars.draw_beyond(seed)
            ending = liars.run(drawn)
            job = drawn.setup.job
            how = "error" if ending.error else "right" if liars.exact(drawn.setup, ending) else "wrong"
            counts[f"n = R + 2A + {job.n - job.threshold - 2 * job.max_liars}: {how}"] += 1
            continue
        drawn = liars.draw(seed)
        for found in liars.broken_promises(drawn, liars.run(drawn)):
            counts["found"] += 1
            print(f"seed {seed}: {found}", flush=True)
    print(f"{given.runs} runs from seed {given.first}: {dict(sorted(counts.items())) or 'nothing found'}")
    return int(counts["found"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
