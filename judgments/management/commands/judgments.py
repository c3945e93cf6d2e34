"""`manage.py judgments ls | report | replay | train | calibrate | evaluate | export`: look, make heads."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.timezone import now

from judgments import heads, strict_json
from judgments.models import ModelArtifact
from judgments.report_text import listing_text, replay_text, report_text
from judgments.services import exporting, replay, reports, settings, training
from synth.errors import DomainError, NotFound

UNKNOWN = 2


class Command(BaseCommand):
    """Looks at judgments from a terminal."""

    help = (
        "ls | report | replay | train | calibrate | evaluate | export: what was asked, how good, new heads."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """One sub-command each."""
        commands = parser.add_subparsers(dest="action", required=True)
        listing = commands.add_parser("ls", help="every judgment: wordings, runs, labels, failures, size")
        listing.add_argument("--json", action="store_true", help="as JSON")
        one = commands.add_parser("report", help="how good one judgment is, by wording and model")
        one.add_argument("name")
        one.add_argument("--days", type=int, default=14)
        one.add_argument("--budget", type=float, default=reports.BUDGET, help="share of wrong allowed")
        one.add_argument("--json", action="store_true", help="as JSON")
        again = commands.add_parser("replay", help="ask saved runs again and say what would have changed")
        again.add_argument("name")
        again.add_argument("--model", default="")
        again.add_argument("--host", default="", help="an address, or `local`")
        again.add_argument("--days", type=int, default=7)
        again.add_argument("--limit", type=int, default=replay.MAX_RUNS)
        again.add_argument("--wording", choices=("saved", "current"), default="saved")
        again.add_argument("--orders", type=int, default=1, help="option orders a choice is asked in")
        again.add_argument("--save", action="store_true", help="keep the new runs, origin replay")
        again.add_argument("--json", action="store_true", help="as JSON")
        self._add_training(commands)
        export = commands.add_parser("export", help="labelled runs as lines of JSON")
        export.add_argument("name")
        export.add_argument("--days", type=int, default=0, help="0: all")

    def _add_training(self, commands: Any) -> None:
        train = commands.add_parser("train", help="make a head on generated and labelled rows; a candidate")
        train.add_argument("name")
        train.add_argument("--rows", type=int, default=2_000, help="generated rows")
        train.add_argument("--file", type=Path, help="labelled rows, as `export` writes them")
        calibrate = commands.add_parser("calibrate", help="fit the serving head's temperature anew")
        calibrate.add_argument("name")
        calibrate.add_argument("--file", type=Path, required=True)
        for parser in (train, calibrate):
            parser.add_argument("--activate", action="store_true", help="let it serve")
        evaluate = commands.add_parser("evaluate", help="measure heads on held-out rows, as the card has it")
        evaluate.add_argument("names", nargs="*", help="judgments; none: all that have a head")
        evaluate.add_argument("--shipped", action="store_true", help="the heads of the repository")
        evaluate.add_argument("--file", type=Path, help="labelled rows instead of the held-out ones")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run one of them; an unknown name ends with status 2 and the nearest one."""
        action: Callable[[dict[str, Any]], None] = getattr(self, f"_{options['action']}")
        try:
            action(options)
        except NotFound as error:
            self.stderr.write(error.message)
            sys.exit(UNKNOWN)
        except DomainError as error:
            raise CommandError(error.message) from None
        except heads.BadHead as error:
            raise CommandError(f"The head that serves cannot be read: {error}") from None
        except ModuleNotFoundError as error:
            raise CommandError(f"{error.name} is missing: pip install '.[ml]'") from None

    def _ls(self, options: dict[str, Any]) -> None:
        found = reports.listing()
        self.stdout.write(_json(found) if options["json"] else listing_text(found))

    def _report(self, options: dict[str, Any]) -> None:
        if not 0 <= options["budget"] <= 1:
            raise CommandError("--budget is a share from 0 to 1")
        found = reports.report(options["name"], days=_days(options), at=now(), budget=options["budget"])
        self.stdout.write(_json(found) if options["json"] else report_text(found))

    def _replay(self, options: dict[str, Any]) -> None:
        found = replay.replay(
            options["name"],
            model=options["model"],
            host=options["host"],
            days=_days(options),
            limit=_whole(options, "limit", 1, 1_000_000),
            is_current_wording=options["wording"] == "current",
            n_orders=_whole(options, "orders", 1, settings.MAX_ORDERS),
            is_saved=options["save"],
        ).as_json()
        self.stdout.write(_json(found) if options["json"] else replay_text(found))

    def _train(self, options: dict[str, Any]) -> None:
        row = training.train(
            options["name"], n_rows=options["rows"], rows_file=options["file"], say=self.stdout.write
        )
        self._made(row, options)

    def _calibrate(self, options: dict[str, Any]) -> None:
        self._made(training.calibrate(options["name"], options["file"], say=self.stdout.write), options)

    def _evaluate(self, options: dict[str, Any]) -> None:
        found = training.evaluate(
            options["names"],
            is_shipped=options["shipped"],
            rows_file=options["file"],
            say=self.stderr.write,
        )
        self.stdout.write(_json(found))

    def _made(self, row: ModelArtifact, options: dict[str, Any]) -> None:
        self.stdout.write(_json(row.metrics))
        if options["activate"]:
            row = training.activate(row.name, row.version)
        self.stdout.write(f"{row}: {row.status}")

    def _export(self, options: dict[str, Any]) -> None:
        days = _days(options)
        since = now() - timedelta(days=days) if days else None
        for line in exporting.labelled(options["name"], since):
            self.stdout.write(strict_json.dumps(line))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _days(options: dict[str, Any]) -> int:
    return _whole(options, "days", 0, 36_500)


def _whole(options: dict[str, Any], name: str, least: int, most: int) -> int:
    if not least <= options[name] <= most:
        raise CommandError(f"--{name} is a whole number from {least} to {most}")
    return int(options[name])
