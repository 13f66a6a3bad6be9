"""Commands for jobs that organisations agree on."""
