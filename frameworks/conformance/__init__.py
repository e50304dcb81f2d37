"""The conformance suite: hold an adapter's outputs, gradients and updates against the independent reference, layer by layer."""

from frameworks.conformance.case import Case
from frameworks.conformance.cases import cases
from frameworks.conformance.check import Finding, check_case, run

__all__ = ["Case", "Finding", "cases", "check_case", "run"]
