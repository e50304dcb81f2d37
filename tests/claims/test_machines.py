"""The same chip and the same versions, and what only looks like them."""

from __future__ import annotations

import dataclasses

import pytest

from runner.claims.machines import chip, versions
from runner.claims.model import Machine
from tests.claims.made import LINUX, MAC


def apple(name: str, **more: int) -> Machine:
    return Machine("m", name, chip=f"Apple {name}", **more)


@pytest.mark.parametrize(
    ("machine", "device", "found"),
    [
        (apple("M1 Max", gpu_cores=32), "gpu", "same"),
        (apple("M1 Max"), "gpu", "same"),
        (apple("M1 Max", gpu_cores=24), "gpu", "other"),
        (apple("M1 Max", gpu_cores=24), "cpu", "same"),
        (apple("M1 Max", cpu_cores=8), "cpu", "other"),
        (apple("M1"), "gpu", "other"),
        (apple("M2 Max"), "gpu", "other"),
        (Machine("m", "some Mac"), "gpu", "not stated"),
        (Machine("m", "a card", gpu="NVIDIA H100"), "gpu", "other"),
        (Machine("m", "a card's host", gpu="NVIDIA H100"), "cpu", "not stated"),
    ],
)
def test_a_mac(machine: Machine, device: str, found: str) -> None:
    assert chip(machine, MAC, MAC.gpu, device) == found


@pytest.mark.parametrize(
    ("published", "run", "found"),
    [
        ("NVIDIA H200", "NVIDIA H200", "same"),
        ("NVIDIA GeForce RTX 3090", "NVIDIA GeForce RTX 3090", "same"),
        ("NVIDIA GeForce RTX 3080", "NVIDIA GeForce RTX 3080 Ti", "other"),
        ("NVIDIA GeForce RTX 3080 Laptop GPU", "NVIDIA GeForce RTX 3080", "other"),
        ("NVIDIA A100", "NVIDIA A100-SXM4-80GB", "not stated"),
        ("NVIDIA A100-PCIE-40GB", "NVIDIA A100-SXM4-80GB", "other"),
        ("NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3", "other"),
        ("Tesla V100-SXM2-16GB", "Tesla V100-SXM2-16GB", "same"),
        ("Tesla T4", "NVIDIA H200", "other"),
    ],
)
def test_a_card(published: str, run: str, found: str) -> None:
    assert chip(Machine("c", "card", gpu=published), LINUX, run, "gpu") == found


@pytest.mark.parametrize(
    ("published", "run", "found"),
    [
        ("Intel i5-12400", "12th Gen Intel(R) Core(TM) i5-12400", "same"),
        ("Intel i5-12400", "12th Gen Intel(R) Core(TM) i5-12400F", "other"),
        ("Intel Xeon Platinum 8358", "Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz", "same"),
        ("AMD Epyc 7262", "AMD EPYC 7262 8-Core Processor", "same"),
        ("AMD Epyc 7763 Engineering Sample", "AMD EPYC 7763 64-Core Processor", "other"),
        ("AMD Ryzen 5 3600", "AMD Ryzen 5 3600X 6-Core Processor", "other"),
    ],
)
def test_a_processor(published: str, run: str, found: str) -> None:
    assert chip(Machine("c", "cpu", chip=published), dataclasses.replace(LINUX, chip=run), None, "cpu") == found


@pytest.mark.parametrize(
    ("published", "run", "found"),
    [
        ({}, {"torch": "2.13.0"}, "not stated"),
        ({"torch": "1.12"}, {"torch": "1.12.1"}, "same"),
        ({"torch": "1.12.1"}, {"torch": "1.12"}, "other"),
        ({"torch": "2.13.0"}, {"torch": "2.13.0+cpu"}, "same"),
        ({"torch": "1.1"}, {"torch": "1.12.1"}, "other"),
        ({"torch": "1.13.0"}, {"torch": "1.13.0.dev20220522"}, "other"),
        ({"torch": "1.13.0.dev20220522"}, {"torch": "1.13.0.dev20220522"}, "same"),
        ({"tensorflow": "2.9"}, {"tensorflow-macos": "2.9.2"}, "same"),
        ({"tensorflow": "2.9", "tensorflow-metal": "0.5.0"}, {"tensorflow-macos": "2.9.2", "tensorflow-metal": "0.5.0"}, "same"),
        ({"tensorflow": "2.9", "tensorflow-metal": "0.5.0"}, {"tensorflow": "2.9.2"}, "other"),
    ],
)
def test_versions(published: dict[str, str], run: dict[str, str], found: str) -> None:
    assert versions(published, run) == found
