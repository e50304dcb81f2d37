"""ResNet-50 and BERT base trained by plain loops, as their users write them: what the suite's adapters are held against."""

from frameworks.contract import Framework

FRAMEWORKS = tuple(
    Framework(
        name=f"{name}-by-hand",
        title=f"{title} by hand",
        package=package,
        install=f"pip install 'headtohead[{name}]'",
        adapter=f"{name}_loop:Loop",
        devices=("cpu", "cuda"),
        precisions=("float32",),
        executions=(execution,),
        environment=environment,
    )
    for name, title, package, execution, environment in (
        ("pytorch", "PyTorch", "torch", "eager", {}),
        ("tensorflow", "TensorFlow", "tensorflow", "graph", {"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "2"}),
    )
)
