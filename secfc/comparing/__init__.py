"""Labels from masked distances by a trio: a dealer and two evaluators, of whom none learns a distance.

The evaluators hold y = D + r mod Q, the dealer holds r; the labels are opened and nothing else
(docs/proofs.md, "Labels by a trio").

A round: the clients mask their answers (`masking`). All three make the same `Question` (`question`), and keys
for this round and attempt (`keys`). Each makes its role (`trio`) and gives it what the others send, until it
has ended (`role`, `gate_roles`). Below that are batches of rows (`batch`, `plan`, `widths`), gates on words
of 64 rows (`secfc.kernels.gates`, `slicing`) and memory (`arena`).

Two further questions may follow, with the labels just opened as champions and the y, r and keys of the round.
For the core of a start by separation: `Question(core=True)`, the same roles, `Evaluator.core`. Where a set is
left without a label: the roles of `farthest`, then `FarthestEvaluator.rows`, which move to the sets without a
label in ascending order. The levels of their tournament are in `matches`.

Of several starts the best is found by `scores`. The rows of a start by k-means++ are chosen by the roles of
`start` and `draw`; what each of the three keeps meanwhile is `minima`.
"""
