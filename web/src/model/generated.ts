// Generated from src/backblocks/pages/model.py, studio/palette.py and dtypes.py by tools/generate.py. Do not edit.

import type { Json, JsonObject } from "./json.ts";

/** A block: an op with its attributes, and what its inputs are wired to. */
export interface PageBlock extends JsonObject {
  /** TensorFlow's name of the op; or `gradients`, or `page`: see the format's text. */
  readonly op: string;
  /** The version of the op's definition. */
  readonly version?: number;
  /** A sentence for readers of the page. */
  readonly about?: string;
  /** For each input a wire or a constant; a list of them for an input that is a list. */
  readonly in?: Readonly<Record<string, Json>>;
  /** The initial value of a variable. */
  readonly initial?: Json;
  /** Attributes by name. */
  readonly attrs?: Readonly<Record<string, Json>>;
  /** Control dependencies: blocks that run before it although no wire comes from them. */
  readonly after?: readonly string[];
}

/** A frame around blocks that belong together. */
export interface Frame extends JsonObject {
  /** The title on the frame. */
  readonly title?: string;
  /** The same in other languages, by their codes. */
  readonly titles?: Readonly<Record<string, string>>;
  /** The blocks inside. */
  readonly blocks?: readonly string[];
}

/** A note on the page. */
export interface Note extends JsonObject {
  /** The note, in Markdown. */
  readonly text?: string;
  /** The same in other languages, by their codes such as ko. */
  readonly texts?: Readonly<Record<string, string>>;
}

/** An output, or one element of it, that a monitor shows. */
export interface MonitorSource extends JsonObject {
  /** The output. */
  readonly pin: string;
  /** Which element; all of it if left out. */
  readonly element?: readonly number[] | null;
  /** Its label in the monitor. */
  readonly label?: string;
}

/** Shows values while a page runs. */
export interface Monitor extends JsonObject {
  /** A number, a trend over steps, an image map, or a histogram. An unknown kind is kept. */
  readonly kind: string;
  /** The outputs that it shows. */
  readonly shows?: readonly MonitorSource[];
  /** The title above it. */
  readonly title?: string;
  /** The same in other languages, by their codes. */
  readonly titles?: Readonly<Record<string, string>>;
  /** The lower end of its scale; found from values if left out. */
  readonly low?: number | null;
  /** The upper end of its scale. */
  readonly high?: number | null;
  /** How many steps back a trend goes; all if left out. */
  readonly steps?: number | null;
  /** For an image: the axes of its rows and columns. */
  readonly axes?: readonly number[];
}

/** The default settings of a run of the page. */
export interface RunSettings extends JsonObject {
  /** Outputs whose values a run fetches. */
  readonly fetch?: readonly string[];
  /** Blocks that run although their values are not fetched. */
  readonly targets?: readonly string[];
  /** How many steps; one if left out. */
  readonly steps?: number | null;
  /** An output that ends the run when it is true. */
  readonly until?: string;
  /** The seed of random numbers. */
  readonly seed?: number | null;
  /** Values for placeholders. */
  readonly feeds?: Readonly<Record<string, Json>>;
}

/** An input or output of a page that is used as a block. */
export interface Port extends JsonObject {
  /** The output on this page: of a placeholder, if the port is an input. */
  readonly pin: string;
  /** Its element type. */
  readonly dtype: string;
  /** Its sizes, null where they are open; null if even their number is. */
  readonly shape?: readonly (number | null)[] | null;
}

/** The inputs and outputs of a page that is used as a block. */
export interface Ports extends JsonObject {
  /** Inputs by name. */
  readonly inputs?: Readonly<Record<string, Port>>;
  /** Outputs by name. */
  readonly outputs?: Readonly<Record<string, Port>>;
}

/** Positions and sizes on the canvas. Nothing here changes what a page computes. */
export interface Layout extends JsonObject {
  /** Left and top of blocks. */
  readonly blocks?: Readonly<Record<string, readonly number[]>>;
  /** Points that wires go through, by the input that they lead to. */
  readonly wires?: Readonly<Record<string, readonly (readonly number[])[]>>;
  /** Left, top, width and height of frames. */
  readonly frames?: Readonly<Record<string, readonly number[]>>;
  /** Left, top, width and height of notes. */
  readonly notes?: Readonly<Record<string, readonly number[]>>;
  /** Left, top, width and height of monitors. */
  readonly monitors?: Readonly<Record<string, readonly number[]>>;
}

