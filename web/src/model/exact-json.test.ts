import { expect, test } from "vitest";
import { exampleTexts } from "../testing/fixtures.ts";
import { apply, type Edit, type PageDocument } from "./document.ts";
import {
  isExact,
  parseExact,
  parseMessage,
  parseNumber,
  stringifyExact,
  unmarkNumbers,
} from "./exact-json.ts";

test("numbers that JavaScript would change are kept as they were written", () => {
  const text = '{"a":[1,1.0,-0.0,1e5,0.5,9007199254740993],"b":"1.0 \\"2.0\\""}';
  expect(stringifyExact(parseExact(text))).toBe(text);
  expect(parseExact(text)).toMatchObject({
    a: [1, { $number: "1.0" }, { $number: "-0.0" }, { $number: "1e5" }, 0.5, {}],
  });
});

test("marks stay at inputs without a type and nowhere else", () => {
  const block =
    '{"op":"A","in":{"x":1.0,"y":{"dtype":"float32","value":[1.0]},"l":[2.0]},"initial":3.0,"attrs":{"alpha":4.0}}';
  const document = unmarkNumbers(
    parseExact(`{"blocks":{"in":${block}},"run":{"feeds":{"p":5.0}},"layout":{"blocks":{"in":[6.0,7.0]}}}`),
    [],
  );
  expect(document).toEqual({
    blocks: {
      in: {
        op: "A",
        in: { x: { $number: "1.0" }, y: { dtype: "float32", value: [1] }, l: [{ $number: "2.0" }] },
        initial: { $number: "3.0" },
        attrs: { alpha: 4 },
      },
    },
    run: { feeds: { p: { $number: "5.0" } } },
    layout: { blocks: { in: [6, 7] } },
  });
});

test("whole numbers that are too long stay what they are", () => {
  const long = "9007199254740993";
  const text =
    `{"blocks":{"draw":{"op":"A","attrs":{"dtype":"float32","seed":${long}}},` +
    `"c":{"op":"Const","attrs":{"value":{"dtype":"int64","value":[${long},1]}}}}}`;
  expect(stringifyExact(unmarkNumbers(parseExact(text), []))).toBe(text);
  const places = unmarkNumbers(parseExact(`{"layout":{"blocks":{"c":[${long},1]}}}`), []);
  expect(places).toEqual({ layout: { blocks: { c: [2 ** 53, 1] } } });
  const reals = unmarkNumbers(parseExact(`{"dtype":"float32","value":[${long}]}`), [
    "blocks",
    "c",
    "in",
    "x",
  ]);
  expect(reals).toEqual({ dtype: "float32", value: [2 ** 53] });
});

test("an edit from the server keeps the float that it puts into an input", () => {
  const message = parseMessage(
    '{"kind":"changed","page":1,"revision":2.0,"edits":[{"path":["blocks","a","in","x"],"value":1.0},{"path":["blocks","a","attrs","x"],"value":1.0}]}',
  ) as unknown as { revision: number; edits: Edit[] };
  expect(message.revision).toBe(2);
  expect(message.edits.map(({ value }) => value)).toEqual([{ $number: "1.0" }, 1]);
  const page: PageDocument = { blocks: { a: { op: "A", in: {} } } };
  expect(stringifyExact(apply(page, message.edits.slice(0, 1)).document)).toBe(
    '{"blocks":{"a":{"op":"A","in":{"x":1.0}}}}',
  );
});

test("all other messages are plain JSON", () => {
  expect(parseMessage('{"kind":"run state","page":1,"state":"idle","seconds":1.0}')).toEqual({
    kind: "run state",
    page: 1,
    state: "idle",
    seconds: 1,
  });
});

test("the blocks of every page that comes with backblocks are written as they were read", () => {
  for (const text of exampleTexts.values()) {
    expect(stringifyExact(parseExact(text))).toBe(
      text.replaceAll(/"(?:[^"\\]|\\.)*"|\s+/g, (part) => (part.startsWith('"') ? part : "")),
    );
  }
});

test("a number that was typed with a point stays a float", () => {
  expect(parseNumber("2")).toBe(2);
  expect(parseNumber("0.1")).toBe(0.1);
  expect(isExact(parseNumber("2.0"))).toBe(true);
});
