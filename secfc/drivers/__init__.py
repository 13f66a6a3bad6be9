"""What moves messages between the roles and owns clocks and processes."""
