"""What users call: `run`, `choose_k`, `predict`, `SecureKMeans` and their results."""
