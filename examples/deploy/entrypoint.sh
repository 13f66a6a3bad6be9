#!/bin/sh
# Numba reads machine code only from a folder that it can write, and the image is read-only.
set -eu
cp -r /opt/secfc/machine-code /tmp/
exec secfc "$@"
