"""``make locks``: the locks of all eras anew. uv resolves them for platforms and Pythons other than those at hand, from wheels alone."""

from __future__ import annotations

import sys

from runner.eras import uv
from runner.errors import UserError
from runner.spec import catalog
from runner.spec.era import Era, load_era
from runner.spec.lock import heading, lock_path

TARGETS = {"macos-arm64": "aarch64-apple-darwin", "linux-x86_64": "x86_64-manylinux_2_28"}
"""The platforms of eras as uv calls them."""


MACOS = "14.0"  # the oldest for which the newest PyTorch has wheels


def make(era: Era, framework: str, platform: str, python: str | None = None) -> str:
    """The text of one lock, for another Python than the era's where one is named. Raises :class:`UserError`."""
    limits = ["--exclude-newer", f"{era.until}T23:59:59Z"] if era.until else []
    limits += ["--constraints", str(era.constraints)] if era.constraints else []
    pins = uv.run(
        [
            *("pip", "compile", "-", "--quiet", "--no-header", "--no-annotate", "--no-build"),
            *("--python-platform", TARGETS[platform], "--python-version", python or era.python, *limits),
        ],
        given="".join(f"{requirement}\n" for requirement in era.frameworks[framework][platform]),
        MACOSX_DEPLOYMENT_TARGET=MACOS,
    )
    return f"{heading(era, framework, platform)}\n{pins.strip()}\n"


def main() -> None:
    """Write all locks; ends 2 at the first that cannot be resolved."""
    for path in catalog.all_eras():
        era = load_era(path)
        for framework, platforms in era.frameworks.items():
            for platform in platforms:
                try:
                    text = make(era, framework, platform)
                except UserError as error:
                    print(f"{path.name}: {framework} on {platform}: {error}", file=sys.stderr)
                    sys.exit(2)
                lock = lock_path(era, framework, platform)
                lock.parent.mkdir(parents=True, exist_ok=True)
                lock.write_text(text, encoding="utf-8")
                print(lock)


if __name__ == "__main__":
    main()
