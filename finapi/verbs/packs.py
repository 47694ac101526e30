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
    instead = export.add_mutually_exclusive_group()
    instead.add_argument("--insiders", action="store_true", help="ownership forms instead of XBRL reports")
    instead.add_argument("--holdings", action="store_true", help="13F reports instead of XBRL reports")
    load = actions.add_parser("load", help="store what is in such a file", parents=[common])
    load.add_argument("file")


def _pack(app: App, args: argparse.Namespace, directory: str, say: Say) -> int:
    from finapi.market import holdings_pack, insider_pack, pack

    file = typed_path(directory, args.file)
    try:
        if args.action == "export":
            with app.db.read() as tx:
                if args.insiders:
                    data = insider_pack.dump(tx)
                elif args.holdings:
                    data = holdings_pack.dump(holdings_pack.held(tx))
                else:
                    data = pack.dump(pack.held(tx))
            file.write_bytes(data)
            say("out", f"{file}: {len(data)} bytes")
        else:
            data = file.read_bytes()
            kinds = (insider_pack, holdings_pack)
            load = next((kind.load for kind in kinds if data.startswith(kind.MAGIC)), pack.load)
            say("out", f"{load(app, data, str(file))} reports stored")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    return 0


PACK = Verb("embedded data: every stored report in one compact file", _pack_arguments, work=_pack)
