"""Private, temporary stores with the settings of the embedded ones, migrated, for one benchmark process."""

from __future__ import annotations

import atexit
import os
import tempfile
from pathlib import Path

from synth.stack.connect import User, make_secrets, set_urls
from synth.stack.home import Home


def begin() -> None:
    """Start stores in a temporary home and set Django up on them; they go when this process ends."""
    home = Home(Path(tempfile.mkdtemp(prefix="synth-bench-")).resolve())
    user = User(home, "--temporary")
    user.join()
    atexit.register(user.leave)
    set_urls(home)
    make_secrets(home)
    os.environ["DJANGO_SETTINGS_MODULE"] = "synth.settings"
    os.environ.setdefault("LOG_LEVEL", "error")

    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
