"""`unhang completion`: lets a shell complete commands, options, values, names and labels."""

from __future__ import annotations

import argparse

from unhang.errors import UnhangError

SUMMARY = 'print a completion script: eval "$(unhang completion bash)"'
SHELLS = ("bash", "zsh", "fish")
# what the scripts call for the word that is being typed
_WORDS = "words"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang completion`."""
    parser.add_argument("shell", choices=(*SHELLS, _WORDS), help="the shell to complete for (words: for the scripts)")
    parser.add_argument("typed", nargs=argparse.REMAINDER, metavar="WORD", help="words: what was typed so far")


def main(args: argparse.Namespace) -> int:
    """Print the completion script of a shell, or what may stand in the place of the last word; return 0."""
    if args.shell != _WORDS:
        print({"bash": _BASH, "zsh": _ZSH, "fish": _FISH}[args.shell], end="")
        return 0
    from unhang.faces.cli.complete import candidates

    try:
        found = candidates(args.typed)
    except (UnhangError, OSError):
        found = []  # a state directory that cannot be read: the next command says why
    for word in found:
        print(word)
    return 0


_BASH = """\
_unhang() {
  local current=${COMP_WORDS[COMP_CWORD]} line
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
      :dirs) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current"); return ;;
      :program) mapfile -t COMPREPLY < <(compgen -c -- "$current"); return ;;
      *) COMPREPLY+=("$line") ;;
    esac
  done < <(unhang completion words "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
}
complete -F _unhang unhang
"""

_ZSH = """\
#compdef unhang
_unhang() {
  local -a found
  found=("${(@f)$(unhang completion words "${(@)words[1,CURRENT]}" 2>/dev/null)}")
  case ${found[1]} in
    '') return 1 ;;
    :files) _files ;;
    :dirs) _files -/ ;;
    :program) _command_names -e ;;
    *) compadd -- "${found[@]}" ;;
  esac
}
if (( ! $+functions[compdef] )); then autoload -U compinit && compinit; fi
compdef _unhang unhang
"""

_FISH = """\
function __unhang_complete
  set -l current (commandline -ct)
  for line in (unhang completion words (commandline -opc) "$current" 2>/dev/null)
    switch $line
      case :files
        __fish_complete_path "$current"
      case :dirs
        __fish_complete_directories "$current"
      case :program
        complete -C "$current"
      case '*'
        echo $line
    end
  end
end
complete -c unhang -f -a '(__unhang_complete)'
"""
