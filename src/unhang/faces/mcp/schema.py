"""Annotations → JSON schemas, and the check of a caller's arguments against them: as much of both as the tools need.

Models write numbers, lists and truth values as texts now and then. What can be meant only one way is taken as meant.
"""

from __future__ import annotations

import json
import sys
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from unhang.core.record import Record

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_CALLED = {"string": "a text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
_CALLED |= {"array": "a list", "object": "an object", "null": "null"}
_TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum"}
_NULL = {"type": "null"}


class Arg(Record):
    """What a model is told of an argument, and the bounds of its value."""

    description: str = ""
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    min_length: int | None = None


class Shown:
    """The base of what the tools answer: names in camelCase, and more fields than are named."""


class Mismatch(ValueError):
    """A value is not of the kind that its schema asks for; the text says which kind that is."""


def schema_of(annotation: Any) -> dict[str, Any]:
    """Return the JSON schema of an annotation."""
    if annotation is Any:
        return {}
    if annotation in _PLAIN:
        return {"type": _PLAIN[annotation]}
    if isinstance(annotation, type) and issubclass(annotation, Shown):
        return _schema_of_fields(annotation)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _bounded(schema_of(inner[0]), inner[1])
    if origin is Literal:
        return {"type": "string", "enum": list(inner)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(each) for each in inner]}
    if origin is list:
        return {"type": "array", "items": schema_of(inner[0])}
    assert origin is dict, annotation
    return {"type": "object", "additionalProperties": schema_of(inner[1]) or True}


def _schema_of_fields(shown: type[Shown]) -> dict[str, Any]:
    hints = get_type_hints(shown, include_extras=True)
    fields = {_camel(name): schema_of(hint) for name, hint in hints.items()}
    found = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": True}
    return found | ({"description": " ".join(shown.__doc__.split())} if shown.__doc__ else {})


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _bounded(schema: dict[str, Any], arg: Arg) -> dict[str, Any]:
    """A schema with the bounds of an argument where its number or its text is, and its description."""
    bounds = {key: getattr(arg, name) for name, key in _BOUNDS.items() if getattr(arg, name) is not None}
    length = {} if arg.min_length is None else {"minLength": arg.min_length}
    if "anyOf" in schema:
        schema = {"anyOf": [_with_bounds(each, bounds, length) for each in schema["anyOf"]]}
    else:
        schema = _with_bounds(schema, bounds, length)
    return schema | ({"description": arg.description} if arg.description else {})


def _with_bounds(schema: dict[str, Any], bounds: dict[str, Any], length: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    if kind in ("integer", "number"):
        return schema | bounds
    if kind == "string":
        return schema | length
    return schema | ({"minItems": length["minLength"]} if kind == "array" and length else {})


def without_null(schema: dict[str, Any], default: Any) -> dict[str, Any]:
    """Return the schema of an argument with a default, as a model pays for it: no "or null" for what may be omitted."""
    choices = [each for each in schema.get("anyOf", ()) if each != _NULL]
    if len(choices) == 1:
        schema = choices[0] | {key: value for key, value in schema.items() if key != "anyOf"}
    return schema if default is None else schema | {"default": default}


def accept_value(schema: dict[str, Any], value: Any) -> Any:
    """Return a value as its schema wants it. Raises Mismatch if it cannot be meant that way."""
    choices = schema.get("anyOf")
    if choices is None:
        return _taken(schema, value)
    told: list[Mismatch] = []
    for choice in sorted(choices, key=lambda each: each.get("type") == "string"):  # a list written as a text is a list
        try:
            return _taken(choice, value)
        except Mismatch as error:
            told += [] if choice == _NULL else [error]
    kinds = " or ".join(_CALLED[each["type"]] for each in choices)
    raise told[0] if len(told) == 1 else Mismatch(f"it must be {kinds}")


def _taken(schema: dict[str, Any], value: Any) -> Any:
    kind = schema.get("type")
    if kind is None:
        return value
    found = _of_kind(kind, value)
    if found is None and kind != "null":
        raise Mismatch(f"it must be {_CALLED[kind]}")
    if "enum" in schema and found not in schema["enum"]:
        raise Mismatch(f"it must be one of {', '.join(repr(each) for each in schema['enum'])}")
    if kind in ("integer", "number"):
        _check_bounds(schema, found)
    if kind in ("array", "string") and len(found) < schema.get("minItems", schema.get("minLength", 0)):
        raise Mismatch("it must not be empty")
    if kind == "array":
        return [_part(schema["items"], each) for each in found]
    if kind == "object" and schema.get("additionalProperties") is not True:
        return {key: _part(schema["additionalProperties"], each) for key, each in found.items()}
    return found


def _part(schema: dict[str, Any], value: Any) -> Any:
    try:
        return accept_value(schema, value)
    except Mismatch as error:
        raise Mismatch(f"each of its values {str(error).removeprefix('it ')}") from None


def _check_bounds(schema: dict[str, Any], value: float) -> None:
    if "minimum" in schema and value < schema["minimum"]:
        raise Mismatch(f"it must be {schema['minimum']} or more")
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        raise Mismatch(f"it must be more than {schema['exclusiveMinimum']}")
    if "maximum" in schema and value > schema["maximum"]:
        raise Mismatch(f"it must be {schema['maximum']} or less")


def _of_kind(kind: str, value: Any) -> Any:
    """The value as one of this kind; None if it is none."""
    if kind == "null":
        if value is not None:
            raise Mismatch("it must be null")
        return None
    if kind == "string":
        return value if isinstance(value, str) else None
    if kind == "boolean":
        if isinstance(value, str):
            return _TRUTHS.get(value.strip().lower())
        return bool(value) if isinstance(value, int) and value in (0, 1) else None
    if kind in ("array", "object"):
        wanted = list if kind == "array" else dict
        if isinstance(value, str):
            value = _parsed(value)
        return value if isinstance(value, wanted) else None
    return _number(kind, value)


def _number(kind: str, value: Any) -> int | float | None:
    if isinstance(value, str):
        value = _parsed(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if kind == "integer" and isinstance(value, int):
        return value
    if not abs(value) <= sys.float_info.max:
        return None
    if kind == "number":
        return value
    return int(value) if value == int(value) else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
