#!/usr/bin/env python
"""Runs a management command; the embedded stores are found or started first when no server is named."""

import os
import sys


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


if __name__ == "__main__":
    main()
