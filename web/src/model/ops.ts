/** What is known of every op: `ops.json`, made from the registry, so that a page can be drawn before anything runs. */

import type { Json, PageDocument } from "./document.ts";

export type Count = "one" | "optional" | "list" | "mixed list";

export interface PinInfo {
  readonly name: string;
  readonly count: Count;
  /** A type variable, which is the same type at every pin that has it, or the one type that it takes. */
  readonly type: string;
  /** Every type that it may have. */
  readonly dtypes: readonly string[];
  /** Every number of axes that it may have; null if any. */
  readonly ranks: readonly number[] | null;
  /** The letters of its axes, such as DHWIO; "data_format" if that attribute has them. */
  readonly axes?: string;
  readonly about?: string;
}

export interface AttrInfo {
  readonly name: string;
  /** Picks the widget. */
  readonly kind: string;
  readonly options: readonly string[];
  readonly default?: Json;
  readonly required: boolean;
  readonly about: string;
}

/** How the gradient with respect to one input is made with one op. */
export interface GradientInfo {
  readonly input: string;
  readonly op: string;
  /** The output of that op which is the gradient. */
  readonly gives: string;
  /** For each input of that op: "input NAME", "output NAME", "gradient NAME" or "shape NAME" (of an input). */
  readonly inputs: Readonly<Record<string, string>>;
  /** Attributes that are copied by name. */
  readonly attrs: readonly string[];
}

/** Where an op departs from TensorFlow's, and how to make it agree. */
export interface DifferenceInfo {
  readonly topic: string;
  readonly tensorflow: string;
  readonly ours: string;
  readonly agree: string;
  /** The rule that says which cells it touches; none if it is about which calls are taken. */
  readonly at?: string;
}

export interface OpInfo {
  readonly name: string;
  readonly group: string;
  readonly summary: string;
  readonly documentation: string;
  readonly formula?: string;
  readonly inputs: readonly PinInfo[];
  readonly outputs: readonly PinInfo[];
  readonly attrs: readonly AttrInfo[];
  readonly stateful: boolean;
  readonly files: string;
  readonly writes: readonly string[];
  readonly holds: boolean;
  readonly fed: boolean;
  readonly differences: readonly DifferenceInfo[];
  readonly cases: readonly { about: string; page: PageDocument }[];
  readonly aliases: readonly string[];
  /** Whether it has a gradient, in words. */
  readonly gradient: string;
  readonly gradients: readonly GradientInfo[];
}

export const GRADIENTS = "gradients";
export const PAGE = "page";
export const CONST = "Const";
export const VARIABLE = "VariableV2";
export const PLACEHOLDER = "Placeholder";

/** The small types, and bfloat16: NumPy has them from ml_dtypes. */
export const FROM_ML_DTYPES: readonly string[] = [
  "bfloat16",
  "float8_e5m2",
  "float8_e4m3fn",
  "float8_e4m3fnuz",
  "float8_e4m3b11fnuz",
  "float8_e5m2fnuz",
  "int4",
  "uint4",
  "int2",
  "uint2",
];

export const ALL_DTYPES: readonly string[] = [
  "bfloat16",
  "float16",
  "float32",
  "float64",
  "int8",
  "int16",
  "int32",
  "int64",
  "uint8",
  "uint16",
  "uint32",
  "uint64",
  "complex64",
  "complex128",
  "bool",
  ...FROM_ML_DTYPES.slice(1),
  "string",
  "resource",
];

/** Types of numbers that can change a little. */
export const SMOOTH = ["bfloat16", "float16", "float32", "float64", "complex64", "complex128"];

const NO_OP = {
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

/** The two kinds of block that are no ops, described as if they were. */
const SPECIAL: readonly OpInfo[] = [
  {
    ...NO_OP,
    name: GRADIENTS,
    group: PAGE,
    summary: "How much the ys change when the xs change a little.",
    documentation:
      "Adds, when the page runs, the blocks that compute the gradient of the sum of `ys` with respect to each of `xs`. `grad_ys` weighs the ys.",
    inputs: [
      { name: "ys", count: "mixed list", type: "ys", dtypes: SMOOTH, ranks: null },
      { name: "xs", count: "mixed list", type: "xs", dtypes: SMOOTH, ranks: null },
      { name: "grad_ys", count: "mixed list", type: "ys", dtypes: SMOOTH, ranks: null },
    ],
    outputs: [{ name: "dx", count: "mixed list", type: "xs", dtypes: SMOOTH, ranks: null }],
    aliases: ["gradient", "derivative", "backward", "autodiff", "backpropagation"],
  },
  {
    ...NO_OP,
    name: PAGE,
    group: PAGE,
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

/** Inputs that may be left out although they are lists. */
export function mayBeLeftOut(op: string, pin: PinInfo): boolean {
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

/** MaxPool3DGrad as Python writes it: max_pool_3d_grad. */
export function snakeName(op: string): string {
  return op
    .replace(/\d[Dd](?=[A-Z]|$)|V\d$/g, (found) => `_${found.toLowerCase()}_`)
    .replace(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, "_")
    .replace(/_+/g, "_")
    .replace(/^_|_$/g, "")
    .toLowerCase();
}
