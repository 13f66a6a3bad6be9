"""A run across machines on NVIDIA FLARE. Only this package of secfc imports nvflare.

`components` has the two classes that FLARE builds from a job: a party has to allow no others. `kits` writes
that into a startup kit. `provision` makes the kit, with `certificates`. `hand_overs` defines the files with
which parties and coordinator set up a consortium, and `setting_up` writes and reads them. `jobs` writes the
job for a FLARE server. `processes` starts and ends the server and its sites. `runs` does so for a consortium,
`federation` for all parties on one machine.
"""
