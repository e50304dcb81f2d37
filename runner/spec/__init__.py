"""The workload language: text to a positioned tree, to a checked file, to the computation that every framework builds."""
