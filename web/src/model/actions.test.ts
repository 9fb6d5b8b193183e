import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkedMessage, example, graphWith, linePage, linePageChecked, ops } from "../testing/fixtures.ts";
import { ALL_ACTIONS, randomAction } from "../testing/random-actions.ts";
import * as actions from "./actions.ts";
import { apply, localizedText, type PageDocument, parseReference } from "./document.ts";
import { blockRects } from "./geometry.ts";
import { graphOf } from "./graph.ts";
import type { OpInfo } from "./ops.ts";

function edited(document: PageDocument, action: actions.Action): PageDocument {
  return apply(document, action.edits).document;
}

function op(name: string): OpInfo {
  return ops.get(name) as OpInfo;
}

/** Everything that names a block or output which is not there, and what a page should not have. */
function faults(document: PageDocument): string[] {
  const found: string[] = [];
  const blocks = document.blocks ?? {};
  const known = (text: string, where: string): void => {
    const { block, pin, index } = parseReference(text);
    const of = blocks[block];
    if (!of) found.push(`${where} names ${text}`);
    if (of?.op === "gradients" && pin === "dx") {
      const xs = of.in?.xs;
      if (!Array.isArray(xs) || (index ?? 0) >= xs.length) found.push(`${where} has no ${text}`);
    }
  };
  for (const [name, block] of Object.entries(blocks)) {
    for (const [pin, value] of Object.entries(block.in ?? {})) {
      for (const each of Array.isArray(value) ? value : [value])
        if (typeof each === "string") known(each, `${name}:${pin}`);
    }
    if (typeof block.initial === "string") known(block.initial, name);
    for (const other of block.after ?? []) known(other, `${name} after`);
    for (const field of ["in", "attrs", "after"]) {
      const value = block[field];
      if (value && typeof value === "object" && !Object.keys(value).length)
        found.push(`${name}.${field} is empty`);
    }
  }
  for (const text of [...(document.run?.fetch ?? []), ...(document.run?.until ? [document.run.until] : [])])
    known(text, "run");
  for (const name of document.run?.targets ?? []) if (!name.includes("/")) known(name, "targets");
  for (const key of Object.keys(document.run?.feeds ?? {})) known(key, "feeds");
  for (const [name, { shows }] of Object.entries(document.monitors ?? {}))
    for (const shown of shows ?? []) known(shown.pin, name);
  for (const [name, frame] of Object.entries(document.frames ?? {}))
    for (const each of frame.blocks ?? []) known(each, name);
  for (const side of [document.ports?.inputs, document.ports?.outputs]) {
    for (const [name, port] of Object.entries(side ?? {})) known(port.pin, `port ${name}`);
  }
  for (const name of Object.keys(document.layout?.blocks ?? {})) known(name, "layout");
  for (const id of Object.keys(document.layout?.wires ?? {}))
    known(parseReference(id.replace("<", ":")).block, "bends");
  for (const section of ["frames", "notes", "monitors", "run", "layout", "ports"] as const) {
    if (document[section] && !Object.keys(document[section]).length) found.push(`${section} is empty`);
  }
  return found;
}

test("whatever is done, nothing names a block or an output that is not there, and nothing empty is left", () => {
  const done = new Set<string>();
  fc.assert(
    fc.property(
      fc.constantFrom(linePage, {}),
      fc.array(fc.nat(), { maxLength: 60, size: "max" }),
      (start, seeds) => {
        let graph = graphOf(start, ops, linePageChecked);
        for (const seed of seeds) {
          const { name, action } = randomAction(graph, seed);
          if (!action) continue;
          const document = edited(graph.document, action);
          expect(faults(document), name).toEqual([]);
          done.add(name);
          graph = graphOf(document, ops, linePageChecked, graph);
        }
      },
    ),
    { numRuns: 100 },
  );
  expect([...done].sort()).toEqual(Object.keys(ALL_ACTIONS).sort());
}, 60_000);

