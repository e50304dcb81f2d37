"""The NumPy reference as a framework of its own: slow, right, and easy to make wrong on purpose."""

from frameworks.contract import Framework

FRAMEWORKS = (
    Framework(
        name="reference",
        title="NumPy reference",
        package="numpy",
        install="pip install numpy",
        adapter="adapter:ReferenceAdapter",
        devices=("cpu",),
        precisions=("float64", "float32"),
        executions=("eager",),
    ),
)
