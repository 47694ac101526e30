"""pack: embedded data, out of the store and into it."""

from __future__ import annotations

import argparse

from finapi.app import App
from finapi.datadir import Say
from finapi.errors import UsageError
from finapi.verbs.verb import Verb, typed_path


def _pack_arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    export = actions.add_parser(
        "export", help="write every stored report into one compact file", parents=[common]
    )
    export.add_argument("file")
    load = actions.add_parser("load", help="store the reports of such a file", parents=[common])
    load.add_argument("file")
    for action in (export, load):
        action.add_argument("--insiders", action="store_true", help="ownership forms instead of reports")


def _pack(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market import insider_pack, pack

    file = typed_path(directory, args.file)
    try:
        if args.action == "export":
            with app.db.read() as tx:
                data = insider_pack.dump(tx) if args.insiders else pack.dump(pack.held(tx))
            file.write_bytes(data)
            say("out", f"{file}: {len(data)} bytes")
        else:
            load = insider_pack.load if args.insiders else pack.load
            stored = load(app, file.read_bytes(), str(file))
            say("out", f"{stored} {'forms' if args.insiders else 'reports'} stored")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    return 0


PACK = Verb("embedded data: every stored report in one compact file", _pack_arguments, work=_pack)
