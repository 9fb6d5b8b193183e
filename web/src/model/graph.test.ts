import { describe, expect, test } from "vitest";
import {
  checkedMessage,
  example,
  exampleTexts,
  graphWith,
  linePage,
  linePageChecked,
  ops,
} from "../testing/fixtures.ts";
import { apply, type PageDocument } from "./document.ts";
import { depths, type Graph, graphOf, reach, specOf } from "./graph.ts";

function inputs(graph: Graph, block: string): string[] {
  return (graph.blocks.get(block)?.inputs ?? []).map((pin) => `${pin.key} ${pin.state}`);
}

function outputs(graph: Graph, block: string): string[] {
  return (graph.blocks.get(block)?.outputs ?? []).map((pin) => pin.key);
}

describe("a block has", () => {
  test("pins that are wired, constant, open or missing", () => {
    const page: PageDocument = {
      blocks: { a: { op: "Conv3D", in: { input: "b:output" } }, b: { op: "Relu", in: { features: 1 } } },
    };
    expect(inputs(graphWith(page), "a")).toEqual(["input wired", "filter missing"]);
    expect(inputs(graphWith(page), "b")).toEqual(["features constant"]);
  });

  test("a row for each of a list and one for more", () => {
    const page: PageDocument = {
      blocks: { x: { op: "Const" }, all: { op: "ConcatV2", in: { values: ["x:output", "x"], axis: 0 } } },
    };
    expect(inputs(graphWith(page), "all")).toEqual([
      "values[0] wired",
      "values[1] wired",
      "values[2] open",
      "axis constant",
    ]);
    expect(inputs(graphWith({ blocks: { all: { op: "ConcatV2" } } }), "all")).toEqual([
      "values[0] missing",
      "axis missing",
    ]);
  });

  test("as many outputs as the server found, or as are wired", () => {
    const page: PageDocument = {
      blocks: { s: { op: "Split" }, r: { op: "Relu", in: { features: "s:output[1]" } } },
    };
    expect(outputs(graphWith({ blocks: { s: { op: "Split" } } }), "s")).toEqual(["output[0]"]);
    expect(outputs(graphWith(page), "s")).toEqual(["output[0]", "output[1]"]);
    const spec = { dtype: "float32", shape: [1] };
    const checked = checkedMessage({ "s:output[0]": spec, "s:output[1]": spec, "s:output[2]": spec });
    expect(outputs(graphWith(page, checked), "s")).toEqual(["output[0]", "output[1]", "output[2]"]);
  });

  test("a gradient for each of its xs", () => {
    expect(outputs(graphWith(linePage), "slope")).toEqual(["dx[0]", "dx[1]"]);
    expect(inputs(graphWith(linePage), "slope")).toEqual([
      "ys[0] wired",
      "ys[1] open",
      "xs[0] wired",
      "xs[1] wired",
      "xs[2] open",
      "grad_ys[0] open",
    ]);
  });

  test("the ports of the page that it stands for", () => {
    const page: PageDocument = {
      blocks: { part: { op: "page", in: { x: 1 }, attrs: { page: "p.page.json" } } },
    };
    const checked = checkedMessage(
      { "part:out": { dtype: "float32" }, "partner:z": { dtype: "int32" } },
      { inputs: { part: ["x", "initial"] } },
    );
    const graph = graphWith(page, checked);
    expect(inputs(graph, "part")).toEqual(["x constant", "initial missing"]);
    expect(outputs(graph, "part")).toEqual(["out"]);
  });

  test("what a variable starts from as a pin", () => {
    expect(inputs(graphWith(linePage), "w")).toEqual(["initial constant"]);
    expect(inputs(graphWith({ blocks: { v: { op: "VariableV2" } } }), "v")).toEqual(["initial missing"]);
  });

  test("rows for attributes that were set or must be, and the rest apart", () => {
    const page: PageDocument = { blocks: { pool: { op: "MaxPool3D", attrs: { padding: "SAME", odd: 1 } } } };
    const view = graphWith(page).blocks.get("pool");
    expect(view?.rows.map((row) => `${row.name} ${row.missing}`)).toEqual([
      "ksize true",
      "strides true",
      "padding false",
      "odd false",
    ]);
    expect(view?.rest.map((row) => row.name)).toEqual(["data_format", "explicit_paddings"]);
    expect(view?.rest[0]?.value).toBe("NDHWC");
  });

  test("all that the page says of it although its op is unknown", () => {
    const page: PageDocument = {
      blocks: {
        x: { op: "Const" },
        new: { op: "Future", in: { a: "x:output", many: ["x"] }, attrs: { k: 1 } },
      },
    };
    const view = graphWith(page).blocks.get("new");
    expect(view?.kind).toBe("unknown");
    expect(view?.inputs.map((pin) => pin.key)).toEqual(["a", "many[0]", "many[1]"]);
    expect(view?.rows.map((row) => row.name)).toEqual(["k"]);
  });
});

