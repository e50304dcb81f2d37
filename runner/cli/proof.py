"""Commands that prove that frameworks compute what a workload says, without timing anything."""

from __future__ import annotations

import sys

import click

from runner.cli.options import many, pairs, with_format, words


@click.command()
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD]...")
@click.option("--all", "everything", is_flag=True, help="Every workload of the library.")
@many("--framework", "pytorch, tensorflow, or the folder of your own adapter. [all]")
@many("--device", "cpu, gpu, or the GPU's backend: mps, metal, cuda. [gpu if every framework has one]")
@many("--precision", "float32, bfloat16, mixed_float16, ... [float32]")
@many("--execution", "eager, inductor; graph, eager, xla. [each framework's usual one]")
@many("--mode", "train, infer. [both]")
@click.option("--python", "pythons", multiple=True, metavar="FRAMEWORK=PATH", help="Another interpreter for a framework.")
@many("--era", "Pinned versions, several side by side: h2h list eras. [what is installed]")
@click.option("--write", is_flag=True, help="Compute the golden curves anew, of the library where no WORKLOAD is named.")
@with_format
def check(
    workloads: tuple[str, ...],
    everything: bool,
    framework: tuple[str, ...],
    device: tuple[str, ...],
    precision: tuple[str, ...],
    execution: tuple[str, ...],
    mode: tuple[str, ...],
    pythons: tuple[str, ...],
    era: tuple[str, ...],
    write: bool,
    format: str,
) -> None:
    """Hold workloads in every framework against their golden curves, without timing them. Ends 1 when a cell is not ok.

    WORKLOAD is a name (h2h list) or the path of your own YAML file; where none is named, those of the suite quick are checked.
    """
    if write:
        from runner import write_golden

        sys.exit(write_golden.run(workloads))
    from runner import check as gate
    from runner.request import Request

    request = Request(
        workloads=workloads,
        frameworks=words(framework),
        devices=words(device),
        precisions=words(precision),
        executions=words(execution),
        modes=words(mode),
        pythons=pairs(pythons, "--python"),
        eras=tuple(dict.fromkeys(words(era))),
    )
    sys.exit(gate.run(request, everything, format))


@click.command()
@click.argument("frameworks", nargs=-1, metavar="[FRAMEWORK]...")
@click.option("--device", default="cpu", show_default=True, help="cpu, gpu, or the GPU's backend.")
@many("--precision", "float64, float32, bfloat16, ... [float64 and float32]")
@many("--execution", "eager, inductor; graph, eager, xla. [each framework's usual one]")
@click.option("--python", "pythons", multiple=True, metavar="FRAMEWORK=PATH", help="Another interpreter for a framework.")
@with_format
def conform(
    frameworks: tuple[str, ...],
    device: str,
    precision: tuple[str, ...],
    execution: tuple[str, ...],
    pythons: tuple[str, ...],
    format: str,
) -> None:
    """Hold adapters against an independent reference, layer by layer: values, gradients, updates. Ends 1 when one fails.

    FRAMEWORK is a name (h2h list frameworks) or the folder of your own adapter.
    """
    from runner import conform as suite
    from runner.execute import absolute
    from runner.request import check_words, references

    check_words("device", [device])
    check_words("precision", words(precision))
    interpreters = absolute(pairs(pythons, "--python"))
    sys.exit(suite.run(references(frameworks), device, words(precision) or ("float64", "float32"), words(execution), interpreters, format))


@click.command()
@click.argument("workloads", nargs=-1, metavar="[WORKLOAD]...")
@many("--framework", "pytorch, tensorflow. [both]")
@many("--mode", "train, infer. [both]")
@many("--precision", "float32, bfloat16, float16, mixed_bfloat16, mixed_float16. [float32]")
@click.option("--torch", metavar="VERSION|WHEEL", help="The PyTorch whose MPS kernels count: 1.12.1, 2.0.1, 2.13.0 or a wheel. [installed]")
@click.option("--plugin", metavar="VERSION|WHEEL", help="The tensorflow-metal whose kernels count: 0.5.0 to 1.2.0 or a wheel. [1.2.0]")
@click.option("--python", "pythons", multiple=True, metavar="FRAMEWORK=PATH", help="Another interpreter that records.")
@with_format
def coverage(
    workloads: tuple[str, ...],
    framework: tuple[str, ...],
    mode: tuple[str, ...],
    precision: tuple[str, ...],
    torch: str | None,
    plugin: str | None,
    pythons: tuple[str, ...],
    format: str,
) -> None:
    """Say which steps run whole on the GPU of a Mac, without one: operators recorded here, kernels as published wheels have them.

    WORKLOAD is a name (h2h list) or the path of your own YAML file; where none is named, the whole library is judged. Ends 0 when every
    step is whole, 1 when one is not or could not be recorded, 2 when the request was wrong.
    """
    from runner.coverage import command

    named = pairs(pythons, "--python")
    sys.exit(command.run(workloads, words(framework), words(mode), words(precision), torch, plugin, named, format))