test("a wire that leads back to its own block can be moved away", () => {
  const start: PageDocument = {
    format: 1,
    blocks: {
      start: { op: "VariableV2" },
      slope: { op: "gradients", in: { ys: ["start:ref"], xs: ["slope:dx[0]"] } },
    },
  };
  const graph = graphOf(start, ops, linePageChecked);
  const back = graph.wires.find((wire) => wire.id === "slope:xs[0]");
  if (!back) throw new Error("no wire");
  const moved = actions.reconnect(start, back, { to: { block: "start", pin: "initial" } });
  expect(faults(edited(start, moved))).toEqual([]);
});

test("the page that all this starts from is sound", () => {
  expect(faults(linePage)).toEqual([]);
});

describe("adding", () => {
  test("a block gets a name of its own, a place on the grid and attributes that fit together", () => {
    const first = actions.addBlock({ format: 1, blocks: {} }, op("MaxPool3D"), { x: 13, y: -3 });
    const document = edited({ format: 1, blocks: {} }, first);
    expect(first.added).toEqual(["block/max_pool_3d"]);
    expect(document.blocks?.max_pool_3d?.attrs).toEqual({
      ksize: [1, 2, 2, 2, 1],
      strides: [1, 2, 2, 2, 1],
      padding: "VALID",
    });
    expect(document.layout?.blocks?.max_pool_3d).toEqual([16, 0]);
    expect(actions.addBlock(document, op("MaxPool3D"), { x: 0, y: 0 }).added).toEqual([
      "block/max_pool_3d_2",
    ]);
  });

  test("a block that is added from an output is wired at its best input", () => {
    const graph = graphWith(linePage, linePageChecked);
    const { edits } = actions.addConnected(
      graph,
      op("ApplyGradientDescent"),
      { x: 0, y: 0 },
      { from: { block: "slope", pin: "dx", index: 0 } },
    );
    const made = apply(linePage, edits).document.blocks?.apply_gradient_descent;
    expect(made?.in).toEqual({ delta: "slope:dx[0]" });
  });

  test("a block that is added before an input gives it its first output that fits", () => {
    const graph = graphWith(linePage, linePageChecked);
    const document = edited(
      linePage,
      actions.addConnected(graph, op("Const"), { x: 0, y: 0 }, { to: { block: "product", pin: "a" } }),
    );
    expect(document.blocks?.product?.in).toEqual({ a: "const:output", b: "w:ref" });
  });

  test("a block dropped into a wire stands between its ends", () => {
    const graph = graphWith(linePage, linePageChecked);
    const wire = graph.byId.get("guess:x");
    if (!wire) throw new Error("no wire");
    const document = edited(linePage, actions.insertOnWire(graph, wire, op("Relu"), { x: 0, y: 0 }));
    expect(document.blocks?.relu?.in).toEqual({ features: "product:product" });
    expect(document.blocks?.guess?.in).toEqual({ x: "relu:activations", y: "b:ref" });
    expect(document.layout?.wires).not.toHaveProperty("guess:x");
  });
});

describe("taking away", () => {
  test("a block goes with everything that named it", () => {
    const document = edited(linePage, actions.removeAll(graphWith(linePage), { blocks: ["w"] }));
    expect(document.blocks?.product?.in).toEqual({ a: "x:output" });
    expect(document.blocks?.slope?.in).toEqual({ ys: ["loss:output"], xs: ["b:ref"] });
    expect(document.run?.fetch).toEqual(["loss:output"]);
    expect(document.monitors?.curve?.shows).toEqual([{ pin: "loss:output" }]);
    expect(document.layout?.blocks).not.toHaveProperty("w");
  });

  test("gradients that come after one that went keep their meaning", () => {
    const document = edited(linePage, actions.removeAll(graphWith(linePage), { blocks: ["w"] }));
    expect(document.blocks?.learn_w?.in).toEqual({ alpha: 0.1 });
    expect(document.blocks?.learn_b?.in).toEqual({ var: "b:ref", alpha: 0.1, delta: "slope:dx[0]" });
    expect(document.layout?.wires).toEqual({ "guess:x": [[560, 80]], "slope:xs[0]": [[900, 500]] });
  });

  test("healing joins what flowed through a chain of blocks", () => {
    const document = edited(
      linePage,
      actions.removeAll(graphWith(linePage), { blocks: ["guess", "error"] }, true),
    );
    expect(document.blocks?.loss?.in).toEqual({ input: "product:product", axis: [0, 1] });
  });

  test("healing leaves a wire out where the type is another", () => {
    const page: PageDocument = {
      blocks: {
        x: { op: "Const", attrs: { value: { dtype: "float32", value: [1] } } },
        size: { op: "Shape", in: { input: "x:output" } },
        next: { op: "Relu", in: { features: "size:output" } },
      },
    };
    expect(edited(page, actions.removeAll(graphWith(page), { blocks: ["size"] }, true)).blocks?.next).toEqual(
      {
        op: "Relu",
      },
    );
  });
});

