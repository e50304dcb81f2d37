"""What is known of published wheels: read, resolved and written back the same; slowly, extracted anew."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.coverage import extract, metal, mps
from runner.errors import UserError
from runner.wheels import fetch
from tests.wheels import written

TABLE = """\
- func: add.Tensor(Tensor self, Tensor other) -> Tensor
  structured_delegate: add.out
- func: add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU, CUDA, MPS: add_out
- func: stack(Tensor[] tensors) -> Tensor
  dispatch:
    CompositeExplicitAutograd: stack
- func: flatten(Tensor self) -> Tensor
- func: rare(Tensor self) -> Tensor
  dispatch:
    CPU: rare_cpu
    CUDA: rare_cuda
  autogen: rare.out
"""


def test_the_state_of_operators_follows_from_their_keys() -> None:
    found = mps.states(mps._parsed(TABLE.encode(), "table"))
    assert found == {
        "add.Tensor": "mps",
        "add.out": "mps",
        "stack": "composite",
        "flatten": "composite",
        "rare": "missing",
        "rare.out": "composite",
    }
    assert mps.operators_of(mps.text_of("1", found)) == found


def test_a_torch_wheel_is_read_by_path(tmp_path: Path) -> None:
    path = written.wheel(tmp_path, "torch-2.5.1+cpu", {mps.TABLE: TABLE.encode()})
    torch = mps.torch(str(path))
    assert (torch.version, torch.numbers, torch.state("add.Tensor"), torch.state("none")) == ("2.5.1", (2, 5), "mps", None)


# Named as missing in PyTorch's public list of operators for MPS (issue 77764 there), each with the version of those here that has it.
@pytest.mark.parametrize(
    ("operator", "lacks", "has"),
    [
        ("cumsum.out", "1.12.1", "2.13.0"),
        ("erfinv.out", "1.12.1", "2.13.0"),
        ("nonzero", "1.12.1", "2.0.1"),
        ("sort.values_stable", "1.12.1", "2.13.0"),
        ("grid_sampler_2d", "1.12.1", "2.0.1"),
        ("im2col", "1.12.1", "2.13.0"),
    ],
)
def test_operators_known_to_be_missing_are(operator: str, lacks: str, has: str) -> None:
    assert mps.torch(lacks).state(operator) == "missing"
    assert mps.torch(has).state(operator) == "mps"


def test_kernels_of_the_plug_ins_by_type() -> None:
    newest, oldest = metal.plugin("1.2.0"), metal.plugin("0.5.0")
    assert newest.has("Conv2D", {"T": "bfloat16"})
    assert not oldest.has("Conv2D", {"T": "bfloat16"})
    assert newest.has("LogicalAnd", {})
    assert newest.has("Mean", {"T": "float", "Tidx": "int32"})
    assert not newest.has("Mean", {"T": "int64", "Tidx": "int32"})
    assert not newest.has("CTCLoss", {"T": "float"}), "a name in the library that is no kernel"
    assert oldest.has("Cast", {"SrcT": "float", "DstT": "int32"}), "a name too short to stand in the library as text"


KERNELS = st.lists(
    st.tuples(
        st.sampled_from(["Cast", "Relu", "_Odd"]),
        st.tuples(st.sampled_from(["float", "half"]), st.sampled_from(["int32", "int64"])).map(lambda t: (("T", t[0]), ("Tidx", t[1]))),
    ),
    unique=True,
)


@given(KERNELS)
def test_kernels_are_read_as_they_were_written(kernels: list[metal.Kernel]) -> None:
    assert sorted(metal.kernels_of(metal.text_of("1", kernels))) == sorted(kernels)


@pytest.mark.parametrize(
    ("read", "asked", "message"),
    [
        (mps.torch, "1.0", "nothing is known of torch 1.0: there are 1.12.1, 2.0.1, 2.13.0; --torch takes a wheel's path too"),
        (metal.plugin, "9", "nothing is known of tensorflow-metal 9: there are 0.5.0, 0.8.0, 1.0.0, 1.1.0, 1.2.0"),
        (mps.torch, "./torch-2-a-b-c.whl", "there is no such file"),
    ],
)
def test_what_is_not_known_says_what_is(read: object, asked: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(asked)  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("distribution", "version"),
    [*(("torch", version) for version in mps.known()), *(("tensorflow-metal", version) for version in metal.known())],
)
def test_the_facts_are_those_of_the_published_wheels(distribution: str, version: str) -> None:
    pytest.importorskip("unicorn")
    cache = Path(os.environ.get("H2H_WHEELS") or fetch.cache_folder())
    place, data = extract.extract(fetch.find(distribution, version, cache, download=True).path)
    packed = place.suffix == ".gz"
    now, before = (gzip.decompress(each) if packed else each for each in (data, place.read_bytes()))
    assert now == before
