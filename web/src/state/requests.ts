/** Questions to the server. Each has a number, under which it is answered. */

import type { Frame } from "../net/frames.ts";
import type {
  CellChecked,
  Command,
  Explained,
  Export,
  Exported,
  FoundBad,
  Listed,
  Look,
  Measure,
  Measured,
} from "../net/generated.ts";

/** What is heard of an answer that takes long. */
export interface Hearing<Answer> {
  /** Takes what a part of a large value tells, before all of it is known. */
  early?(answer: Answer): void;
  /** Takes how much is done, from 0 to 1. */
  progress?(part: number): void;
  /** Ends the question, which is then refused. */
  signal?: AbortSignal;
}

interface Waiting extends Hearing<unknown> {
  resolve(value: unknown): void;
  reject(reason: Error): void;
}

export abstract class Questions {
  protected requests = 0;
  private readonly waiting = new Map<number, Waiting>();

  /** Says whether it could be sent. */
  protected abstract send(command: Command): boolean;
  /** Why there is no answer without a connection, in words for the user. */
  protected abstract noConnection(): string;

  protected ask<Answer>(
    command: (request: number) => Command,
    { page = 0, signal, ...hearing }: Hearing<Answer> & { page?: number } = {},
  ): Promise<Answer> {
    const request = ++this.requests;
    return new Promise<Answer>((resolve, reject) => {
      this.waiting.set(request, { resolve, reject, ...hearing } as Waiting);
      signal?.addEventListener("abort", () => {
        if (this.waiting.has(request)) this.send({ kind: "leave", page, request });
      });
      if (!this.send(command(request))) this.refuse(request, this.noConnection());
    });
  }

  protected answer(request: number, value: unknown): void {
    this.waiting.get(request)?.resolve(value);
    this.waiting.delete(request);
  }

  /** Says whether such a question was asked. */
  protected refuse(request: number, why: string): boolean {
    this.waiting.get(request)?.reject(new Error(why));
    return this.waiting.delete(request);
  }

  protected refuseAll(why: string): void {
    for (const request of [...this.waiting.keys()]) this.refuse(request, why);
  }

  protected measured(message: Measured): void {
    if (message.sampled) this.waiting.get(message.request)?.early?.(message);
    else this.answer(message.request, message);
  }

  protected progressed(request: number, part: number): void {
    this.waiting.get(request)?.progress?.(part);
  }

  look(
    page: number,
    pin: string,
    index: (number | number[])[] = [],
    how: Pick<Look, "shades" | "against" | "comparison"> = {},
  ): Promise<Frame> {
    return this.ask((request) => ({ kind: "look", page, request, pin, index, ...how }));
  }

  /** What an output holds. */
  measure(
    page: number,
    pin: string,
    how: Pick<Measure, "against" | "comparison"> = {},
    hearing: Hearing<Measured> = {},
  ): Promise<Measured> {
    return this.ask((request) => ({ kind: "measure", page, request, pin, ...how }), { page, ...hearing });
  }

  findBad(
    page: number,
    pin: string,
    after: readonly number[] | null,
    hearing: Hearing<FoundBad> = {},
  ): Promise<FoundBad> {
    const from = after && { after };
    return this.ask((request) => ({ kind: "find bad", page, request, pin, ...from }), { page, ...hearing });
  }

  explain(page: number, block: string): Promise<Explained> {
    return this.ask((request) => ({ kind: "explain", page, request, block }));
  }

  checkCell(page: number, block: string, cell: readonly number[]): Promise<CellChecked> {
    return this.ask((request) => ({ kind: "check cell", page, request, block, cell }));
  }

  /** Elements as texts; with `python` as Python writes them. */
  elements(page: number, pin: string, first: number, count: number, python = false): Promise<Listed> {
    return this.ask((request) => ({ kind: "elements", page, request, pin, first, count, python }));
  }

  async export(page: number, to: Export["to"]): Promise<string> {
    const { text } = await this.ask<{ text: string }>((request) => ({ kind: "export", page, request, to }));
    return text;
  }

  /** The page as a text that can leave its folder, with the arrays of its files inside, and those that are not. */
  pageWithArrays(page: number): Promise<Exported> {
    return this.ask((request) => ({ kind: "export", page, request, to: "page" }));
  }
}
