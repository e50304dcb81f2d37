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
        environment={
            "KERAS_BACKEND": "tensorflow",
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "TF_FORCE_GPU_ALLOW_GROWTH": "true",
            # Each of these can make a float32 or half product less precise behind the type's back; they are read when TensorFlow loads.
            "ONEDNN_DEFAULT_FPMATH_MODE": "STRICT",
            "TF_SET_ONEDNN_FPMATH_MODE": "",
            "TF_FP16_MATMUL_USE_FP32_COMPUTE": "1",
            "TF_FP16_CONV_USE_FP32_COMPUTE": "1",
        },
    ),
)
