"""What a person adds by one YAML file runs in both frameworks and is the same computation in both."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from frameworks import checks, registry
from frameworks.contract import Job
from runner.spec.workload import load_workload

OWN = sorted((Path(__file__).parent / "own").glob("*.yaml"))


def trained(framework: str, path: Path) -> tuple[dict[str, numpy.ndarray], list[float]]:
    """Gradients on the first batch and the losses of five steps, in float64 without dropout."""
    computation = load_workload(path).resolve()
    job = Job(framework, computation, "train", "cpu", "float64", registry.framework(framework).executions[0], dropout=False)
    session = registry.adapter(framework).build(job)
    checks.structure(job, session.parameters())
    gradients, losses = session.gradients(), []
    for _ in range(5):
        session.step()
        session.wait()
        losses.append(session.loss())
    checks.placement(job, session.placement())
    session.close()
    return gradients, losses


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_both_frameworks_follow_the_same_losses(path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("tensorflow")
    (gradients, losses), (other_gradients, other_losses) = trained("pytorch", path), trained("tensorflow", path)
    assert gradients.keys() == other_gradients.keys()
    for name, gradient in gradients.items():
        scale = numpy.abs(gradient).max()
        numpy.testing.assert_allclose(gradient, other_gradients[name], rtol=0, atol=1e-9 * max(scale, 1e-6), err_msg=name)
    assert len(set(losses)) == 5, "it learns"
    # Keras rounds rates to float32 and adds Adam's epsilon elsewhere, and Adam makes steps of the rounding noise of a bias before a
    # batch normalisation, whose gradient is zero: the gradients above are the proof, the losses show that updates go the same way.
    numpy.testing.assert_allclose(losses, other_losses, rtol=5e-4)


@pytest.mark.slow
def test_they_run_from_the_command_line(tmp_path: Path) -> None:
    words = [str(path) for path in OWN]
    done = subprocess.run(
        [sys.executable, "-m", "runner", "run", *words, "--rounds", "1", "--budget", "0.1", "--device", "cpu"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
