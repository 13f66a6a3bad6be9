"""What follows the last iteration of a start: how well it fits, which start is best, and who opens what."""
