"""Completion of verbs and options for shells."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

from finapi.core import config as settings
from finapi.core.config import Config
from finapi.store.datadir import Say
from finapi.verbs.verb import Perform, Verb, arg, document


def completion(verbs: Mapping[str, Verb]) -> Verb:
    """The verb that prints a script for the others."""

    def run(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
        script = "\n".join(_fish(verbs) if args.shell == "fish" else _bash(verbs, zsh=args.shell == "zsh"))
        if args.json:
            return document(say, {"shell": args.shell, "script": script})
        say("out", script)
        return 0

    help = "a script that completes verbs and options: source <(finapi completion bash)"
    return Verb(help, (arg("shell", choices=["bash", "zsh", "fish"], help="bash, zsh or fish"),), run, storeless=True)


def _fish(verbs: Mapping[str, Verb]) -> Iterator[str]:
    yield "complete -c finapi -f"
    for name, verb in verbs.items():
        help = verb.help.replace("'", "")
        yield f"complete -c finapi -n __fish_use_subcommand -a {name} -d '{help}'"
        for word in _words(verb):
            given = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
            # A file may stand behind a verb, not in its place.
            yield f'complete -c finapi -n "__fish_seen_subcommand_from {name}" -F {given}'


def _bash(verbs: Mapping[str, Verb], *, zsh: bool) -> Iterator[str]:
    if zsh:
        yield "autoload -U +X bashcompinit && bashcompinit"
    yield "_finapi() {"
    yield '  local cur="${COMP_WORDS[COMP_CWORD]}" words=""'
    yield '  case "$COMP_CWORD:${COMP_WORDS[1]}" in'
    yield f'    1:*) words="{" ".join(verbs)}" ;;'
    for name, verb in verbs.items():
        yield f'    *:{name}) words="{" ".join(_words(verb))}" ;;'
    yield "  esac"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$cur"))'
    yield "}"
    yield "complete -o default -F _finapi finapi"


def _words(verb: Verb) -> list[str]:
    """What may stand behind a verb: actions, words to choose from, options, and the settings that its help shows."""
    own = [argument for action in verb.actions or (None,) for argument in verb.own(action)]
    chosen = [word for names, told in own if names[0][0] != "-" for word in told.get("choices", ())]
    options = [name for names, _ in own for name in names if name.startswith("--")]
    shown = [f"--{name.replace('_', '-')}" for name in ("config", *verb.shown)]
    return [*verb.actions, *chosen, *dict.fromkeys([*options, *shown, "--help"])]
