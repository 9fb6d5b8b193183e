/** The formula of a loop nest for all cells, with the axes and layout of the block. */

import type { Shapes } from "../../model/loop-nest.ts";
import type { AccessMap, Coordinate } from "../../net/generated.ts";
import type { ExplainStrings } from "../../text/explain.en.ts";
import { ARG_FUNCTIONS } from "./numeric-formula.ts";

/** A piece of a formula: plain, or a subscript. */
export interface Piece {
  readonly text: string;
  readonly low?: boolean;
}

/** The formula as pieces: both sides of the equation, and its condition. */
export function generalFormula(...given: Parameters<typeof written>): readonly Piece[] {
  return written(...given).filter(({ text }) => text !== "");
}

/** With `more` it is an addition to an earlier formula. */
function written(
  accessMap: AccessMap,
  output: string,
  op: string,
  shapes: Shapes,
  t: ExplainStrings,
  more = false,
): Piece[] {
  const left = sideOf(accessMap, output, shapes);
  const own = Object.values(left.named);
  const term = (tensor: string): string => {
    const { name, coordinates } = placesOf(accessMap, tensor, shapes);
    return bracketed(
      name,
      coordinates.map((text) => left.named[text] ?? text),
    );
  };
  const bound = Object.keys(accessMap.loops).filter((loop) => !left.free.includes(loop));
  const over = (...tensors: string[]): Piece => {
    const loops = tensors.flatMap((tensor) => loopsOf(accessMap, tensor));
    return low(bound.filter((loop) => loops.includes(loop)));
  };
  const [given = "", ...compared] = accessMap.of;
  const where = Object.entries(left.named).map(([text, name]) => `${name} = ${text}`);
  const all = (between: string, tensors: readonly string[] = accessMap.of): string =>
    tensors.map(term).join(between);
  const whose = (condition: readonly Piece[]): Piece[] => [{ text: t.general.where }, ...condition];
  const meant = where.length ? whose([{ text: where.join(", ") }]) : [];
  const minus = accessMap.factors?.some(({ numbers }) => String(numbers) === "-1") ?? false;
  const sign = more ? (minus ? " -= " : " += ") : minus ? " = -" : " = ";
  const head: Piece = { text: `${left.text}${sign}` };
  const folded = (sign: string, loops: Piece, what: string): Piece[] =>
    loops.text === "" ? [head, { text: what }] : [head, { text: sign }, loops, { text: ` ${what}` }];

  switch (accessMap.rule) {
    case "sum": {
      const weights = (accessMap.factors ?? [])
        .filter(({ numbers }) => numbers.length > 1)
        .map(({ at = {} }) => `${t.general.weight}[${coordinateText(at, accessMap)}]`);
      return [...folded("Σ", low(bound), [...weights, all(" · ")].join(" · ")), ...meant];
    }
    case "added":
      return [...folded("Σ", over(...accessMap.of), all(" + ")), ...meant];
    case "product":
      return [...folded("Π", over(...accessMap.of), all(" · ")), ...meant];
    case "mean":
      return [...folded(t.general.mean, over(...accessMap.of), all(" · ")), ...meant];
    case "shares":
      return [...folded("Σ", over(given), `${term(given)} / ${t.general.cellsOfWindow}`), ...meant];
    case "max":
    case "min":
    case "argmax":
    case "largest at":
    case "smallest at":
      return [
        ...folded(ARG_FUNCTIONS[accessMap.rule] ?? accessMap.rule, over(...accessMap.of), all(" + ")),
        ...meant,
      ];
    case "winner's":
      return [
        head,
        { text: term(given) },
        ...whose([
          { text: `(${bound.join(", ")}) = argmax` },
          over(...compared),
          { text: ` ${all(" + ", compared)}` },
        ]),
      ];
    case "winners": {
      const inside = loopsOf(accessMap, given);
      const rivals = low(
        compared.flatMap((tensor) => loopsOf(accessMap, tensor)).filter((loop) => !inside.includes(loop)),
      );
      return [
        ...folded("Σ", over(given), term(given)),
        ...whose([
          { text: "argmax" },
          rivals,
          { text: ` ${all(" + ", compared)} = ${own.length ? `[${left.coordinates}]` : t.general.here}` },
        ]),
      ];
    }
    case "close":
      return [
        ...folded("Σ", over(given), term(given)),
        ...whose([{ text: `|${all(" - ", compared)}| < 0.00001` }]),
      ];
    case "copy":
      return [head, { text: term(given) }, ...meant];
    default:
      return [head, { text: op }, over(...accessMap.of), { text: `(${all(", ")})` }, ...meant];
  }
}

