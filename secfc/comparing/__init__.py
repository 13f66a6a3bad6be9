"""Labels from masked distances by a trio: a dealer and two evaluators, of whom none learns a distance.

The evaluators hold y = D + r mod Q, the dealer holds r; the labels are opened and nothing else
(docs/proofs.md, "Labels by a trio"). The phase *iterate* does not use this package yet.
"""