test("wires know both ends, order is a wire of its own, and wires from nowhere are left out", () => {
  const graph = graphWith({
    blocks: {
      x: { op: "Const" },
      a: { op: "Relu", in: { features: "x" }, after: ["x", "gone"] },
      b: { op: "Relu", in: { features: "gone:y" } },
    },
  });
  expect(graph.wires.map(({ id, source, order }) => [id, source, order])).toEqual([
    ["a:features", "x:output", false],
    ["a<x", "x", true],
  ]);
  expect(graph.blocks.get("b")?.inputs[0]?.state).toBe("wired");
});

test("the type of what flows is found at the wire's source", () => {
  const graph = graphWith(linePage, linePageChecked);
  expect(specOf(graph, graph.byId.get("learn_b:delta")?.source ?? "")).toEqual({
    dtype: "float32",
    shape: [1],
  });
});

test("blocks that did not change stay the same object", () => {
  const first = graphWith(linePage, linePageChecked);
  const { document } = apply(linePage, [{ path: ["blocks", "x", "about"], value: "points" }]);
  const second = graphOf(document, ops, linePageChecked, first);
  expect(second.blocks.get("y")).toBe(first.blocks.get("y"));
  expect(second.blocks.get("slope")).toBe(first.blocks.get("slope"));
  expect(second.blocks.get("x")).not.toBe(first.blocks.get("x"));
});

test("what a block needs and what needs it is found", () => {
  const graph = graphWith(linePage);
  expect([...reach(graph, ["guess"], "upstream")].sort()).toEqual(["b", "guess", "product", "w", "x"]);
  expect([...reach(graph, ["slope"], "downstream")].sort()).toEqual(["learn_b", "learn_w", "slope"]);
  expect(reach(graph, ["x"], "connected").size).toBe(11);
});

test("every block is deeper than all it needs, and a cycle does no harm", () => {
  const graph = graphWith(example("spheres_and_cubes"));
  const depth = depths(graph);
  for (const wire of graph.wires)
    expect(depth.get(wire.to.block)).toBeGreaterThan(depth.get(wire.from.block) as number);
  const cycle = graphWith({
    blocks: { a: { op: "Relu", in: { features: "b" } }, b: { op: "Relu", in: { features: "a" } } },
  });
  expect(depths(cycle).size).toBe(2);
});

test("every wire of every page that comes with backblocks is found", () => {
  for (const [name, text] of exampleTexts) {
    const graph = graphWith(example(name));
    const wired = [...graph.blocks.values()].flatMap((view) =>
      view.inputs.filter((pin) => pin.state === "wired"),
    );
    expect(graph.wires.filter((wire) => !wire.order)).toHaveLength(wired.length);
    const blocks = text.slice(text.indexOf('"blocks"'), text.search(/^ {2}\}/m));
    expect(wired, name).toHaveLength(blocks.match(/"[\w/.-]+:\w+(\[\d+\])?"/g)?.length ?? 0);
  }
});
