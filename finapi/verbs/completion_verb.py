"""Completion of verbs, actions, options and their values for shells."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args, get_origin, get_type_hints

from finapi.core import config as settings
from finapi.core.config import Config
from finapi.store.datadir import Say
from finapi.verbs.verb import Perform, Verb, arg, print_document

_PATHS = ("FILE", "PATH", "DIR", "BEFORE", "AFTER")
_PATH_SETTINGS = ("config", "data_dir", "mail_dir", "backup_dir")


@dataclass(frozen=True, slots=True)
class _Taken:
    """An option or, without names, an argument: the words that it is one of, whether a value or a path stands there."""

    names: tuple[str, ...]
    help: str = ""
    words: tuple[str, ...] = ()
    valued: bool = True
    path: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """What may stand behind a verb, or behind a verb and its action."""

    verb: str
    action: str | None
    taken: tuple[_Taken, ...]

    @property
    def name(self) -> str:
        """``user add``."""
        return " ".join(filter(None, (self.verb, self.action)))


def build_completion_verb(verbs: Mapping[str, Verb]) -> Verb:
    """The verb that prints a script for the others."""

    def run(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
        script = "\n".join(_fish(verbs) if args.shell == "fish" else _bash(verbs, zsh=args.shell == "zsh"))
        if args.json:
            return print_document(say, {"shell": args.shell, "script": script})
        say("out", script)
        return 0

    help = "a script that completes verbs, options and their values: source <(finapi completion bash)"
    note = "bash and zsh: source <(finapi completion bash) or zsh; fish: finapi completion fish | source."
    shell = arg("shell", choices=["bash", "zsh", "fish"], help="bash, zsh or fish")
    return Verb(help, (shell,), run, storeless=True, note=note)


def _places(verbs: Mapping[str, Verb]) -> Iterator[_Place]:
    hints = get_type_hints(Config)
    for name, verb in verbs.items():
        shown = []
        for one in ("config", *verb.help_settings):
            words = get_args(hints[one]) if get_origin(hints.get(one)) is Literal else ()
            shown.append(_Taken((f"--{one.replace('_', '-')}",), words=words, path=one in _PATH_SETTINGS))
        for action in verb.actions or (None,):
            own = []
            for names, told in verb.get_arguments(action):
                given = tuple(one for one in names if one[0] == "-")
                path = told.get("metavar") in _PATHS or names == ("file",)
                words, valued = tuple(told.get("choices", ())), "action" not in told
                if told.get("metavar") == "CHECK":  # which are not loaded with the verbs
                    from finapi.testing.conformance import CHECKS

                    words = tuple(CHECKS)
                own.append(_Taken(given, str(told.get("help", "")), words, valued=valued, path=path))
            yield _Place(name, action, (*own, *shown, _Taken(("-h", "--help"), "show what it takes", valued=False)))


def _bash(verbs: Mapping[str, Verb], *, zsh: bool) -> Iterator[str]:
    if zsh:
        yield "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -iD; }"
        yield "autoload -U +X bashcompinit && bashcompinit"
    acting = {name: verb for name, verb in verbs.items() if verb.actions}
    yield "_finapi() {"
    yield '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" at="${COMP_WORDS[1]}" words=""'
    yield f'  case "$at" in {"|".join(acting)}) (( COMP_CWORD > 2 )) && at="$at ${{COMP_WORDS[2]}}" ;; esac'
    yield '  (( COMP_CWORD == 1 )) && at=""'
    yield '  case "$at:$prev" in'
    yield f'    ":"*) words="{" ".join(verbs)}" ;;'
    for name, verb in acting.items():
        yield f'    "{name}:"*) words="{" ".join(verb.actions)} --help" ;;'
    for place in _places(verbs):
        for one in place.taken:
            # Where no words are known the shell completes file names.
            if one.names and one.valued:
                patterns = "|".join(f'"{place.name}:{name}"' for name in one.names)
                yield f'    {patterns}) words="{" ".join(one.words)}" ;;'
        words = [word for one in place.taken for word in (_long(one.names) if one.names else one.words)]
        yield f'    "{place.name}:"*) words="{" ".join(words)}" ;;'
    yield "  esac"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$cur"))'
    yield "}"
    yield "complete -o default -F _finapi finapi"


def _long(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith("--")]


def _fish(verbs: Mapping[str, Verb]) -> Iterator[str]:
    yield "complete -c finapi -f"
    for name, verb in verbs.items():
        yield f"complete -c finapi -n __fish_use_subcommand -a {name} -d {_quoted(verb.help)}"
        for action, (help, _) in verb.actions.items():
            there = f"__fish_seen_subcommand_from {name}; and not __fish_seen_subcommand_from {' '.join(verb.actions)}"
            yield f"complete -c finapi -n '{there}' -a {action} -d {_quoted(help)}"
    for place in _places(verbs):
        there = f"__fish_seen_subcommand_from {place.verb}"
        there += f"; and __fish_seen_subcommand_from {place.action}" if place.action else ""
        for one in place.taken:
            if not one.names and not one.words and not one.path:
                continue
            named = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in one.names)
            value = " -F" if one.path else " -x" if one.names and one.valued else ""
            words = f" -a {_quoted(' '.join(one.words))}" if one.words else ""
            help = f" -d {_quoted(one.help)}" if one.help and one.names else ""
            yield f"complete -c finapi -n '{there}'{named}{' -r' if one.path and one.names else ''}{value}{words}{help}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
