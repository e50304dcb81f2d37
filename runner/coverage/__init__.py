"""Which operators of a workload's step have a kernel on the GPU of a Mac: recorded here, held against what published wheels carry."""
