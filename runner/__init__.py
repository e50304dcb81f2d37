"""The parent process: it reads workloads, plans and launches cells, and writes tables. It imports no framework."""

__version__ = "0.1.0"
