"""The verbs config, openapi and doctor: print the settings, the OpenAPI document, and problems of this host."""

from __future__ import annotations

import argparse
import json

from finapi.core import config as settings
from finapi.core.clock import SystemClock
from finapi.core.config import Config
from finapi.store.datadir import Say
from finapi.verbs.verb import Perform, Verb, escape_unprintable, print_document


def _run_config(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    from finapi.ops import doctor

    doctor.check_settings(config, SystemClock())
    if config.costs:
        from finapi.web.routes import ROUTES, apply_costs

        apply_costs(ROUTES, config.costs)
    rows = settings.describe_settings(config, origins)
    if args.json:
        return print_document(say, {"settings": rows})
    width = max(len(row["name"]) for row in rows)
    for number, row in enumerate(rows):
        if number == len(settings.USUAL_SETTINGS):
            say("out", "")  # The settings for special cases follow.
        say("out", f"{row['name']:{width}} = {row['value']}  ({row['origin']}) {row['help']}")
    return 0


def _run_openapi(
    args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform
) -> int:
    from finapi.web import openapi
    from finapi.web.routes import ROUTES, apply_costs

    document = openapi.build_document(config.public_url, apply_costs(ROUTES, config.costs))
    say("out", json.dumps(document, indent=1, ensure_ascii=False))
    return 0


def _run_doctor(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    from finapi.ops import doctor

    findings = doctor.list_findings(config, SystemClock())
    if args.json:
        print_document(say, {"findings": findings})
    else:
        for finding in findings:
            say("out", escape_unprintable(f"{finding['state']:8} {finding['check']}: {finding['found']}"))
            if finding["fix"]:
                say("out", escape_unprintable(f"         to fix it: {finding['fix']}"))
    return 1 if any(finding["state"] == "wrong" for finding in findings) else 0


_EXAMINED_SETTINGS = ("user_agent", "base_url", "public_url", "trusted_proxies", "host")
DOCTOR = Verb("find problems of this host and print how to fix them", run=_run_doctor, settings=_EXAMINED_SETTINGS)
CONFIG = Verb("print every setting, its value and its origin", run=_run_config)
OPENAPI = Verb("print the OpenAPI document", run=_run_openapi, settings=("public_url",), storeless=True)
