"""Attack k: the programs of all other attacks, run by coalitions on a run with disclosure "labels".

A comparer is one of the three parties that compare: the dealer and two evaluators. Each program also runs on
a view that is drawn at random from the labels alone. With at most one comparer, a coalition must not do
better than that. With two comparers it has distances, which shows that the programs read views correctly.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.privacy import cheating, coalition, coded, distances, integers
from benchmarks.privacy.comparers import Coalition, from_labels_alone, seen_by, wires
from benchmarks.privacy.rows import ANSWERED, TOLD_APART, AttackRow
from benchmarks.privacy.view import FIRST_ROUNDS, Watched, watch
from secfc.field.array_types import Floats
from secfc.protocol.job.cases import LabelsOnly
from secfc.protocol.job.job import Job
from secfc.protocol.job.options import Disclosure
from secfc.protocol.messages import SERVER

ALONE = "labels alone"

_ROUNDS = 8

View = Callable[[Watched], Watched]


def coalitions(job: Job) -> dict[str, Coalition]:
    """The server with as many clients as may collude and at most one comparer; and any two comparers."""
    dealer, first, second = job.comparers
    outside = [j for j in range(1, job.n + 1) if j not in job.comparers]
    named = {"server + client": Coalition({SERVER, *outside[: job.t]})}
    for name, one in (("dealer", dealer), ("first evaluator", first), ("second evaluator", second)):
        company = job.t - (one <= job.n)  # a helper is not a client
        named[f"server + {name}"] = Coalition({SERVER, one, *outside[:company]})
    return named | {
        "dealer + first evaluator": Coalition({dealer, first}),
        "dealer + second evaluator": Coalition({dealer, second}),
        "both evaluators": Coalition({first, second}),
    }


def comparers_in(job: Job, members: Coalition) -> int:
    """The number of comparers in a coalition. With two of them the attacks succeed."""
    return len(members & set(job.comparers))


def views(watched: Watched, seed: int) -> Iterator[tuple[str, int, Watched]]:
    """Name, number of comparers and view of each coalition; the last view is drawn from labels alone.

    With another disclosure there is only the server's view.
    """
    if not isinstance(watched.job.disclosure, LabelsOnly):
        yield "server", 0, watched
        return
    for name, members in coalitions(watched.job).items():
        yield name, comparers_in(watched.job, members), seen_by(watched, members)
    yield ALONE, 0, from_labels_alone(watched, np.random.default_rng(seed))


def programs(view: Watched) -> Iterator[AttackRow]:
    """Run every program that uses distances or answers."""
    d = view.job.d
    given: dict[str, Any] = {"swept": "comparers", "value": 0}
    yield distances.whole_run(view, attack="k-rows", **given)
    for row in distances.with_known_rows(view, [d + 1]):
        yield replace(row, attack="k-known-rows")
    yield integers.from_distances(view, attack="k-columns", **given)
    for row in integers.with_known_rows(view, [2]):
        yield replace(row, attack="k-known-values")
    if min(map(len, view.server.answers)) >= view.job.threshold:
        yield replace(coded.per_segment(view), attack="k-segments")
        most = view.job.width + 2
        for row in coded.segments_placed(view, [most]):
            yield replace(row, attack="k-segments-placed")


def run_programs(watched: Watched, seed: int) -> Iterator[AttackRow]:
    """Attack k: the success of each program for each view."""
    for name, comparers, view in views(watched, seed):
        for row in programs(view):
            yield _by(row, name, comparers, watched.job.disclosure.name)


def by_rounds(watched: Watched, seed: int) -> Iterator[AttackRow]:
    """Attack k: the error of placing rows, by number of rounds."""
    for name, _, view in views(watched, seed):
        for rounds in range(1, min(_ROUNDS, len(watched.server.questions)) + 1):
            row = distances.whole_run(view.after(rounds), attack="k-rounds", swept="rounds", value=rounds)
            named = _by(row, name, 0, watched.job.disclosure.name)
            yield replace(named, swept="rounds", value=float(rounds))


def with_t_clients(
    parties: list[Floats], *, k: int, disclosure: Disclosure, seed: int
) -> Iterator[AttackRow]:
    """The server and the first t = 2 clients, with answers and their shares.

    With "labels" the second client is the first evaluator. In a second run the first is the dealer.
    """
    given: dict[str, Any] = {"k": k, "t": 2, "ell": 1, "seed": seed, "keys": seed, "disclosure": disclosure}
    if disclosure != "labels":
        found = coded.server_and_t_clients(watch(parties, **given), own=0)
        yield _by(replace(found, attack="k-with-t-clients"), "server", 0, disclosure)
        return
    for name, comparers in (("server + first evaluator", (3, 2, 4)), ("dealer + first evaluator", (1, 2, 3))):
        run = watch(parties, comparers=comparers, **given)
        members = Coalition({SERVER, 1, 2})
        found = coded.server_and_t_clients(seen_by(run, members), own=0)
        yield _by(replace(found, attack="k-with-t-clients"), name, comparers_in(run.job, members))
    alone = coded.server_and_t_clients(from_labels_alone(run, np.random.default_rng(seed)), own=0)
    yield _by(replace(alone, attack="k-with-t-clients"), ALONE, 0)


def questions(parties: list[Floats], *, k: int, disclosure: Disclosure, seed: int) -> AttackRow:
    """A server that asks about single rows and about sets that it chooses; with "labels" in two rounds."""
    m, d = sum(map(len, parties)), parties[0].shape[1]
    script = cheating.single_rows(m, d, k) + cheating.differing_by(m // 2, m // 4, m)
    watched = watch(parties, k=k, t=1, ell=1, keys=seed, script=script, disclosure=disclosure)
    tried, answered, name = len(script), len(watched.server.distances), "server"
    if disclosure == "labels":
        tried, answered, name = FIRST_ROUNDS * tried * watched.job.n, watched.answered, "server + client"
    found = ANSWERED.row(
        answered / tried,
        job=watched.job,
        m=m,
        attack="k-answered",
        adversary=name,
        against=disclosure,
        swept="comparers",
        value=0,
        note=f"{tried} tried" + (f"; {watched.refusal}" if watched.refusal else ""),
    )
    return _by(found, name, 0, disclosure)


def bits(parties: list[Floats], *, seed: int) -> Iterator[AttackRow]:
    """Classifiers that try to find an unopened comparison in the bits that an evaluator receives.

    There are three centres, and the label is the nearest one. The classifiers predict which of the other two
    is nearer. They get the label and the bits of every wire of the row in the first round. For "labels alone"
    these bits are random.
    """
    watched = watch(parties, k=3, t=1, ell=1, seed=seed, keys=seed, disclosure="labels")
    rows, sets = watched.rows, watched.server.questions[0]
    centres = np.array([rows[sets == h].mean(axis=0) for h in range(3)])
    nearness = ((rows[:, np.newaxis] - centres) ** 2).sum(axis=2)
    labels, farthest = nearness.argmin(axis=1), nearness.argmax(axis=1)
    kinds = (farthest == (labels + 1) % 3).astype(np.int64)
    told = np.eye(3)[labels]
    _, first, second = watched.job.comparers
    shown = {
        "server + first evaluator": wires(watched, first, len(rows)),
        "server + second evaluator": wires(watched, second, len(rows)),
    }
    shown[ALONE] = np.random.default_rng(seed).integers(0, 2, shown["server + first evaluator"].shape)
    for name, seen in shown.items():
        for model, success in coalition.accuracies(
            np.concatenate([told, seen.T], axis=1), kinds, seed
        ).items():
            row = TOLD_APART.row(
                success,
                job=watched.job,
                m=len(rows),
                attack="k-wires",
                adversary=name,
                against="labels",
                swept="comparers",
                value=0,
                note=f"{model}; {len(seen)} bits a row",
            )
            yield _by(row, name, int(name != ALONE))


def _by(row: AttackRow, name: str, comparers: int, disclosure: str = "labels") -> AttackRow:
    against = ALONE if name == ALONE else disclosure
    return replace(row, adversary=name, against=against, swept="comparers", value=float(comparers))
