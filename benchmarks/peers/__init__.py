"""Lloyd iterations of other systems on the same data; run.sh makes an environment for each of them."""
