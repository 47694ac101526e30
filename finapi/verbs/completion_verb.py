"""The verb completion: scripts that complete verbs, actions, options and their values in bash, zsh and fish."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from finapi.core import config as settings
from finapi.core.config import Config
from finapi.store.datadir import Say
from finapi.verbs.verb import Perform, Verb, arg, print_document

_PATH_METAVARS = ("FILE", "PATH", "DIR", "BEFORE", "AFTER")
_PATH_SETTINGS = ("config", "data_dir", "mail_dir", "backup_dir")


@dataclass(frozen=True, slots=True)
class _CompletableArgument:
    """An option or a positional argument of a command. A positional argument has no ``names``."""

    names: tuple[str, ...]
    help: str = ""
    words: tuple[str, ...] = ()  # The permitted values, if they are known.
    has_value: bool = True
    is_path: bool = False


@dataclass(frozen=True, slots=True)
class _CommandArguments:
    """The arguments of a verb, or of one action of a verb."""

    verb: str
    action: str | None
    arguments: tuple[_CompletableArgument, ...]

    @property
    def command(self) -> str:
        """Return the words of the command, such as ``user add``."""
        return f"{self.verb} {self.action}" if self.action else self.verb


def build_completion_verb(verbs: Mapping[str, Verb]) -> Verb:
    """Return the verb that prints a script for ``verbs``."""

    def run(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
        lines = _iter_fish_lines(verbs) if args.shell == "fish" else _iter_bash_lines(verbs, zsh=args.shell == "zsh")
        script = "\n".join(lines)
        if args.json:
            return print_document(say, {"shell": args.shell, "script": script})
        say("out", script)
        return 0

    help = "a script that completes verbs, options and their values: source <(finapi completion bash)"
    note = "bash and zsh: source <(finapi completion bash) or zsh; fish: finapi completion fish | source."
    shell = arg("shell", choices=["bash", "zsh", "fish"], help="bash, zsh or fish")
    return Verb(help, (shell,), run, storeless=True, note=note)


def _iter_commands(verbs: Mapping[str, Verb]) -> Iterator[_CommandArguments]:
    """Yield the arguments of every verb and action, with the settings that its ``--help`` lists."""
    hints = get_type_hints(Config)
    help_option = _CompletableArgument(("-h", "--help"), "show what it takes", has_value=False)
    for verb_name, verb in verbs.items():
        settings_options = []
        for setting in ("config", *verb.help_settings):
            words = get_args(hints[setting]) if get_origin(hints.get(setting)) is Literal else ()
            option = f"--{setting.replace('_', '-')}"
            settings_options.append(_CompletableArgument((option,), words=words, is_path=setting in _PATH_SETTINGS))
        for action in verb.actions or (None,):
            arguments = [_build_argument(names, options) for names, options in verb.get_arguments(action)]
            yield _CommandArguments(verb_name, action, (*arguments, *settings_options, help_option))


def _build_argument(names: tuple[str, ...], options: Mapping[str, Any]) -> _CompletableArgument:
    """Build an argument from the parameters of ``ArgumentParser.add_argument``."""
    words = tuple(options.get("choices", ()))
    if options.get("metavar") == "CHECK":  # The names of the checks are in a module that is imported only here.
        from finapi.testing.conformance import CHECKS

        words = tuple(CHECKS)
    return _CompletableArgument(
        names=tuple(name for name in names if name.startswith("-")),
        help=str(options.get("help", "")),
        words=words,
        has_value="action" not in options,
        is_path=options.get("metavar") in _PATH_METAVARS or names == ("file",),
    )


def _iter_bash_lines(verbs: Mapping[str, Verb], *, zsh: bool) -> Iterator[str]:
    """Yield the lines of a bash function that looks up the words before the cursor in a ``case`` statement."""
    if zsh:
        yield "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -iD; }"
        yield "autoload -U +X bashcompinit && bashcompinit"
    verbs_with_actions = {name: verb for name, verb in verbs.items() if verb.actions}
    yield "_finapi() {"
    yield '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" at="${COMP_WORDS[1]}" words=""'
    if verbs_with_actions:
        names = "|".join(verbs_with_actions)
        yield f'  case "$at" in {names}) (( COMP_CWORD > 2 )) && at="$at ${{COMP_WORDS[2]}}" ;; esac'
    yield '  (( COMP_CWORD == 1 )) && at=""'
    yield '  case "$at:$prev" in'
    yield f'    ":"*) words="{" ".join(verbs)}" ;;'
    for name, verb in verbs_with_actions.items():
        yield f'    "{name}:"*) words="{" ".join(verb.actions)} --help" ;;'
    for command in _iter_commands(verbs):
        words: list[str] = []
        for argument in command.arguments:
            words += _get_long_names(argument.names) if argument.names else argument.words
            # If no words are known, the shell completes file names.
            if argument.names and argument.has_value:
                patterns = "|".join(f'"{command.command}:{name}"' for name in argument.names)
                yield f'    {patterns}) words="{" ".join(argument.words)}" ;;'
        yield f'    "{command.command}:"*) words="{" ".join(words)}" ;;'
    yield "  esac"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$cur"))'
    yield "}"
    yield "complete -o default -F _finapi finapi"


def _get_long_names(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith("--")]


def _iter_fish_lines(verbs: Mapping[str, Verb]) -> Iterator[str]:
    yield "complete -c finapi -f"
    for name, verb in verbs.items():
        yield f"complete -c finapi -n __fish_use_subcommand -a {name} -d {_quote(verb.help)}"
        for action, (help, _) in verb.actions.items():
            condition = f"__fish_seen_subcommand_from {name}"
            condition += f"; and not __fish_seen_subcommand_from {' '.join(verb.actions)}"
            yield f"complete -c finapi -n '{condition}' -a {action} -d {_quote(help)}"
    for command in _iter_commands(verbs):
        condition = f"__fish_seen_subcommand_from {command.verb}"
        if command.action:
            condition += f"; and __fish_seen_subcommand_from {command.action}"
        for argument in command.arguments:
            if argument.names or argument.words or argument.is_path:
                yield f"complete -c finapi -n '{condition}'{_build_fish_options(argument)}"


def _build_fish_options(argument: _CompletableArgument) -> str:
    options = ""
    for name in argument.names:
        options += f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}"
    if argument.is_path:
        options += " -r -F" if argument.names else " -F"
    elif argument.names and argument.has_value:
        options += " -x"
    if argument.words:
        options += f" -a {_quote(' '.join(argument.words))}"
    if argument.help and argument.names:
        options += f" -d {_quote(argument.help)}"
    return options


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
