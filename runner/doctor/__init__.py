"""Whether a run would work here, and what would bend its numbers: the machine, its Pythons, and each framework asked in a child."""
