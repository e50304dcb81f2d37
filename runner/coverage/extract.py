"""Write the files of facts out of wheels: ``python -m runner.coverage.extract WHEEL ...``, of torch and of tensorflow-metal."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

from runner.coverage import metal, mps
from runner.wheels import emulate, fetch, packages


def extract(path: Path) -> tuple[Path, bytes]:
    """Where the facts of a wheel belong, and what they are; the same bytes for the same wheel."""
    wheel = fetch.opened(path, ("torch", *packages.PLUGINS))
    if wheel.distribution == "torch":
        facts = mps.text_of(wheel.version, mps.torch(str(path.absolute())).operators)
        return mps.FACTS / f"torch-{wheel.version}.txt.gz", gzip.compress(facts.encode(), mtime=0)
    with packages.plugin_file(packages.of_wheel(wheel)) as library:
        facts = metal.text_of(wheel.version, emulate.registered(library))
    return metal.FACTS / f"metal-{wheel.version}.txt", facts.encode()


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        place, data = extract(Path(argument))
        place.write_bytes(data)
        print(f"{place}: {len(data)} bytes")
