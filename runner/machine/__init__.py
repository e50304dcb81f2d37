"""What can be learned of the machine: read only, without root, and never by importing a framework."""
