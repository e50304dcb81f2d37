"""Frameworks that misbehave on purpose, so that every rule of the runner is tested without a framework, a GPU or a Mac."""

from frameworks.contract import PRECISIONS, Framework

BEHAVIOURS = (
    "blocking20",
    "async20",
    "lazy",
    "early_wait",
    "no_wait",
    "no_wait_of_short_steps",
    "waits_for_one",
    "lazy_update",
    "compile500",
    "shape_compile",
    "coin",
    "drift",
    "cached",
    "takes_turns",
    "remembers",
    "one_for_all",
    "loss_only",
    "tf32_as_single",
    "half_as_single",
    "wrong_product",
    "leaves_out",
    "sleeper",
    "nan",
    "nan_output",
    "no_update",
    "update_in_inference",
    "missing_parameter",
    "wrong_shape",
    "wrong_device",
    "wrong_type",
    "die_sigsegv",
    "die_sigkill",
    "exit_abort",
    "hang",
    "import_hang",
    "import_error",
    "import_abort",
    "noisy",
    "bigmem",
    "big_together",
    "unsupported",
    "fallback",
    "out_of_memory",
    "full_above20",
    "slow_above10",
    "exception",
    "too_fast",
    "recompiles",
    "wrong5",
)


def _fake(name: str) -> Framework:
    return Framework(
        name=name,
        title=name,
        package="numpy",
        install="nothing to install",
        adapter=f"{name if name.startswith('import_') else 'behaviours'}:{''.join(part.title() for part in name.split('_'))}Adapter",
        devices=("cpu",),
        precisions=PRECISIONS,
        executions=("eager", "graph"),
    )


FRAMEWORKS = (
    *(_fake(name) for name in BEHAVIOURS),
    Framework(
        name="absent",
        title="absent",
        package="a_package_that_nobody_has",
        install="pip install a-package-that-nobody-has",
        adapter="behaviours:Blocking20Adapter",
        devices=("cpu",),
        precisions=PRECISIONS,
        executions=("eager",),
    ),
)
