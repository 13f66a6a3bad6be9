"""What every party of a run has: roles, one inbox, and the halves of operations that it runs."""
