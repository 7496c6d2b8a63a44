"""`unhang completion`: lets a shell complete commands, options and job ids."""

from __future__ import annotations

import argparse

SUMMARY = 'print a completion script: eval "$(unhang completion bash)"'
SHELLS = ("bash", "zsh", "fish")
# commands whose words are jobs
_OF_JOBS = ("status", "result", "events", "logs", "wait", "send", "extend", "cancel", "diagnose")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang completion`."""
    parser.add_argument("shell", choices=SHELLS, help="the shell to complete for")


def main(args: argparse.Namespace) -> int:
    """Print the completion script of a shell; return 0."""
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]())
    return 0


def _options() -> dict[str, list[str]]:
    """Command → its long options."""
    from unhang.faces.cli.main import COMMANDS
    from unhang.faces.cli.parser import load, parser_of

    found: dict[str, list[str]] = {}
    for name, module in COMMANDS.items():
        parser = parser_of(name, load(module), "")
        found[name] = sorted(o for action in parser._actions for o in action.option_strings if o.startswith("--"))
    return found


def _bash() -> str:
    options = _options()
    cases = "\n".join(f"    {name}) words='{' '.join(words)}' ;;" for name, words in options.items())
    return f"""\
_unhang() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} words='' i
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{" ".join(options)}' -- "$current"))
    return
  fi
  # after -- comes the command to run
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [ "${{COMP_WORDS[i]}}" = -- ]; then
      if [ $((i + 1)) -eq "$COMP_CWORD" ]; then COMPREPLY=($(compgen -c -- "$current"))
      else COMPREPLY=($(compgen -f -- "$current")); fi
      return
    fi
  done
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  case " {" ".join(_OF_JOBS)} " in
    *" ${{COMP_WORDS[1]}} "*) words="$words @last $(unhang ps --all --quiet 2>/dev/null)" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _unhang unhang"""


def _zsh() -> str:
    """bash's script serves zsh as well, through its own emulation."""
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash()


def _fish() -> str:
    options = _options()
    lines = [f"complete -c unhang -n __fish_use_subcommand -f -a '{' '.join(options)}'"]
    for name, words in options.items():
        seen = f"__fish_seen_subcommand_from {name}"
        lines += [f"complete -c unhang -n '{seen}' -l {word[2:]}" for word in words]
        if name in _OF_JOBS:
            lines.append(f"complete -c unhang -n '{seen}' -f -a '@last (unhang ps --all --quiet 2>/dev/null)'")
    return "\n".join(lines)
