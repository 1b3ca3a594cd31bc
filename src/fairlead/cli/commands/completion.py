"""`fairlead completion`: completion of commands, options and names for the shell."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from fairlead.cli.common.inputs import say
from fairlead.cli.main import COMMANDS, parser_of
from fairlead.model.errors import InputError

EPILOG = """\
examples:
  source <(fairlead completion bash)                                     in ~/.bashrc
  fairlead completion zsh > "${fpath[1]}/_fairlead"
  fairlead completion fish > ~/.config/fish/completions/fairlead.fish

Names of jobs and machines are asked of the service, which gets a second to answer.
"""

JOBS, MACHINES, TENANTS = "jobs", "machines", "tenants"

NAMES = {
    "job": JOBS,
    "why": JOBS,
    "logs": JOBS,
    "cancel": JOBS,
    "forget": JOBS,
    "drain": MACHINES,
    "undrain": MACHINES,
}
"""Kind of names that the words after a command are."""

MOST = 200
"""Names that are offered."""

PATIENCE = 1.0
"""Seconds in which the service has to answer: who presses a key does not wait for more."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell",
        choices=("bash", "zsh", "fish", "names"),
        metavar="bash|zsh|fish",
        help="which shell",
    )
    parser.add_argument(
        "kind", nargs="?", choices=(JOBS, MACHINES, TENANTS), help=argparse.SUPPRESS
    )


def run(args: argparse.Namespace) -> int:
    """Prints the script of a shell; with `names`, what a script asks for."""
    if args.shell == "names":
        say(names(args.kind or JOBS), exact=True)
    elif args.shell == "bash":
        say(bash())
    elif args.shell == "zsh":
        say(zsh())
    else:
        say(fish())
    return 0


def names(kind: str) -> list[str]:
    """Names that the service knows; none where it does not answer: nobody could read why."""
    from itertools import islice

    from fairlead.client.client import Client
    from fairlead.client.errors import ServiceError

    try:
        with Client(timeout=PATIENCE) as client:
            if kind == MACHINES:
                return [each.name for each in islice(client.machines(), MOST)]
            if kind == TENANTS:
                return [each.name for each in client.tenants()][:MOST]
            return [each.name for each in islice(client.jobs(all=True), MOST)]
    except (ServiceError, InputError):
        return []


def options_of(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    """The options of a command that help shows, with what they mean."""
    return [
        (option, action.help or "")
        for action in parser._actions  # noqa: SLF001  (there is no public list)
        if action.help != argparse.SUPPRESS
        for option in action.option_strings
    ]


def actions_of(parser: argparse.ArgumentParser) -> list[str]:
    """The actions of a command, as in `token create`; none for most commands."""
    for action in parser._actions:  # noqa: SLF001  (there is no public list)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001  (nor a public name)
            return list(action.choices)
    return []


def commands() -> Iterator[tuple[str, str, list[tuple[str, str]], list[str]]]:
    """Each command with its summary, its options and its actions."""
    for name, summary in COMMANDS.items():
        parser, _module = parser_of(name)
        options = options_of(parser)
        actions = actions_of(parser)
        for action in parser._actions:  # noqa: SLF001  (there is no public list)
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
                for below in action.choices.values():
                    options += [each for each in options_of(below) if each not in options]
        yield name, summary, options, actions


def bash() -> Iterator[str]:
    """A function for bash's `complete`."""
    yield "# Completion of fairlead for bash."
    yield "_fairlead() {"
    yield '  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} offered="" names=""'
    yield '  if [ "$COMP_CWORD" -eq 1 ]; then'
    listed = " ".join(name for name, *_ in commands())
    yield f'    COMPREPLY=($(compgen -W "{listed}" -- "$word"))'
    yield "    return"
    yield "  fi"
    yield '  case "$command" in'
    for name, _, options, actions in commands():
        words = " ".join([*actions, *(option for option, _ in options)])
        kind = f' names="{NAMES[name]}"' if name in NAMES else ""
        yield f'    {name}) offered="{words}"{kind} ;;'
    yield "  esac"
    yield '  if [ -n "$names" ] && [ "${word#-}" = "$word" ]; then'
    yield '    offered="$offered $("${COMP_WORDS[0]}" completion names "$names" 2>/dev/null)"'
    yield "  fi"
    yield '  COMPREPLY=($(compgen -W "$offered" -- "$word"))'
    yield '  if [ ${#COMPREPLY[@]} -eq 0 ] && [ -z "$names" ]; then'
    yield '    COMPREPLY=($(compgen -f -- "$word"))'
    yield "  fi"
    yield "}"
    yield "complete -o filenames -F _fairlead fairlead"


def zsh() -> Iterator[str]:
    """A function for zsh's completion system."""
    yield "#compdef fairlead"
    yield "# Completion of fairlead for zsh."
    yield "_fairlead() {"
    yield "  local -a offered"
    yield "  if (( CURRENT == 2 )); then"
    yield "    offered=("
    for name, summary, *_ in commands():
        yield f"      {_quoted(f'{name}:{summary}')}"
    yield "    )"
    yield "    _describe command offered"
    yield "    return"
    yield "  fi"
    yield '  case "$words[2]" in'
    for name, _, options, actions in commands():
        yield f"    {name})"
        said = " ".join(_quoted(f"{option}:{meaning}") for option, meaning in options)
        yield f"      offered=({said})"
        yield "      [[ $PREFIX == -* ]] && _describe -o option offered && return"
        if actions:
            yield f"      compadd {' '.join(actions)}"
        if name in NAMES:
            asked = f'$("$words[1]" completion names {NAMES[name]} 2>/dev/null)'
            yield f'      compadd -- "${{(@f){asked}}}"'
        yield "      ;;"
    yield "  esac"
    yield "  _files"
    yield "}"
    # Read as a file of functions, it is run the first time that it is needed; else it is sourced.
    yield 'if [ "${funcstack[1]-}" = _fairlead ]; then'
    yield '  _fairlead "$@"'
    yield "else"
    yield "  compdef _fairlead fairlead"
    yield "fi"


def fish() -> Iterator[str]:
    yield "# Completion of fairlead for fish."
    for name, summary, options, actions in commands():
        yield f"complete -c fairlead -n __fish_use_subcommand -f -a {name} -d {_quoted(summary)}"
        where = f"-n '__fish_seen_subcommand_from {name}'"
        if actions:
            yield f"complete -c fairlead {where} -f -a '{' '.join(actions)}'"
        for option, meaning in options:
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            yield f"complete -c fairlead {where} {kind} -d {_quoted(meaning)}"
        if name in NAMES:
            yield f"complete -c fairlead {where} -f -a '(fairlead completion names {NAMES[name]})'"


def _quoted(text: str) -> str:
    """The text in quotes for a shell, on one line."""
    import shlex

    return shlex.quote(" ".join(text.replace("%%", "%").split()))
