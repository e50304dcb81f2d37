"""``python -m runner.calibration`` prints the simulated figures of ``reports/calibration.md``."""

from runner.calibration.tables import simulated_tables

print(simulated_tables(), end="")
