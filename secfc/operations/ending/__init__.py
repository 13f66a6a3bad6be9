"""What comes after the last iteration: who opens which labels."""
