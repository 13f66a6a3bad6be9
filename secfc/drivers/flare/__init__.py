"""A run across machines on NVIDIA FLARE. Only this package of secfc imports nvflare.

`components` has the two classes that FLARE builds from a job: a party has to allow no others. The other
modules make and check the files of a consortium, and start and end FLARE's processes.
"""
