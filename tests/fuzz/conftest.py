"""The fuzzer is a command, which needs secfc[fuzz]; what it kept is tested."""

collect_ignore = ["run.py", "prune.py"]
