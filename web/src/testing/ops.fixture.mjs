// Updates ops.fixture.json, the ops that tests use, from the ops.json that tools/palette.py makes.
import { readFileSync, writeFileSync } from "node:fs";

const here = new URL("ops.fixture.json", import.meta.url);
const all = new URL("../../../src/backblocks/studio/static/ops.json", import.meta.url);
const names = new Set(JSON.parse(readFileSync(here, "utf8")).ops.map((op) => op.name));
const { version, ops } = JSON.parse(readFileSync(all, "utf8"));
const short = ops
  .filter((op) => names.has(op.name))
  .map((op) =>
    JSON.stringify({ ...op, differences: op.differences.slice(0, 1), cases: op.cases.slice(0, 1) }),
  );
writeFileSync(here, `{"version": ${JSON.stringify(version)}, "ops": [\n${short.join(",\n")}\n]}\n`);
