"""A run across machines on NVIDIA FLARE: the only part of secfc that imports nvflare.

`components` are the two classes that FLARE builds from a job, all that a party has to allow; `kits` writes
that down in a startup kit, which `provision` makes, with `certificates`. `hand_overs` are the files by which
parties and coordinator set up a consortium, `setting_up` writes and takes them. `jobs` is what a FLARE server
takes, `processes` starts and ends it and its sites, `runs` does so for a consortium, `federation` for all
parties on one machine.
"""
