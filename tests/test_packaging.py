"""What is handed out: a wheel with the front end, locked packages, a bill of materials."""

import json
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("missing", ["index.html", "ops.json", ""])
def test_a_wheel_is_built_with_the_front_end_or_not_at_all(tmp_path, missing):
    shutil.copy(ROOT / "CMakeLists.txt", tmp_path)
    static = tmp_path / "src/backblocks/studio/static"
    static.mkdir(parents=True)
    for name in {"index.html", "ops.json"} - {missing}:
        (static / name).touch()
    cmake = shutil.which("cmake", path=Path(sys.executable).parent) or shutil.which("cmake")
    if cmake is None:
        pytest.skip("only the development environment has CMake for sure")
    command = [cmake, "-S", tmp_path, "-B", tmp_path / "build", "-DSKBUILD_STATE=wheel"]
    # No compiler: what must fail fails before one is looked for.
    command.append("-DCMAKE_CXX_COMPILER=/nowhere/c++")
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr  # noqa: S603
    assert ("front end is not built. Run: make web" in " ".join(said.split())) == bool(missing)


def locked(requirement: str, lock: str = LOCK) -> bool:
    name = re.match(r"[\w.-]+", requirement)[0]
    return re.search(rf"^{re.sub('[-_]', '[-_]', name)}==.*\\\n.*--hash=", lock, re.M) is not None


def test_the_development_environment_is_locked_with_hashes():
    wanted = [
        *PROJECT["build-system"]["requires"],
        *PROJECT["project"]["dependencies"],
        *(each for extra in PROJECT["project"]["optional-dependencies"].values() for each in extra),
        *(each for group in PROJECT["dependency-groups"].values() for each in group),
    ]
    wanted = [each for each in wanted if isinstance(each, str)]  # the others name groups
    assert not [each for each in wanted if not locked(each)], "run make lock"
    assert not locked("torch")


def test_building_and_running_has_the_versions_of_the_development_environment():
    def versions(lock: str) -> set[str]:
        return set(re.findall(r"^[\w.-]+==[\w.]+", lock, re.M))

    run = (ROOT / "requirements-run.txt").read_text(encoding="utf-8")
    assert versions(run) < versions(LOCK), "run make lock"
    wanted = [
        *PROJECT["build-system"]["requires"],
        *PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"]["studio"],
        *PROJECT["dependency-groups"]["build"],
    ]
    assert not [each for each in wanted if not locked(each, run)], "run make lock"


def test_every_runtime_dependency_has_a_lowest_version():
    tool = runpy.run_path(str(ROOT / "tools/lowest_versions.py"))
    assert tool["lowest"](["numpy>=2.1.2", "ml_dtypes>=0.5,!=0.5.2"]) == [
        "numpy==2.1.2",
        "ml_dtypes==0.5",
    ]
    tool["lowest"](PROJECT["project"]["dependencies"])
    with pytest.raises(SystemExit, match="no lower bound"):
        tool["lowest"](["numpy"])


def test_the_bill_of_materials_is_valid_and_lists_what_is_inside(tmp_path):
    pytest.importorskip("cyclonedx", reason="only the development environment has it")
    tool, wheel = ROOT / "tools/sbom.py", tmp_path / "backblocks-1.whl"
    command = [sys.executable, "-W", "error", tool, wheel]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    bill = json.loads((tmp_path / "backblocks-1.cdx.json").read_text(encoding="utf-8"))
    assert len({part["purl"] for part in bill["components"]}) == len(bill["components"])
    found = {part["purl"].rpartition("@")[0]: part for part in bill["components"]}
    assert bill["metadata"]["component"]["purl"].startswith("pkg:pypi/backblocks@")
    assert found["pkg:pypi/numpy"]["scope"] == "required"
    assert found["pkg:pypi/h11"]["scope"] == "optional"  # uvicorn's, and so the studio's
    assert found["pkg:npm/react"]["hashes"]
    assert found["pkg:npm/dompurify"]["licenses"] == [{"expression": "(MPL-2.0 OR Apache-2.0)"}]
    assert "pkg:npm/vite" not in found
