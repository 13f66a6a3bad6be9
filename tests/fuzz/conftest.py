"""The fuzzer is a command that needs the extra fuzz. Tests run on the cases that it kept."""

collect_ignore = ["run.py", "prune.py"]
