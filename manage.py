#!/usr/bin/env python
"""Runs a management command; the embedded stores are found or started first when no server is named."""

import os
import select
import sys
from types import TracebackType


def main() -> None:
    """`up` needs no Django in its own process; every other command gets stores, then Django."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "synth.settings")
    from synth.stack import connect
    from synth.stack.home import StackError

    try:
        if sys.argv[1:2] == ["up"]:
            from synth.stack import up

            raise SystemExit(up.main(sys.argv[2:]))
        connect.before_settings(sys.argv)
    except StackError as error:
        sys.exit(f"manage.py: {error}")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
    if sys.stdout is not None:  # `>&-`
        sys.stdout.flush()  # here, so that a reader who has left is noticed by the hook below


def end_quietly(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """One line after Ctrl-C, which still ends the process as that signal does; none after `… | head`."""
    if issubclass(kind, KeyboardInterrupt):
        sys.stderr.write("manage.py: interrupted\n")
    elif issubclass(kind, BrokenPipeError) and has_reader_left():
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    else:
        sys.__excepthook__(kind, error, trace)


def has_reader_left() -> bool:
    """Whether nobody reads our output any more; a connection of ours that broke is another matter."""
    if sys.stdout is None:
        return False
    watched = select.poll()
    watched.register(sys.stdout.fileno(), 0)
    return bool(watched.poll(0))


if __name__ == "__main__":
    sys.excepthook = end_quietly
    main()
