"""A small part of JSON Schema: what a request must look like, as data. The OpenAPI description shows the same data.

So the description cannot differ from what the server accepts. Known words: type, properties, required,
additionalProperties, items, minItems, maxItems, minLength, maxLength, minimum, maximum, exclusiveMinimum, oneOf, enum.
"""

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]
_TYPES: dict[type, tuple[str, ...]] = {
    dict: ("object",),
    list: ("array",),
    str: ("string",),
    int: ("integer", "number"),
    float: ("number",),
    bool: ("boolean",),
    type(None): ("null",),
}
_NAMES = {"object": "an object", "array": "a list", "string": "a string", "number": "a number"} | {
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}


class SchemaError(ValueError):
    """A value does not match its schema; the message says where and why."""


def check(value: Any, schema: Schema, where: str = "the request") -> None:
    """Raise SchemaError at the first place where a value of JSON does not match the schema."""
    if "oneOf" in schema:
        _check_alternatives(value, schema["oneOf"], where)
    if "enum" in schema and value not in schema["enum"]:
        raise SchemaError(f"{where} must be one of {', '.join(map(str, schema['enum']))}")
    types = schema.get("type")
    if types is None:
        return
    if types not in _TYPES[type(value)]:  # requests are many, and most schemas name one type
        types = [types] if isinstance(types, str) else types
        if not any(_is(value, name) for name in types):
            raise SchemaError(f"{where} must be {' or '.join(_NAMES[name] for name in types)}")
    checked = _CHECKS.get(type(value))
    if checked is not None:
        checked(value, schema, where)


def _is(value: Any, name: str) -> bool:
    if name == "integer" and isinstance(value, float):  # JSON does not tell 1.0 from 1
        return value.is_integer()
    return name in _TYPES[type(value)]


def _check_alternatives(value: Any, schemas: list[Schema], where: str) -> None:
    """Exactly one must match; where none does, the error of the one that fits best by its type."""
    fitting = [one for one in schemas if isinstance(value, dict) and all(n in value for n in one.get("required", ()))]
    if len(fitting) == 1:  # the others lack something
        check(value, fitting[0], where)
        return
    if isinstance(value, dict) and not fitting:
        raise SchemaError(f"{where} must have {' or '.join(', '.join(one['required']) for one in schemas)}")
    errors, matches = [], 0
    for schema in schemas:
        try:
            check(value, schema, where)
            matches += 1
        except SchemaError as error:
            errors.append(error)
    if matches > 1:
        names = " and ".join(", ".join(schema.get("required", ())) for schema in schemas)
        raise SchemaError(f"{where} must have only one of {names}")
    if not matches:
        raise max(errors, key=lambda error: len(str(error).split(" must ")[0]))


def _check_object(value: dict[str, Any], schema: Schema, where: str) -> None:
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name in schema.get("required", ()):
        if name not in value:
            raise SchemaError(f"{where} must have {name!r}")
    for name, item in value.items():
        place = f"{where}: {name}" if len(name) < 40 else f"{where}: a field"
        if name in properties:
            check(item, properties[name], place)
        elif others is False:
            raise SchemaError(f"{where} must have no field {name[:40]!r}; known: {', '.join(properties)}")
        elif others is not True:
            check(item, others, place)


def _check_list(value: list[Any], schema: Schema, where: str) -> None:
    _check_size(len(value), schema.get("minItems"), schema.get("maxItems"), where, "items")
    for number, item in enumerate(value if "items" in schema else ()):
        check(item, schema["items"], f"{where}, item {number}")


def _check_text(value: str, schema: Schema, where: str) -> None:
    _check_size(len(value), schema.get("minLength"), schema.get("maxLength"), where, "characters")


def _check_size(size: int, least: int | None, most: int | None, where: str, of: str) -> None:
    if least is not None and size < least:
        raise SchemaError(f"{where} must have at least {least:,} {of}")
    if most is not None and size > most:
        raise SchemaError(f"{where} must have at most {most:,} {of}")


def _check_number(value: float, schema: Schema, where: str) -> None:
    if value < schema.get("minimum", value):
        raise SchemaError(f"{where} must be at least {schema['minimum']}")
    if value > schema.get("maximum", value):
        raise SchemaError(f"{where} must be at most {schema['maximum']}")
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        raise SchemaError(f"{where} must be above {schema['exclusiveMinimum']}")


_CHECKS: dict[type, Any] = {
    dict: _check_object,
    list: _check_list,
    str: _check_text,
    int: _check_number,
    float: _check_number,
}