describe("renaming", () => {
  test("wires, order, run settings, monitors, frames, ports and bends follow, and the order of blocks stays", () => {
    const document = edited(linePage, actions.renameBlock(linePage, "loss", "cost"));
    expect(JSON.stringify(document).includes('"loss:')).toBe(false);
    expect(Object.keys(document.blocks ?? {})).toEqual(
      Object.keys(linePage.blocks ?? {}).map((name) => (name === "loss" ? "cost" : name)),
    );
    expect(document.frames?.forward?.blocks).toEqual(["product", "guess", "error", "cost"]);
    expect(document.run?.until).toBe("cost:output");
    expect(document.ports?.outputs?.loss?.pin).toBe("cost:output");
  });

  test("renaming and renaming back gives the page to the letter", () => {
    for (const page of [linePage, example("xor"), example("spheres_and_cubes")]) {
      for (const name of Object.keys(page.blocks ?? {})) {
        const there = edited(page, actions.renameBlock(page, name, "other_name"));
        expect(JSON.stringify(edited(there, actions.renameBlock(there, "other_name", name)))).toBe(
          JSON.stringify(page),
        );
      }
    }
  });

  test("a renamed page has the same wires between the same blocks", () => {
    const page = example("xor_gradients");
    const wires = (document: PageDocument): string[] =>
      graphWith(document).wires.map((wire) => `${wire.source} > ${wire.id}`);
    const renamed = edited(page, actions.renameBlock(page, "out", "answer"));
    expect(wires(renamed).map((text) => text.replaceAll("answer", "out"))).toEqual(wires(page));
  });
});

describe("gradients", () => {
  const volume = { dtype: "float32", shape: [1, 4, 4, 4, 1] };
  const start: PageDocument = {
    format: 1,
    blocks: {
      image: { op: "Const", attrs: { value: { dtype: "float32", value: [1] } } },
      pool: {
        op: "MaxPool3D",
        in: { input: "image:output" },
        attrs: { ksize: [1, 2, 2, 2, 1], strides: [1, 2, 2, 2, 1], padding: "SAME" },
      },
    },
  };
  const checked = checkedMessage({ "image:output": volume });

  function withGradient(document: PageDocument, block: string): PageDocument {
    const graph = graphWith(document, checked);
    const view = graph.blocks.get(block);
    const [gradient] = view ? actions.gradientsFor(view) : [];
    if (!gradient) throw new Error("no gradient");
    return edited(document, actions.addGradient(graph, block, gradient));
  }

  test("the gradient block of a max pool gets its three inputs and the attributes", () => {
    const document = withGradient(start, "pool");
    expect(document.blocks?.d_pool).toEqual({
      op: "MaxPool3DGrad",
      in: { orig_input: "image:output", orig_output: "pool:output", grad: "ones_pool:y" },
      attrs: start.blocks?.pool?.attrs,
    });
    expect(document.blocks?.ones_pool).toEqual({ op: "OnesLike", in: { x: "pool:output" } });
  });

  test("the second gradient is wired to the first one's inputs", () => {
    const document = withGradient(withGradient(start, "pool"), "d_pool");
    expect(document.blocks?.d2_pool).toEqual({
      op: "MaxPool3DGradGrad",
      in: { orig_input: "image:output", orig_output: "pool:output", grad: "ones_d_pool:y" },
      attrs: start.blocks?.pool?.attrs,
    });
    const places = [...blockRects(graphWith(document)).values()];
    expect(new Set(places.map(({ x, y }) => `${x} ${y}`)).size).toBe(places.length);
  });

  test("a gradient that wants a shape gets a block for it", () => {
    const average = {
      ...start,
      blocks: { ...start.blocks, pool: { ...start.blocks?.pool, op: "AvgPool3D" } },
    };
    const document = withGradient(average, "pool");
    expect(document.blocks?.d_pool?.in).toEqual({
      orig_input_shape: "shape_pool_input:output",
      grad: "ones_pool:y",
    });
    expect(document.blocks?.shape_pool_input).toEqual({ op: "Shape", in: { input: "image:output" } });
  });

  test("can be taken with respect to what a block depends on, and to nothing else", () => {
    const found = actions.differentiable(graphWith(linePage), [{ block: "product" }]);
    expect(found.map(({ ref }) => ref.block).sort()).toEqual(["w", "x"]);
  });

  test("gradients of one output with respect to others are one block", () => {
    const document = edited(
      linePage,
      actions.addGradients(
        graphWith(linePage),
        [{ block: "loss" }],
        [{ block: "w" }, { block: "x", pin: "output" }],
      ),
    );
    expect(document.blocks?.gradients).toEqual({
      op: "gradients",
      in: { ys: ["loss:output"], xs: ["w:ref", "x:output"] },
    });
  });
});