export interface TypedConstant extends JsonObject {
  readonly dtype: string;
  readonly shape?: readonly number[];
  /** Nested lists. Elements that JSON has no number for are strings: inf, -inf, nan, 1-2j, integers beyond 2^53. Bytes that are no UTF-8 are in base64. */
  readonly value?: Json;
  /** An npy file below the page's folder. */
  readonly file?: string;
}

/** The contents of a page file. */
export interface PageDocument extends JsonObject {
  /** The version of the format. */
  readonly format?: number;
  /** The title of the page. */
  readonly title?: string;
  /** The same in other languages, by their codes. */
  readonly titles?: Readonly<Record<string, string>>;
  /** What it is for, in Markdown. */
  readonly about?: string;
  /** The same in other languages, by their codes. */
  readonly abouts?: Readonly<Record<string, string>>;
  /** Blocks by name. Their order counts where several change one variable: they do so in this order. */
  readonly blocks?: Readonly<Record<string, PageBlock>>;
  /** Frames by name. */
  readonly frames?: Readonly<Record<string, Frame>>;
  /** Notes by name. */
  readonly notes?: Readonly<Record<string, Note>>;
  /** Monitors by name. */
  readonly monitors?: Readonly<Record<string, Monitor>>;
  /** The default settings of a run. */
  readonly run?: RunSettings;
  /** Its inputs and outputs as a block. */
  readonly ports?: Ports;
  /** Positions on the canvas. */
  readonly layout?: Layout;
}

/** How many tensors a pin takes or gives; those of a mixed list may have different types. */
export type Count = "one" | "optional" | "list" | "mixed list";

/** An input or output of an op. */
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
}

/** An attribute of an op. */
export interface AttrInfo {
  readonly name: string;
  /** Picks the widget. */
  readonly kind: string;
  readonly about: string;
  readonly required: boolean;
  readonly options: readonly string[];
  readonly default?: Json;
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

/** A worked case, as a page that can be opened. */
export interface CaseInfo {
  readonly about: string;
  readonly page: PageDocument;
}

/**
 * How the gradient with respect to one input is made with one op.
 *
 * Its inputs are "input NAME", "output NAME" or "shape NAME" (of an input) of this op, or "gradient NAME":
 * what flows into that output.
 */
export interface GradientInfo {
  readonly input: string;
  readonly op: string;
  /** The output that is the gradient. */
  readonly gives: string;
  readonly inputs: Readonly<Record<string, string>>;
  /** Attributes that are copied by name. */
  readonly attrs: readonly string[];
}

/** All that is said of an op. */
export interface OpInfo {
  readonly name: string;
  readonly group: string;
  /** In English, as the group is declared with. */
  readonly group_title: string;
  readonly summary: string;
  /** What follows the summary, in Markdown. */
  readonly documentation: string;
  readonly formula?: string;
  readonly inputs: readonly PinInfo[];
  readonly outputs: readonly PinInfo[];
  readonly attrs: readonly AttrInfo[];
  readonly stateful: boolean;
  readonly files: string;
  /** Inputs that are variables and get a new value. */
  readonly writes: readonly string[];
  /** Whether a session keeps what it gives: a variable, a queue, a reader. */
  readonly holds: boolean;
  readonly fed: boolean;
  /** Whether it has a gradient, in words. */
  readonly gradient: string;
  readonly differences: readonly DifferenceInfo[];
  readonly cases: readonly CaseInfo[];
  readonly aliases: readonly string[];
  readonly gradients: readonly GradientInfo[];
}

/** The whole file: ops by group and name. */
export interface Palette {
  readonly version: string;
  readonly ops: readonly OpInfo[];
}

/** The version of the page format, which is the newest that can be read. */
export const FORMAT = 1;
export const GRADIENTS = "gradients";
export const PAGE = "page";

/** Every element type. */
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
  "float8_e5m2",
  "float8_e4m3fn",
  "float8_e4m3fnuz",
  "float8_e4m3b11fnuz",
  "float8_e5m2fnuz",
  "int4",
  "uint4",
  "int2",
  "uint2",
  "string",
  "resource",
];

/** Element types that are not NumPy's own. */
export const ML_DTYPES: readonly string[] = [
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

/** Element types that have gradients. */
export const DIFFERENTIABLE_DTYPES: readonly string[] = [
  "bfloat16",
  "float16",
  "float32",
  "float64",
  "complex64",
  "complex128",
];
