"""What this machine has: cores, memory, devices, bandwidth."""
