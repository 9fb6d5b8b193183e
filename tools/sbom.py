"""Writes the software bill of materials of a wheel beside it, in CycloneDX's JSON.

    python tools/sbom.py dist/backblocks-0.1.0-cp311-abi3-linux_x86_64.whl

It lists the packages of which code is inside the wheel (npm's in the studio's front end, nanobind in the
compiled module) and the Python packages that pip installs with it, in the versions of this environment.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
COMPILED_IN = ("nanobind",)
"""Python packages of which code is inside the compiled module."""

_license = LicenseFactory().make_from_string


def bill_of(package: str, extra: str) -> Bom:
    """A package with what is inside it and what it needs, `extra` included."""
    bom = Bom()
    bom.metadata.component = root = _from_pypi(package)
    needed = dict(_needed(package, ("", extra)))
    parts = [
        *(_from_pypi(name) for name in COMPILED_IN),
        *(_from_pypi(name, scope) for name, scope in needed.items()),
        *_from_npm(json.loads((ROOT / "web/package-lock.json").read_text(encoding="utf-8"))),
    ]
    bom.components.update(parts)
    bom.register_dependency(root, parts)
    return bom


def _needed(package: str, extras: tuple[str, ...]) -> Iterator[tuple[str, ComponentScope]]:
    """The packages that pip installs with a package, those of an extra as optional."""
    for line in metadata.requires(package) or ():
        requirement = Requirement(line)
        marker = requirement.marker
        matching = [e for e in extras if marker is None or marker.evaluate({"extra": e})]
        if matching:
            scope = ComponentScope.REQUIRED if "" in matching else ComponentScope.OPTIONAL
            yield canonicalize_name(requirement.name), scope
            for name, _ in _needed(requirement.name, ("", *requirement.extras)):
                yield name, scope


def _from_pypi(name: str, scope: ComponentScope | None = None) -> Component:
    facts = metadata.metadata(name)
    expression = facts.get("License-Expression") or facts.get("License")
    return Component(
        name=name,
        version=facts["Version"],
        type=ComponentType.LIBRARY,
        purl=PackageURL("pypi", name=name, version=facts["Version"]),
        bom_ref=f"pypi/{name}",
        scope=scope,
        licenses=[_license(expression)] if expression and "\n" not in expression else [],
    )


def _from_npm(lock: dict[str, dict[str, dict[str, str]]]) -> Iterator[Component]:
    """The packages that the front end is bundled from; those with types only leave nothing in it."""
    for path, facts in lock["packages"].items():
        scoped = path.rpartition("node_modules/")[2]
        if not path or facts.get("dev") or scoped.startswith("@types/"):
            continue
        space, _, name = scoped.rpartition("/")
        algorithm, _, digest = facts["integrity"].partition("-")
        yield Component(
            name=name,
            group=space or None,
            version=facts["version"],
            type=ComponentType.LIBRARY,
            purl=PackageURL("npm", space or None, name, facts["version"]),
            bom_ref=f"npm/{path}",
            hashes=[
                HashType(
                    alg=HashAlgorithm(f"SHA-{algorithm.removeprefix('sha')}"),
                    content=base64.b64decode(digest).hex(),
                )
            ],
            licenses=[_license(facts["license"])],
        )


def main() -> None:
    wheel = Path(sys.argv[1])
    text = JsonV1Dot6(bill_of("backblocks", extra="studio")).output_as_string(indent=1)
    if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"the bill of materials is not valid: {wrong}")
    target = wheel.with_name(f"{wheel.stem}.cdx.json")
    target.write_text(text + "\n", encoding="utf-8")
    print(target)


if __name__ == "__main__":
    main()
