/** The tensor of a pane: type, source, statistics, and cells if it is a constant. */

import { useEffect, useMemo, useRef, useState } from "react";
import { axisNames } from "../../model/axes.ts";
import { type ConstantCells, cellsOf, formatCell } from "../../model/constant-cells.ts";
import type { Json } from "../../model/document.ts";
import { statisticsOf } from "../../model/statistics.ts";
import { type Tensor, tensorAt } from "../../model/tensors.ts";
import { complexOf } from "../../model/values.ts";
import type { ReadSlice, Statistics } from "../../net/generated.ts";
import { live } from "../../state/live.ts";
import { type PageState, studio } from "../../state/store.ts";
import type { TensorInfo } from "./HeatmapView.tsx";
import { memorySource, outputSource, type TensorSource } from "./tensor-source.ts";

export type TensorStatistics = Omit<Statistics, "kind" | "request">;

export interface InspectedTensor {
  readonly tensor: Tensor | undefined;
  /** Null until the type is known. */
  readonly info: TensorInfo | null;
  readonly source: TensorSource;
  readonly statistics: TensorStatistics | null;
  readonly failed: string;
  /** The scan of all cells of a large tensor; null if statistics are exact. */
  readonly scan: ScanProgress | null;
  /** The cells of a constant. */
  readonly cells: ConstantCells | undefined;
}

export interface ScanProgress {
  /** The progress, from 0 to 1; null if it was stopped. */
  readonly part: number | null;
  /** Stops or restarts the scan. */
  toggle(): void;
}

export interface ComparedWith {
  readonly against: string;
  readonly comparison: NonNullable<ReadSlice["comparison"]>;
}

/** The throttle of statistics during a run, in milliseconds. */
const THROTTLE_MS = 200;

export function useTensor(page: PageState, pin: string, compared?: ComparedWith): InspectedTensor {
  const tensor = useMemo(() => tensorAt(page.graph, pin), [page.graph, pin]);
  const value = compared ? undefined : tensor?.constant?.value;
  const cells = useMemo(() => cellsOf(value), [value]);
  const held = useMemo(() => (cells ? constantTensor(pin, cells) : undefined), [pin, cells]);
  const run = useOutput(page.page, pin, held === undefined, compared);
  const { dtype, shape } = held?.statistics ?? run.statistics ?? { dtype: "", shape: undefined };
  const sizes = shape?.join(",");
  const info = useMemo((): TensorInfo | null => {
    if (sizes === undefined || !tensor) return null;
    const numbers = sizes === "" ? [] : sizes.split(",").map(Number);
    return {
      pin,
      dtype,
      shape: numbers,
      axes: axisNames(page.graph, tensor.block, tensor.name, numbers.length),
    };
  }, [pin, dtype, sizes, tensor, page.graph]);
  return {
    tensor,
    info,
    cells,
    source: held?.source ?? run.source,
    statistics: held?.statistics ?? run.statistics,
    failed: held ? "" : run.failed,
    scan: held ? null : run.scan,
  };
}

function constantTensor(
  pin: string,
  cells: ConstantCells,
): { source: TensorSource; statistics: TensorStatistics } {
  const dtype = cells.dtype ?? inferredDtype(cells.elements);
  const complex = dtype.startsWith("complex");
  const numbers = complex
    ? cells.elements.flatMap((cell) => complexOf(formatCell(cell)))
    : cells.elements.map(numberIn);
  const sizes = complex
    ? cells.elements.map((_, i) => Math.hypot(...numbers.slice(2 * i, 2 * i + 2)))
    : numbers;
  const { counts, ...rest } = statisticsOf(sizes);
  const long = /^u?int64$/.test(dtype) && numbers.every(Number.isInteger);
  const exact = long ? cells.elements.map((cell) => BigInt(formatCell(cell))) : numbers;
  return {
    source: memorySource(pin, cells.shape, exact, dtype === "string" ? "float64" : dtype),
    statistics: { pin, dtype, shape: [...cells.shape], step: 0, ...rest, counts: [...counts] },
  };
}

/** The default dtype of an untyped constant. */
function inferredDtype(elements: readonly Json[]): string {
  if (elements.length > 0 && elements.every((cell) => typeof cell === "boolean")) return "bool";
  return elements.every(Number.isInteger) ? "int32" : "float32";
}

/** A cell of a constant as a number, for drawing. */
export function numberIn(cell: Json): number {
  if (typeof cell === "boolean") return cell ? 1 : 0;
  const text = formatCell(cell).trim().toLowerCase();
  if (text === "inf" || text === "-inf")
    return text === "inf" ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  return text === "" ? Number.NaN : Number(text);
}

function useOutput(page: number, pin: string, wanted: boolean, compared?: ComparedWith) {
  const { against = "", comparison = "difference" } = compared ?? {};
  const source = useMemo(
    () => outputSource(page, pin, against === "" ? {} : { against, comparison }),
    [page, pin, against, comparison],
  );
  const [found, setFound] = useState<{
    source: TensorSource;
    statistics: TensorStatistics | null;
    failed: string;
  }>();
  const [part, setPart] = useState<number | null>(0);
  const asking = useRef<{ again(): void; leave: AbortController }>(null);
  useEffect(() => {
    if (!wanted) return;
    let turn = 0;
    let waiting = 0;
    // Strings have no statistics, and are listed.
    const fail = (failed: string, wanting: () => boolean) =>
      studio.requests.elementTexts(page, pin, 0, 0).then(
        ({ dtype, shape }) => {
          const statistics = dtype === "string" ? { pin, dtype, shape, step: 0 } : null;
          if (wanting()) setFound({ source, statistics, failed: statistics ? "" : failed });
        },
        () => wanting() && setFound({ source, statistics: null, failed }),
      );
    const ask = () => {
      const mine = ++turn;
      const leave = new AbortController();
      asking.current = { again: ask, leave };
      const take = (statistics: TensorStatistics) => {
        if (mine === turn) setFound({ source, statistics, failed: "" });
      };
      setPart(0);
      studio.requests
        .statistics(page, pin, against === "" ? {} : { against, comparison }, {
          onEstimate: take,
          onProgress: (done) => mine === turn && setPart(done),
          signal: leave.signal,
        })
        .then(take, (error: Error) => {
          if (mine !== turn) return;
          // A stopped scan leaves the estimate.
          if (leave.signal.aborted) setPart(null);
          else fail(error.message, () => mine === turn);
        });
    };
    ask();
    const stop = source.onChange(() => {
      if (waiting === 0)
        waiting = window.setTimeout(() => {
          waiting = 0;
          ask();
        }, THROTTLE_MS);
    });
    return () => {
      turn = -1;
      stop();
      clearTimeout(waiting);
    };
  }, [page, pin, against, comparison, source, wanted]);
  const now = found?.source === source ? found : undefined;
  // The live summary is shown until statistics are there.
  const early = useMemo(() => {
    const summary = now || against !== "" ? undefined : live(page).summary(pin);
    return summary ? { ...summary, pin } : null;
  }, [page, pin, against, now]);
  const toggle = () => (part === null ? asking.current?.again() : asking.current?.leave.abort());
  return {
    source,
    statistics: now ? now.statistics : early,
    failed: now?.failed ?? "",
    scan: now?.statistics?.sampled ? { part, toggle } : null,
  };
}
