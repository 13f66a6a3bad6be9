"""Public questions to the comparers."""
