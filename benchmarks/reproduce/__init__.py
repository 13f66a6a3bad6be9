"""Published experiments run again: secfc's figures and the paper's, with SecFC as one more column.

`registry` names the experiments, and one module for each paper has them. `common` compares figures and runs
SecFC, `data` reads files. The command is `python -m benchmarks reproduce`.
"""
