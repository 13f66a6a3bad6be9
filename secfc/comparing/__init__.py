"""Labels from masked distances by a trio: a dealer and two evaluators, of whom none learns a distance.

The evaluators hold y = D + r mod Q, the dealer holds r; the labels are opened and nothing else
(docs/proofs.md, "Labels by a trio"). The phase *iterate* does not use this package yet.

A round: the clients mask their answers (`masking`). All three make the same `Question` (`question`), and keys
for this round and attempt (`keys`). Each makes its role (`trio`) and gives it what the others send, until it
has ended (`role`). Below that are batches of rows (`batch`, `plan`, `widths`), gates on words of 64 rows
(`gates`, `slicing`) and memory (`arena`).

If a set is left without a label, they make a `Question` whose champions are the opened labels, and the roles
of `farthest` with the y, r and keys of the round. `FarthestEvaluator.rows` are what moves to the sets without
a label, in ascending order. The levels of the tournament are in `matches`.
"""
