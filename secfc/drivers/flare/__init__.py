"""A run across machines on NVIDIA FLARE: the only part of secfc that imports nvflare.

`components` are the two classes that FLARE builds from a job, all that a party has to allow; `kits` writes
that down in a startup kit, `jobs` what a FLARE server takes; `federation` starts a server and its sites on
one machine.
"""
