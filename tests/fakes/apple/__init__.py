"""The two frameworks of a Mac without a Mac: their names and devices, steps that sleep, and GPUs that work, fail, or are not there."""

from frameworks.contract import PRECISIONS, Framework

FRAMEWORKS = tuple(
    Framework(
        name=name,
        title=title,
        package="numpy",
        install=f"pip install 'headtohead[{name}]'",
        adapter=f"adapter:{title}Adapter",
        devices=("cpu", device),
        precisions=PRECISIONS,
        executions=executions,
    )
    for name, title, device, executions in (
        ("pytorch", "PyTorch", "mps", ("eager", "inductor")),
        ("tensorflow", "TensorFlow", "metal", ("graph", "eager")),
    )
)
