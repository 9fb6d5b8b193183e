"""The JSON Schema of pages, for editors and for programs that are not ours."""

from __future__ import annotations

from backblocks.pages.constants import TYPES
from backblocks.pages.dataclass_json import Json, json_schema
from backblocks.pages.model import FORMAT, PageFile

_ELEMENT = {"type": ["number", "boolean", "string", "object", "array"]}
_CONSTANT: Json = {
    "description": "A constant. Without a dtype it takes that of the inputs beside it.",
    "anyOf": [
        {"type": ["number", "boolean"]},
        {"type": "array", "items": {"$ref": "#/$defs/Constant"}},
        {
            "type": "object",
            "properties": {
                "dtype": {"enum": list(TYPES)},
                "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}},
                "value": {
                    **_ELEMENT,
                    "description": "Nested lists. Elements that JSON has no number for are strings: "
                    "inf, -inf, nan, 1-2j, integers beyond 2^53. Bytes that are no UTF-8 are in base64.",
                },
                "file": {"type": "string", "description": "An npy file below the page's folder."},
            },
            "required": ["dtype"],
            "oneOf": [{"required": ["value"]}, {"required": ["file"]}],
        },
    ],
}


def schema() -> Json:
    """The schema of a page of the current format version. Unknown fields are allowed, and kept."""
    definitions: dict[str, Json] = {"Constant": _CONSTANT}
    page = json_schema(PageFile, definitions)
    page["properties"]["format"] |= {"const": FORMAT}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A page of backblocks",
        **page,
        "required": ["format"],
        "$defs": definitions,
    }
