"""What organisations agree on before a run, in files, and what they sign after it.

In the order in which they build on each other: `files`, `toml_file`, `words`, `keys`, `consortium`,
`job_file`, `site_file`, `rows`, `signatures`, `statement`, `audit`.
"""