/** The left side: plain loop variables by name, other coordinates by a name that the condition defines. */
function sideOf(accessMap: AccessMap, output: string, shapes: Shapes) {
  const { name, coordinates } = placesOf(accessMap, output, shapes);
  const named: Record<string, string> = {};
  const free: string[] = [];
  const at = accessMap.cells[output]?.at ?? [];
  const shown = coordinates.map((text, axis) => {
    const { offset = 0, steps = {}, held_by } = at[axis] as Coordinate;
    const moving = Object.entries(steps).filter(([, step]) => step !== 0);
    const [loop] = moving;
    if (!held_by && (loop === undefined || (offset === 0 && moving.length === 1 && loop[1] === 1))) {
      if (loop) free.push(loop[0]);
      return text;
    }
    named[text] ??= `i${loop?.[0].at(-1) ?? axis}`;
    return named[text];
  });
  return { text: bracketed(name, shown), coordinates: shown.join(", "), named, free };
}

/** The name of a tensor, with a reshape if it is accessed with another shape, and its coordinates. */
function placesOf(
  accessMap: AccessMap,
  tensor: string,
  shapes: Shapes,
): { name: string; coordinates: string[] } {
  const { at = [], shape } = accessMap.cells[tensor] ?? {};
  const own = shapes[tensor] ?? [];
  const same = !shape || String(shape) === String(own);
  const name = same
    ? tensor
    : shape.length === 1
      ? `${tensor}.flat`
      : `${tensor}.reshape(${shape.join(", ")})`;
  return { name, coordinates: at.map((each) => coordinateText(each, accessMap)) };
}

function bracketed(name: string, coordinates: readonly string[]): string {
  return coordinates.length ? `${name}[${coordinates.join(", ")}]` : name;
}

function coordinateText(
  { offset = 0, steps = {}, held_by, held_at = [] }: Coordinate,
  accessMap: AccessMap,
): string {
  const terms = Object.entries(steps).flatMap(([loop, step]) =>
    step === 0 ? [] : [`${step === 1 ? "" : step === -1 ? "-" : step}${loop}`],
  );
  if (held_by) {
    const at = held_at.map((each) => coordinateText(each, accessMap)).join(", ");
    // A table, such as "cells along h", maps loops to coordinates.
    const loops = held_at.flatMap((each) => Object.keys(each.steps ?? {}));
    terms.unshift(
      accessMap.tables?.[held_by]
        ? `${held_by.split(" ").at(-1)}′(${loops.join(", ")})`
        : bracketed(held_by, [at]),
    );
  }
  if (offset !== 0 || terms.length === 0) terms.push(String(offset));
  return terms.join(" + ").replaceAll("+ -", "- ");
}

/** The loops that a tensor's access depends on. */
function loopsOf(accessMap: AccessMap, tensor: string): string[] {
  const of = ({ steps = {}, held_at = [] }: Coordinate): string[] => [
    ...Object.keys(steps).filter((loop) => steps[loop] !== 0),
    ...held_at.flatMap(of),
  ];
  return (accessMap.cells[tensor]?.at ?? []).flatMap(of);
}

function low(loops: readonly string[]): Piece {
  return { text: [...new Set(loops)].join(", "), low: true };
}
