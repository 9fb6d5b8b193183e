/** The op registry in the browser, from `ops.json`, so that a page can be drawn before anything runs. */

import { DIFFERENTIABLE_DTYPES, GRADIENTS, type OpInfo, PAGE, type PinInfo } from "./generated.ts";

export {
  ALL_DTYPES,
  type AttrInfo,
  type Count,
  DIFFERENTIABLE_DTYPES,
  type DifferenceInfo,
  GRADIENTS,
  type GradientInfo,
  ML_DTYPES,
  type OpInfo,
  PAGE,
  type PinInfo,
} from "./generated.ts";

export const CONST = "Const";
export const VARIABLE = "VariableV2";
export const PLACEHOLDER = "Placeholder";

const NO_OP = {
  group: PAGE,
  group_title: "Pages and gradients",
  formula: "",
  attrs: [],
  stateful: false,
  files: "",
  writes: [],
  holds: false,
  fed: false,
  differences: [],
  cases: [],
  gradient: "",
  gradients: [],
};

/** Descriptions of the two kinds of block that are not ops. */
const SPECIAL: readonly OpInfo[] = [
  {
    ...NO_OP,
    name: GRADIENTS,
    summary: "How much the ys change when the xs change a little.",
    documentation:
      "Adds, when the page runs, the blocks that compute the gradient of the sum of `ys` with respect to each of `xs`. `grad_ys` weighs the ys.",
    inputs: [
      { name: "ys", count: "mixed list", type: "ys", dtypes: DIFFERENTIABLE_DTYPES, ranks: null },
      { name: "xs", count: "mixed list", type: "xs", dtypes: DIFFERENTIABLE_DTYPES, ranks: null },
      { name: "grad_ys", count: "mixed list", type: "ys", dtypes: DIFFERENTIABLE_DTYPES, ranks: null },
    ],
    outputs: [{ name: "dx", count: "mixed list", type: "xs", dtypes: DIFFERENTIABLE_DTYPES, ranks: null }],
    aliases: ["gradient", "derivative", "backward", "autodiff", "backpropagation"],
  },
  {
    ...NO_OP,
    name: PAGE,
    summary: "Another page, used as a block.",
    documentation: "Its pins are the ports of that page. Each use has variables of its own.",
    inputs: [],
    outputs: [],
    attrs: [
      {
        name: "page",
        kind: "page",
        options: [],
        required: true,
        about: "The file of the page, from this page's folder.",
      },
    ],
    aliases: ["subgraph", "function", "component", "part", "layer"],
  },
];

/** Whether an input is optional. */
export function isOptional(op: string, pin: PinInfo): boolean {
  return pin.count === "optional" || (op === GRADIENTS && pin.name === "grad_ys");
}

export function isList(pin: PinInfo): boolean {
  return pin.count === "list" || pin.count === "mixed list";
}

export class Ops {
  readonly all: readonly OpInfo[];
  private readonly byName: ReadonlyMap<string, OpInfo>;

  constructor(registry: readonly OpInfo[]) {
    this.all = [...registry, ...SPECIAL];
    this.byName = new Map(this.all.map((op) => [op.name, op]));
  }

  get(name: string): OpInfo | undefined {
    return this.byName.get(name);
  }

  /** Every group with its ops, by name. */
  groups(): Map<string, OpInfo[]> {
    const groups = new Map<string, OpInfo[]>();
    for (const op of [...this.all].sort(
      (a, b) => a.group.localeCompare(b.group) || a.name.localeCompare(b.name),
    )) {
      const group = groups.get(op.group);
      if (group) group.push(op);
      else groups.set(op.group, [op]);
    }
    return groups;
  }
}

/** The snake_case name of an op: MaxPool3DGrad is max_pool_3d_grad. */
export function snakeName(op: string): string {
  return op
    .replace(/\d[Dd](?=[A-Z]|$)|V\d$/g, (found) => `_${found.toLowerCase()}_`)
    .replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, "_")
    .replace(/_+/g, "_")
    .replace(/^_|_$/g, "")
    .toLowerCase();
}
