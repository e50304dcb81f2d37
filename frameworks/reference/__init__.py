"""The workload language computed literally in NumPy float64, independent of every framework: what the conformance suite compares with."""
