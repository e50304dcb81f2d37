"""PyTorch: the facts that need no import of it."""

from frameworks.contract import PRECISIONS, Framework

FRAMEWORKS = (
    Framework(
        name="pytorch",
        title="PyTorch",
        package="torch",
        install="pip install 'headtohead[pytorch]'",
        adapter="adapter:PyTorchAdapter",
        devices=("cpu", "mps", "cuda"),
        precisions=PRECISIONS,
        executions=("eager", "inductor"),
        environment={"PYTORCH_ENABLE_MPS_FALLBACK": "0"},
        fallback={"PYTORCH_ENABLE_MPS_FALLBACK": "1"},
    ),
)
