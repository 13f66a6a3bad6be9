"""Files on which organisations agree before a run, and statements that they sign after it.

The modules, each using those before it: `files`, `toml_file`, `words`, `keys`, `consortium`, `job_file`,
`site_file`, `rows`, `signatures`, `statement`, `audit`.
"""
