"""Several starts as one program, and the same in the clear."""
