"""``postil completion``: a script with which a shell completes commands, options, their values and files."""

import argparse
from argparse import Namespace
from pathlib import Path

from postil.commands.parser import COMMANDS, add_options, command_module, option

DESCRIPTION = """\
Print a script for completion with the Tab key: commands, options, their values (presets, formats, names of settings
after --set) and files.

  postil completion bash > ~/.local/share/bash-completion/completions/postil
  postil completion zsh > ~/.zsh/_postil            if fpath has ~/.zsh before compinit
  postil completion fish > ~/.config/fish/completions/postil.fish
  postil completion tcsh > ~/.postil.tcsh           and `source` it in ~/.tcshrc

If you do not have these folders, save the script anywhere and `source` it in ~/.bashrc, or in ~/.zshrc after compinit.
Print it again after updating Postil.
"""
SHELLS = ("bash", "zsh", "fish", "tcsh")
OPTIONS = {"": [option("", "the shell to complete in", dest="shell", choices=SHELLS)]}


def run(arguments: Namespace) -> int:
    """shtab reads one parser with all commands; arguments that take a path complete files."""
    import shtab

    from postil.models.config import TaggerConfig, TreeConfig
    from postil.models.settings import rules

    declared = {**rules(TreeConfig), **rules(TaggerConfig)}
    settings = [f"{name}={value}" for name in sorted(declared) for value in declared[name].choices or ("",)]
    whole = argparse.ArgumentParser("postil")
    commands = whole.add_subparsers()
    for name, summary in COMMANDS.items():
        parser = commands.add_parser(name, help=summary, description=summary)
        add_options(parser, command_module(name).OPTIONS)
        for action in parser._actions:
            is_path = action.type is Path or str(action.metavar).endswith(("FILE", "MODEL", "PATH", "FOLDER"))
            if action.dest == "settings":
                action.choices = settings
            elif action.choices is None and (is_path or not action.option_strings):
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(whole, arguments.shell))
    return 0