describe("pages as blocks", () => {
  test("a selection becomes a page with ports for all that goes in and comes out", () => {
    const { part, action, block } = actions.extract(
      graphWith(linePage, linePageChecked),
      ["product", "guess"],
      "parts/guess.page.json",
    );
    expect(block).toBe("guess_2");
    expect(Object.keys(part.ports?.inputs ?? {})).toEqual(["a", "b", "y"]);
    expect(part.ports?.inputs?.a).toEqual({ pin: "a:output", dtype: "float32", shape: [3, 1] });
    expect(part.ports?.outputs).toEqual({ guess: { pin: "guess:z", dtype: "float32", shape: [3, 1] } });
    expect(part.blocks?.product?.in).toEqual({ a: "a:output", b: "b:output" });
    expect(part.blocks?.guess?.in).toEqual({ x: "product:product", y: "y:output" });
    expect(faults(part)).toEqual([]);
    const document = edited(linePage, action);
    expect(document.blocks?.[block]).toEqual({
      op: "page",
      in: { a: "x:output", b: "w:ref", y: "b:ref" },
      attrs: { page: "parts/guess.page.json" },
    });
    expect(document.blocks?.error?.in).toEqual({ x: "guess_2:guess", y: "y:output" });
    expect(faults(document)).toEqual([]);
  });

  test("what run settings and monitors show of a part becomes an output, and targets are found inside", () => {
    const { part, action } = actions.extract(
      graphWith(linePage, linePageChecked),
      ["loss", "learn_w"],
      "end.page.json",
    );
    expect(Object.keys(part.ports?.outputs ?? {})).toContain("loss");
    const document = edited(linePage, action);
    expect(document.run).toEqual({
      fetch: ["end:loss", "w:ref"],
      targets: ["end/learn_w", "learn_b"],
      steps: 500,
      until: "end:loss",
    });
    expect(document.blocks?.learn_b?.after).toEqual(["end"]);
  });
});

describe("arranging", () => {
  const places = blockRects(graphWith(linePage));

  test("aligning moves each block to the common edge and distributing makes gaps alike", () => {
    const items = (["x", "w", "guess"] as const).map((name) => actions.item("block", name));
    const rects = actions.rectsOf(linePage, items, places);
    const left = edited(linePage, actions.align(linePage, rects, "left"));
    expect(items.map((each) => left.layout?.blocks?.[each.slice(6)]?.[0])).toEqual([0, 0, 0]);
    const spread = edited(
      linePage,
      actions.distribute(
        linePage,
        actions.rectsOf(linePage, ["block/x", "block/product", "block/guess"], places),
        "x",
      ),
    );
    expect(["x", "product", "guess"].map((name) => spread.layout?.blocks?.[name]?.[0])).toEqual([
      0, 320, 640,
    ]);
  });

  test("a frame takes its blocks along", () => {
    const document = edited(linePage, actions.moveBy(linePage, ["frame/forward"], places, { x: 80, y: 8 }));
    expect(document.layout?.blocks?.product).toEqual([400, 8]);
    expect(document.layout?.blocks?.x).toEqual([0, 0]);
  });
});

