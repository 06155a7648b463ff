"""What can be typed after a slash. To add a command: write its function, add a line to its module's table."""
