"""How a function becomes a command of typer: its options, their help, and how it says what it
does."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer
from typer import Argument, Option
from typer.models import OptionInfo, ParameterInfo

from orchestrator.cli.common import defaults, forms


@dataclass(frozen=True)
class Telling:
    """What every command can be asked about how it tells what it does."""

    quiet: Annotated[bool, Option("--quiet", "-q")] = False
    verbose: Annotated[bool, Option("--verbose", "-v")] = False
    color: Literal["auto", "always", "never"] = "auto"
    output: Annotated[str, Option("--output", "-o")] = forms.TABLE


# ------------------------------------------------------------------ what --help says


def _help_lines(mark: str) -> dict[str, str]:
    """What help.txt says behind a mark, by what stands before it."""
    text = Path(__file__).with_name("help.txt").read_text(encoding="utf-8")
    lines: dict[str, str] = {}
    for line in text.splitlines():
        name, is_marked, words = line.partition(mark)
        if is_marked and not line.startswith("#"):
            lines[name] = words
    return lines


@cache
def help_texts() -> dict[str, str]:
    """What is said of options and arguments, by `name` or by `command.name`."""
    return _help_lines(": ")


@cache
def _panels() -> dict[str, list[str]]:
    """Panels of `--help`, in their order, with the fields that are in each."""
    return {panel: fields.split() for panel, fields in _help_lines(" = ").items()}


def _panel(field: str) -> str | None:
    for panel, fields in _panels().items():
        if field in fields:
            return panel
    return None


def _help(command: str, name: str) -> str | None:
    """What the option means in this command, which may be something else than in all others."""
    texts = help_texts()
    in_this_command = texts.get(f"{command}.{name}")
    return in_this_command or texts.get(name)


# ------------------------------------------------------------------ how a command is made


def takes(
    kind: type[Any] | None = None,
    shown_as: Sequence[str] = forms.TABLE_ALONE,
    **own_defaults: Any,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a function a command of typer. Its first parameter is the `App`, which the context
    holds.

    Each field of the dataclass `kind` is an option, and the function's parameter `options`
    is then one of that kind. `shown_as`: forms in which it can show what it found.
    `own_defaults`: where this command's own differ."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        # Hints are texts in a module with `from __future__ import annotations`.
        signature = inspect.signature(command, eval_str=True)
        taken = _taken(signature, command.__name__, kind, shown_as, own_defaults)

        def called(context: typer.Context, **values: Any) -> None:
            _begin_telling(context, taken.telling, values)
            arguments = _by_parameter(taken.of_function, values)
            if kind:
                arguments["options"] = kind(**_by_parameter(taken.of_kind, values))
            command(context.obj, **arguments)

        # typer reads of a function its name, its docstring, and its parameters twice.
        parameters = taken.in_order()
        called.__name__ = command.__name__
        called.__doc__ = command.__doc__
        called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {taken.name: taken.annotation for taken in parameters}
        return called

    return decorate


# Parameter of the function, or field of a record → what typer is given for it, which may have
# another name.
_ForTyper = dict[str, inspect.Parameter]


@dataclass(frozen=True)
class _Taken:
    """What a command takes."""

    of_function: _ForTyper
    of_kind: _ForTyper
    telling: _ForTyper

    def in_order(self) -> list[inspect.Parameter]:
        context = inspect.Parameter(
            "context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context
        )
        return [
            context,
            *self.of_function.values(),
            *self.of_kind.values(),
            *self.telling.values(),
        ]


def _taken(
    signature: inspect.Signature,
    command: str,
    kind: type[Any] | None,
    shown_as: Sequence[str],
    own_defaults: Mapping[str, Any],
) -> _Taken:
    _app, *parameters = signature.parameters.values()
    function_options: _ForTyper = {}
    for parameter in parameters:
        if parameter.name != "options":
            function_options[parameter.name] = _for_typer(parameter, command)
    record_options: _ForTyper = {}
    if kind:
        record_options = _options(kind, own_defaults, command)
    telling = _options(Telling, {}, command)
    if len(shown_as) > 1:
        telling["output"] = _among(telling["output"], shown_as)
    else:
        del telling["output"]
    return _Taken(function_options, record_options, telling)


def _options(
    kind: type[Any], own_defaults: Mapping[str, Any], command: str
) -> _ForTyper:
    """Field → option of the command, in the order of the panels."""
    parameters = inspect.signature(kind).parameters
    hints = get_type_hints(kind, include_extras=True)
    panels = [None, *_panels()]

    def place(name: str) -> int:
        return panels.index(_panel(name))

    options: _ForTyper = {}
    # rich shows panels in the order of their first options.
    for name in sorted(parameters, key=place):
        default = own_defaults.get(name, parameters[name].default)
        option = parameters[name].replace(annotation=hints[name], default=default)
        options[name] = _for_typer(option, command, _panel(name))
    return options


def _for_typer(
    parameter: inspect.Parameter, command: str, panel: str | None = None
) -> inspect.Parameter:
    """The parameter as Typer takes it: an argument if it has no default, else an option.

    The environment and `tierbench.yaml` use the option's name on the command line. A bool is a
    flag.
    """
    kind, declared = _declared(parameter)
    name = parameter.name
    if isinstance(declared, OptionInfo):
        declared.rich_help_panel = panel
        # Each option has a variable; named in each line they would fill the help.
        declared.show_envvar = False
        longs = _long_names(declared)
        if longs:
            name, *others = [defaults.name_of(long) for long in longs]
            # click's own prefix makes a variable of the first name alone.
            declared.envvar = [defaults.variable(other) for other in others]
        elif kind is bool:
            # Said so, it has no opposite `--no-…`.
            declared.default = f"--{_spelling(name)}"
    declared.help = declared.help or _help(command, _spelling(name))
    return parameter.replace(
        name=name,
        annotation=Annotated[kind, declared],
        kind=inspect.Parameter.KEYWORD_ONLY,
    )


def _among(option: inspect.Parameter, words: Sequence[str]) -> inspect.Parameter:
    """The option, which takes these words alone."""
    _, declared = _declared(option)
    choice: Any = Literal[tuple(words)]
    return option.replace(annotation=Annotated[choice, declared])


def _declared(parameter: inspect.Parameter) -> tuple[Any, ParameterInfo]:
    """The type of a parameter, and what `Annotated` declares of it, which the caller may change."""
    hint = parameter.annotation
    metadata = getattr(hint, "__metadata__", ())
    if metadata:
        # Several commands share one `Annotated`, and each has its own panel and help.
        return hint.__origin__, copy(metadata[0])
    if parameter.default is parameter.empty:
        return hint, Argument()
    return hint, Option()


def _long_names(option: OptionInfo) -> list[str]:
    """Each `--name` that is declared. Within `Annotated` typer has the first of all names where a
    default would be."""
    names = []
    for name in (option.default, *(option.param_decls or ())):
        if isinstance(name, str) and name.startswith("--"):
            names.append(name)
    return names


def _spelling(name: str) -> str:
    """The option as it is written on the command line."""
    return name.replace("_", "-")


def _begin_telling(
    context: typer.Context, telling: _ForTyper, values: Mapping[str, Any]
) -> None:
    """Lets the console tell as was asked, and says which options are a person's defaults where
    that matters."""
    app = context.obj
    app.speak(**_by_parameter(telling, values))
    app.defaults.extend(defaults.given(context))
    # A plan is not what its command line says alone.
    if values["verbose"] or values.get("dry_run"):
        for line in defaults.lines(app.defaults):
            app.progress.note(line)


def _by_parameter(taken: _ForTyper, values: Mapping[str, Any]) -> dict[str, Any]:
    """typer's values by the names of parameters or fields."""
    return {name: values[option.name] for name, option in taken.items()}
