"""Labels from masked distances by three comparers, a dealer and two evaluators. None learns a distance.

The evaluators E0 and E1 have y = D + r mod Q. The dealer C has r. They open the labels and nothing else
(docs/proofs.md, "Labels by a trio").

A round: the clients mask their answers (`masking`). All three comparers make the same `Question` (`question`)
and the keys of this round (`keys`). Each makes its role (`trio`) and passes it the messages of
the others until the role has ended (`role`). The layers below are batches of rows (`batch`, `plan`,
`widths`), gates on words of 64 rows (`secfc.kernels.gates`, `slicing`) and memory (`arena`).

Two further questions can follow. They use the opened labels as champions (the sets that the rows are in), and
the y, r and keys of the round. For the core of a start by separation: `Question(core=True)`, the same roles,
`Evaluator.core`. If a set has no label: the roles of `farthest`, then `FarthestEvaluator.rows`. These rows
move to the sets without a label in ascending order. `matches` has the levels of their tournament.

`scores` finds the best of several starts. The roles of `start` and `draw` choose the rows of a start by
k-means++. `minima` is the state of each comparer during such a start.
"""
