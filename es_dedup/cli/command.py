"""How a function becomes a command: its parameters are arguments and options, its docstring is their help."""

from __future__ import annotations

import inspect
import re
from collections import UserDict
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from importlib import import_module
from typing import Annotated, Any, Final, get_args, get_origin

import typer

from es_dedup.cli.session import Session, session_of

INPUT_PANEL: Final = "How input is read"
"""Heads the options of ``read_options`` in the help."""
_ARGS: Final = "\n\nArgs:\n"
_MEANING: Final = re.compile(r"^ {4}(\w+): (.+)$", re.MULTILINE)


class Commands(UserDict[str, Any]):
    """The commands of a group by name, each imported and made when it is asked for: a run needs one of them.

    Args:
        places: the module below ``es_dedup.cli`` and the function of each: ``scanning.scan``.
        groups: the groups below, which come after the commands.
    """

    def __init__(self, places: Iterable[str], groups: Mapping[str, Any]) -> None:
        super().__init__({place.rpartition(".")[2].rstrip("_"): place for place in places}, **groups)

    def __getitem__(self, name: str) -> Any:
        """The command, or the group, of this name."""
        if isinstance(place := self.data[name], str):
            module, _, function = place.rpartition(".")
            alone = typer.Typer(add_completion=False)
            alone.command(name)(as_command(getattr(import_module(f"es_dedup.cli.{module}"), function)))
            self.data[name] = typer.main.get_command(alone)
        return self.data[name]


def as_command(function: Callable[..., int | None]) -> Callable[..., None]:
    """The command that typer runs for a function.

    It has the name of the function. Parameters before ``*`` become arguments, those after it options, named as they are; a trailing ``_``
    of names is dropped. Help comes from the
    section ``Args``, or from the annotation where several commands share it. ``session`` is the session of the run, and ``options`` stands
    for all options that say how input is read. The function returns the exit code; None: 0.
    """
    parameters = {each.name: each for each in typer_parameters(function)}
    input_parameters = []
    if parameters.pop("options", None):
        from es_dedup.cli.inputs import read_options

        input_parameters = typer_parameters(read_options, INPUT_PANEL)

    def command(context: typer.Context, **given: Any) -> None:
        if input_parameters:
            given["options"] = read_options(**{each.name: given.pop(each.name) for each in input_parameters})
        if code := function(session_of(context), **given):
            raise typer.Exit(code)

    command.__name__ = function.__name__.rstrip("_")
    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    return with_help(command, function.__doc__, [context, *parameters.values(), *input_parameters])


def with_help(
    function: Callable[..., None], text: str | None, parameters: Iterable[inspect.Parameter]
) -> Callable[..., None]:
    """``function`` with the help and the parameters that typer reads; those of ``Args`` are no part of the text."""
    parameters = list(parameters)
    vars(function)["__signature__"] = inspect.Signature(parameters)
    function.__annotations__ = {each.name: each.annotation for each in parameters}
    function.__doc__ = inspect.cleandoc(text or "").partition(_ARGS)[0]
    return function


def typer_parameters(function: Callable[..., Any], panel: str | None = None) -> list[inspect.Parameter]:
    """Parameters of a function as typer takes them, without the session; ``panel`` heads them in the help."""
    meanings = dict(_MEANING.findall((inspect.getdoc(function) or "").partition(_ARGS)[2]))
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    return [_described(each, meanings, panel) for each in parameters if each.annotation is not Session]


def _described(
    parameter: inspect.Parameter, meanings: dict[str, str], panel: str | None
) -> inspect.Parameter:
    """A parameter whose annotation holds its name on the command line and its help."""
    kind, given = parameter.annotation, None
    if kind is typer.Context:
        return parameter
    if get_origin(kind) is Annotated:
        kind, given = get_args(kind)
    name = parameter.name.rstrip("_").replace("_", "-")
    if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
        info = copy(given or typer.Argument())
        info.metavar = info.metavar or name.upper()
        info.show_default = False
    else:
        info = copy(given or typer.Option())
        names = [each for each in (info.default, *(info.param_decls or ())) if isinstance(each, str)]
        if not any(each.startswith("--") for each in names):
            switch_off = f"/--no-{name}" if parameter.default is True else ""
            names = [f"--{name}{switch_off}", *names]
        info.default, info.param_decls = ..., names
    info.help = info.help or meanings.get(parameter.name)
    info.rich_help_panel = panel
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info])
