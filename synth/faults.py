"""Named places where a test kills the process, to prove that nothing is lost there.

A module declares its points when it is imported, and calls `point(name)` before each commit and each send.
With `SYNTH_FAULT=name` the process dies by SIGKILL at that point; `name:3` lets two passes go and dies at
the third. Without the variable a point costs one dictionary look-up.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import signal
import threading

VARIABLE = "SYNTH_FAULT"
KNOWN: dict[str, str] = {}
_passes: dict[str, int] = {}
_lock = threading.Lock()


class UnknownFault(ValueError):
    """SYNTH_FAULT names a point that no module declares, or has a count that is no number."""


def declare(name: str, why: str) -> None:
    """Make `name` a known point; `why` says what a death there must not break."""
    if name in KNOWN:
        raise ValueError(f"fault point {name} is declared twice")
    KNOWN[name] = why


def point(name: str) -> None:
    """Die here if the environment asks for it; LookupError for a name that was never declared."""
    if name not in KNOWN:
        raise LookupError(f"fault point {name} is not declared")
    wanted = os.environ.get(VARIABLE)
    if not wanted:
        return
    target, nth = parse(wanted)
    if target != name:
        return
    with _lock:
        _passes[name] = _passes.get(name, 0) + 1
        if _passes[name] == nth:
            os.kill(os.getpid(), signal.SIGKILL)


def parse(text: str) -> tuple[str, int]:
    """Name and pass number of a SYNTH_FAULT value; UnknownFault when the number is not 1 or more."""
    name, _, count = text.strip().partition(":")
    if not count:
        return name, 1
    if not count.isdigit() or int(count) < 1:
        raise UnknownFault(f"{VARIABLE}={text!r}: after the colon comes the pass to die at, 1 or more")
    return name, int(count)


def check(text: str) -> None:
    """UnknownFault unless `text` names a declared point; run at start, when every app is loaded."""
    name, _ = parse(text)
    if name not in KNOWN:
        _import_services()
    if name not in KNOWN:
        raise UnknownFault(f"{VARIABLE}={text!r}: known points are {', '.join(sorted(KNOWN)) or 'none'}")


def _import_services() -> None:
    """Import every app's services, which declare the points: some are imported only at their first use."""
    from django.apps import apps
    from django.utils.module_loading import module_has_submodule

    for config in apps.get_app_configs():
        if config.module is not None and module_has_submodule(config.module, "services"):
            services = importlib.import_module(f"{config.name}.services")
            for module in pkgutil.iter_modules(getattr(services, "__path__", [])):
                importlib.import_module(f"{services.__name__}.{module.name}")
