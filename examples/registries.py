"""Three patient registries cluster their patients together; nobody learns which registry treats whom.

Run: python examples/registries.py

Each registry has a file of patients: a number that is the same everywhere, and four measurements. With the
clustering alone, all parties would know how many patients each registry has, and that rows 0 to 119 are the
north's, 120 to 199 the east's, and so on: a look at the clusters of the east's rows would tell what the
patients are like that are treated there. With patient numbers as `ids` each registry looks up its own.
"""

import numpy as np

import secfc

NAMES = ("north", "east", "west")


def registries() -> tuple[list[np.ndarray], list[list[str]]]:
    """Measurements and patient numbers of each registry: three kinds of patients, mixed differently."""
    rng = np.random.default_rng(7)
    kinds = np.array([[0.0, 0, 0, 0], [6, 6, 0, 0], [0, 6, 6, 6]])
    numbers = rng.permutation(1000)[:260]
    rows, ids, first = [], [], 0
    for count, mixture in ((120, (0.8, 0.1, 0.1)), (80, (0.1, 0.8, 0.1)), (60, (0.1, 0.1, 0.8))):
        rows.append(kinds[rng.choice(3, count, p=mixture)] + rng.normal(size=(count, 4)))
        ids.append([f"P{1000 + number}" for number in numbers[first : first + count]])
        first += count
    return rows, ids


def main() -> None:
    """Cluster, and say who can tell what."""
    rows, ids = registries()
    result = secfc.run(rows, k=3, t=1, ell=1, ids=secfc.Membership(ids, cap=500), seed=1)
    print(f"{sum(result.sizes)} patients in clusters of {sorted(result.sizes.tolist())}")
    for name, own, labels in zip(NAMES, ids, result.labels, strict=True):
        print(f"{name} looks up its own patients: {own[0]} is in cluster {labels[0]}")
    print("everybody knows: up to 500 patients were expected, 260 came, and the size of each cluster")
    print("nobody knows: how many patients another registry has, or which of the rest")

    ids[2][0] = ids[0][5]  # the west treats a patient of the north, too
    try:
        secfc.run(rows, k=3, t=1, ell=1, ids=secfc.Membership(ids, cap=500), seed=1)
    except secfc.DuplicateIdError as error:
        print(f"a patient in two registries: {error}")


if __name__ == "__main__":
    main()
