"""TensorFlow through ``tf.keras``: the facts that need no import of it."""

from frameworks.contract import PRECISIONS, Framework

FRAMEWORKS = (
    Framework(
        name="tensorflow",
        title="TensorFlow",
        package="tensorflow",
        install="pip install 'headtohead[tensorflow]'",
        adapter="adapter:TensorFlowAdapter",
        devices=("cpu", "metal", "cuda"),
        precisions=PRECISIONS,
        executions=("graph", "eager", "xla"),
        environment={"KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "2", "TF_FORCE_GPU_ALLOW_GROWTH": "true"},
    ),
)
