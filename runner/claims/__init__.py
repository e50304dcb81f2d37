"""Published figures and how a run compares with them: files, machines, units, verdicts. Pure functions but for reading the files."""
