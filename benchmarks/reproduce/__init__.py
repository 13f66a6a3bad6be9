"""Published experiments run again: our figure beside the paper's, and SecFC as one more column.

`registry` names the experiments, one module a paper holds them, `common` judges figures and runs SecFC,
`data` reads files, `plot` draws. The command is `python -m benchmarks reproduce`.
"""
