/** Requests to the server. Each has a number, under which its answer comes, and is a promise of that answer. */

import type { Frame } from "../net/frames.ts";
import type {
  ClientMessage,
  ComputeStatistics,
  ElementTexts,
  Explained,
  Export,
  Exported,
  FoundNonFinite,
  GradientChecked,
  ReadSlice,
  RunsCompared,
  Statistics,
} from "../net/generated.ts";

export interface RequestOptions<Answer> {
  /** Receives an estimate from a sample of a large tensor, before the exact answer. */
  onEstimate?(answer: Answer): void;
  /** Receives the part that is done, from 0 to 1. */
  onProgress?(part: number): void;
  /** Cancels the request: its promise is then rejected. */
  signal?: AbortSignal;
}

interface PendingRequest extends RequestOptions<unknown> {
  resolve(value: unknown): void;
  reject(reason: Error): void;
}

export class Requests {
  private last = 0;
  private readonly pending = new Map<number, PendingRequest>();

  constructor(
    /** Sends a command; false without a connection. */
    private readonly send: (command: ClientMessage) => boolean,
    /** The reason for a rejection without a connection, in the user's language. */
    private readonly noConnection: () => string,
  ) {}

  /** The number of a new request. */
  nextNumber(): number {
    return ++this.last;
  }

  ask<Answer>(
    command: (request: number) => ClientMessage,
    { page = 0, signal, ...options }: RequestOptions<Answer> & { page?: number } = {},
  ): Promise<Answer> {
    const request = this.nextNumber();
    return new Promise<Answer>((resolve, reject) => {
      this.pending.set(request, { resolve, reject, ...options } as PendingRequest);
      signal?.addEventListener("abort", () => {
        if (this.pending.has(request)) this.send({ kind: "cancel", page, request });
      });
      if (!this.send(command(request))) this.reject(request, this.noConnection());
    });
  }

  resolve(request: number, value: unknown): void {
    this.pending.get(request)?.resolve(value);
    this.pending.delete(request);
  }

  /** Rejects a request; false if it is not pending. */
  reject(request: number, why: string): boolean {
    this.pending.get(request)?.reject(new Error(why));
    return this.pending.delete(request);
  }

  rejectAll(why: string): void {
    for (const request of [...this.pending.keys()]) this.reject(request, why);
  }

  measured(message: Statistics): void {
    if (message.sampled) this.pending.get(message.request)?.onEstimate?.(message);
    else this.resolve(message.request, message);
  }

  progressed(request: number, part: number): void {
    this.pending.get(request)?.onProgress?.(part);
  }

  /** A slice of a tensor: its elements or, with `shades`, one colour index for each. */
  slice(
    page: number,
    pin: string,
    index: (number | number[])[] = [],
    how: Pick<ReadSlice, "shades" | "against" | "comparison"> = {},
  ): Promise<Frame> {
    return this.ask((request) => ({ kind: "read slice", page, request, pin, index, ...how }));
  }

  /** Statistics of a tensor, or of its difference from another. */
  statistics(
    page: number,
    pin: string,
    how: Pick<ComputeStatistics, "against" | "comparison"> = {},
    options: RequestOptions<Statistics> = {},
  ): Promise<Statistics> {
    return this.ask((request) => ({ kind: "compute statistics", page, request, pin, ...how }), {
      page,
      ...options,
    });
  }

  /** The next NaN or infinity after a cell, or the first. */
  findNonFinite(
    page: number,
    pin: string,
    after: readonly number[] | null,
    options: RequestOptions<FoundNonFinite> = {},
  ): Promise<FoundNonFinite> {
    const from = after && { after };
    return this.ask((request) => ({ kind: "find non-finite", page, request, pin, ...from }), {
      page,
      ...options,
    });
  }

  /** What changed on the page between two runs. */
  async comparedRuns(page: number, first: number, second: number): Promise<readonly string[]> {
    const { changes } = await this.ask<RunsCompared>((request) => ({
      kind: "compare runs",
      page,
      request,
      first,
      second,
    }));
    return changes;
  }

  explain(page: number, block: string): Promise<Explained> {
    return this.ask((request) => ({ kind: "explain", page, request, block }));
  }

  checkCell(page: number, block: string, cell: readonly number[]): Promise<GradientChecked> {
    return this.ask((request) => ({ kind: "check gradient", page, request, block, cell }));
  }

  /** Elements as text; with `python` as Python literals. */
  elementTexts(
    page: number,
    pin: string,
    first: number,
    count: number,
    python = false,
  ): Promise<ElementTexts> {
    return this.ask((request) => ({ kind: "read elements", page, request, pin, first, count, python }));
  }

  async exportScript(page: number, to: Export["to"]): Promise<string> {
    const { text } = await this.ask<{ text: string }>((request) => ({ kind: "export", page, request, to }));
    return text;
  }

  /** The text of the page with the arrays of its files inline, and the arrays that were omitted. */
  pageWithArrays(page: number): Promise<Exported> {
    return this.ask((request) => ({ kind: "export", page, request, to: "page" }));
  }
}
