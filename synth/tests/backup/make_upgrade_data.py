"""Makes `data/vVERSION.tar.gz`: the demo's data as this version writes it, for the upgrade test of later.

Run `python -m synth.tests.backup.make_upgrade_data` from the checkout before tagging a version (and again,
for a version that is not tagged yet, when its first migrations were made anew). Never change the file of a
tagged version.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

DATA = Path(__file__).parent / "data"


def main() -> None:
    """Private stores, migrate, seed, back up without keys."""
    from bench import stores

    stores.begin()
    from django.core.management import call_command

    call_command("seed_demo", verbosity=0)
    DATA.mkdir(exist_ok=True)
    call_command("backup", str(DATA / f"v{version('synth')}.tar.gz"), "--without-keys", "--replace")


if __name__ == "__main__":
    main()
