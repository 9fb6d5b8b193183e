"""The published schema, held against every page there is and many that are made up."""

import json
from pathlib import Path

import jsonschema
import page_strategies
import pytest
from hypothesis import given

from backblocks.pages.schema import schema
from backblocks.pages.serialization import serialize

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = json.loads((ROOT / "docs/page.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(PUBLISHED)
PAGES = [*ROOT.glob("tests/pages/**/*.page.json"), *ROOT.glob("src/**/*.page.json")]


def test_the_schema_is_one_and_the_published_one():
    jsonschema.Draft202012Validator.check_schema(PUBLISHED)
    assert schema() == PUBLISHED, "run make generate"


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.name)
def test_every_page_is_as_the_schema_says(file):
    VALIDATOR.validate(json.loads(file.read_text()))


@page_strategies.unhurried
@given(page_strategies.pages())
def test_whatever_is_written_is_as_the_schema_says(page):
    VALIDATOR.validate(json.loads(serialize(page)))


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"format": 2},
        {"format": 1, "blocks": {"a": {}}},
        {"format": 1, "blocks": {"a": {"op": 5}}},
        {"format": 1, "blocks": {"a": {"op": "Relu", "in": {"features": "a:b:c"}}}},
        {"format": 1, "blocks": {"a": {"op": "Relu", "in": {"features": {"dtype": "float32"}}}}},
        {"format": 1, "layout": {"blocks": {"a": "left"}}},
    ],
)
def test_what_is_no_page_is_refused(wrong):
    assert not VALIDATOR.is_valid(wrong)
