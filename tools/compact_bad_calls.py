"""Writes tests/ops/bad_calls from a folder with advisories.json and mutations.json.

    python tools/compact_bad_calls.py FOLDER

The answers that TensorFlow gave are not in that folder; record_bad_calls.py adds them.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "ops"))

from bad_calls import facts


def main(folder: Path) -> None:
    calls: dict[str, list[facts.Call]] = {}
    for case in json.loads((folder / "mutations.json").read_text())["cases"]:
        call = facts.Call(case["op"], case["mutation"], case["args"], case["tensorflow"])
        calls.setdefault(call.op, []).append(call)
    for case in json.loads((folder / "advisories.json").read_text())["cases"]:
        about = {k: v for k, v in case.items() if k not in ("op", "args")}
        name = f"{case['id']} case {case['case']}"
        calls[case["op"]].append(facts.Call(case["op"], name, case["args"], advisory=about))
    for op, of_op in calls.items():
        facts.write(op, of_op)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
