"""Annotations become schemas, and arguments are taken as they can only be meant."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest

from unhang.faces.mcp.schema import Arg, Mismatch, Shown, accept_value, schema_of, without_null

COUNT = Annotated[int | None, Arg(description="how many", ge=1, le=500)]
NAMES = Annotated[str | list[str], Arg(description="names")]


class Answer(Shown):
    """An answer."""

    job_id: str
    exit_code: int | None


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (
            COUNT,
            {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 500}, {"type": "null"}], "description": "how many"},
        ),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (dict[str, str], {"type": "object", "additionalProperties": {"type": "string"}}),
        (dict[str, Any], {"type": "object", "additionalProperties": True}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Annotated[str, Arg(min_length=1)], {"type": "string", "minLength": 1}),
        (Annotated[list[str], Arg(min_length=1)], {"type": "array", "items": {"type": "string"}, "minItems": 1}),
    ],
)
def test_an_annotation_has_one_schema(annotation: Any, schema: dict[str, Any]) -> None:
    assert schema_of(annotation) == schema


def test_a_class_of_answers_names_its_fields_in_camel_case_and_allows_more() -> None:
    found = schema_of(Answer)
    assert list(found["properties"]) == found["required"] == ["jobId", "exitCode"]
    assert found["additionalProperties"] is True


def test_what_may_be_left_out_is_not_described_as_null() -> None:
    assert without_null(schema_of(COUNT), None) == {
        "type": "integer",
        "minimum": 1,
        "maximum": 500,
        "description": "how many",
    }
    assert without_null(schema_of(bool), False) == {"type": "boolean", "default": False}


@pytest.mark.parametrize(
    ("annotation", "given", "found"),
    [
        (COUNT, "5", 5),
        (COUNT, 5.0, 5),
        (COUNT, None, None),
        (int, 10**400, 10**400),
        (float, "2.5", 2.5),
        (float, 3, 3),
        (bool, "true", True),
        (bool, "No", False),
        (bool, 1, True),
        (list[str], '["ls", "-l"]', ["ls", "-l"]),
        (dict[str, str], '{"A": "1"}', {"A": "1"}),
        (NAMES, '["a", "b"]', ["a", "b"]),
        (NAMES, "a", "a"),
        (NAMES, "5", "5"),
        (str, '{"stays": "a text"}', '{"stays": "a text"}'),
        (str, "", ""),
    ],
)
def test_a_value_is_taken_as_it_can_only_be_meant(annotation: Any, given: Any, found: Any) -> None:
    taken_as = accept_value(schema_of(annotation), given)
    assert (taken_as, type(taken_as)) == (found, type(found))


@pytest.mark.parametrize(
    ("annotation", "given"),
    [
        (COUNT, 0),
        (COUNT, 501),
        (COUNT, 5.5),
        (COUNT, True),
        (COUNT, "x"),
        (COUNT, []),
        (Annotated[float, Arg(gt=0)], 0),
        (float, "NaN"),
        (float, float("inf")),
        (float, "9" * 5000),
        (float, 10**400),
        (str, 5),
        (str, None),
        (bool, "perhaps"),
        (bool, None),
        (bool, 2),
        (list[str], ["a", 3]),
        (list[str], "no list"),
        (list[str], "[" * 5000),
        (dict[str, str], {"A": 1}),
        (dict[str, str], '["a"]'),
        (NAMES, 5),
        (NAMES, ["a", None]),
        (Literal["stdout", "stderr"], "both"),
        (Annotated[str, Arg(min_length=1)], ""),
        (Annotated[list[str], Arg(min_length=1)], []),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_in_one_line(annotation: Any, given: Any) -> None:
    with pytest.raises(Mismatch) as refused:
        accept_value(schema_of(annotation), given)
    assert len(str(refused.value).splitlines()) == 1
