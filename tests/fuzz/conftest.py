"""The fuzzer is a command, which needs the extra fuzz; what it kept is tested."""

collect_ignore = ["run.py", "prune.py"]