test("a constant becomes a block left of where it was, and is wired", () => {
  const page: PageDocument = {
    format: 1,
    blocks: { sum: { op: "AddV2", in: { x: 1, y: { dtype: "float32", value: 2 } } } },
    layout: { blocks: { sum: [400, 80] } },
  };
  const document = edited(page, actions.constantToBlock(graphWith(page), { block: "sum", pin: "y" }));
  expect(document.blocks?.sum?.in).toEqual({ x: 1, y: "sum_y:output" });
  expect(document.blocks?.sum_y?.attrs).toEqual({ value: { dtype: "float32", value: 2 } });
  expect(document.layout?.blocks?.sum_y).toEqual([88, 80]);
});

test("an output becomes a pin of the page with its type, a placeholder one that it takes, and is none again", () => {
  const graph = graphOf(linePage, ops, linePageChecked);
  const guess = { block: "guess", pin: "z" };
  const given = edited(linePage, actions.togglePort(graph, guess));
  expect(given.ports?.outputs?.guess).toEqual({ pin: "guess:z", dtype: "float32", shape: [3, 1] });
  const after = graphOf(given, ops, linePageChecked);
  expect(edited(given, actions.togglePort(after, guess)).ports?.outputs?.guess).toBeUndefined();
  const page: PageDocument = { format: 1, blocks: { fed: { op: "Placeholder", attrs: { dtype: "int32" } } } };
  const taken = edited(page, actions.togglePort(graphWith(page), { block: "fed" }));
  expect(Object.keys(taken.ports?.inputs ?? {})).toEqual(["fed"]);
});

test("an order of blocks is changed by moving one before another", () => {
  const document = edited(linePage, actions.setOrder(linePage, "learn_b", "x"));
  expect(Object.keys(document.blocks ?? {}).slice(0, 2)).toEqual(["learn_b", "x"]);
});

test("new fields come where a page's file has them", () => {
  const page: PageDocument = {
    format: 1,
    blocks: { x: { op: "Const", attrs: { value: 1 } } },
    layout: { blocks: { x: [0, 0] } },
  };
  const titled = edited(
    edited(page, actions.setTitle(page, "title", "T")),
    actions.setAbout(page, "x", "why"),
  );
  expect(Object.keys(titled)).toEqual(["format", "title", "blocks", "layout"]);
  expect(Object.keys(titled.blocks?.x ?? {})).toEqual(["op", "about", "attrs"]);
});

test("setting what is already there is no edit", () => {
  const value = { dtype: "float32", value: [[1], [2], [3]] };
  expect(actions.setAttr(graphOf(linePage, ops), "x", "value", value).edits).toEqual([]);
});

test("a note is written in the reader's language where it has a text in it, and plainly where not", () => {
  const page: PageDocument = { notes: { a: { text: "one", texts: { ko: "하나" } }, b: { text: "two" } } };
  const text = (document: PageDocument, name: string, language: string): string =>
    localizedText(language, document.notes?.[name]?.text, document.notes?.[name]?.texts);
  expect([text(page, "a", "ko"), text(page, "a", "en"), text(page, "b", "ko")]).toEqual([
    "하나",
    "one",
    "two",
  ]);
  const korean = edited(page, actions.setNote(page, "a", "일", "ko"));
  expect([text(korean, "a", "ko"), text(korean, "a", "en")]).toEqual(["일", "one"]);
  const plain = edited(page, actions.setNote(page, "b", "2", "ko"));
  expect([text(plain, "b", "ko"), plain.notes?.b?.texts]).toEqual(["2", undefined]);
});
