"""Lloyd iterations of other systems on the same data; run.sh gives each of them an environment of its own."""
