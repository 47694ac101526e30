"""config and openapi: what is in force, and what is served."""

from __future__ import annotations

import argparse
import json

from finapi import config as settings
from finapi.config import Config
from finapi.datadir import Say
from finapi.verbs.verb import Perform, Verb, no_arguments


def _config_arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _config(
    args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform
) -> int:
    rows = settings.described(config, origins)
    if args.json:
        say("out", json.dumps({"settings": rows}))
    else:
        width = max(len(row["name"]) for row in rows)
        for row in rows:
            say("out", f"{row['name']:{width}} = {row['value']}  ({row['origin']}) {row['help']}")
    return 0


def _openapi(
    args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform
) -> int:
    from finapi.web.openapi import document

    say("out", json.dumps(document(config.public_url), indent=1, ensure_ascii=False))
    return 0


CONFIG = Verb("print every setting, its value and where it comes from", _config_arguments, _config)
OPENAPI = Verb("print the OpenAPI document", no_arguments, _openapi)
