/** Questions to the server. Each has a number, under which it is answered. */

import type { Frame } from "../net/frames.ts";
import type {
  CellChecked,
  Command,
  Explained,
  Export,
  FoundBad,
  Listed,
  Look,
  Measure,
  Measured,
} from "../net/generated.ts";

interface Waiting {
  /** Takes an answer that another one follows. */
  early?(value: unknown): void;
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
    early?: (answer: Answer) => void,
  ): Promise<Answer> {
    const request = ++this.requests;
    return new Promise<Answer>((resolve, reject) => {
      const waiting = { resolve, reject, ...(early && { early }) };
      this.waiting.set(request, waiting as Waiting);
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

  look(
    page: number,
    pin: string,
    index: (number | number[])[] = [],
    how: Pick<Look, "shades" | "against" | "comparison"> = {},
  ): Promise<Frame> {
    return this.ask((request) => ({ kind: "look", page, request, pin, index, ...how }));
  }

  /** What an output holds; `early` gets what a part of a large one tells before all of it is known. */
  measure(
    page: number,
    pin: string,
    how: Pick<Measure, "against" | "comparison"> = {},
    early: (measured: Measured) => void = () => {},
  ): Promise<Measured> {
    return this.ask((request) => ({ kind: "measure", page, request, pin, ...how }), early);
  }

  findBad(page: number, pin: string, after: readonly number[] | null): Promise<FoundBad> {
    return this.ask((request) => ({
      kind: "find bad",
      page,
      request,
      pin,
      ...(after && { after: [...after] }),
    }));
  }

  explain(page: number, block: string): Promise<Explained> {
    return this.ask((request) => ({ kind: "explain", page, request, block }));
  }

  checkCell(page: number, block: string, cell: readonly number[]): Promise<CellChecked> {
    return this.ask((request) => ({ kind: "check cell", page, request, block, cell: [...cell] }));
  }

  elements(page: number, pin: string, first: number, count: number): Promise<Listed> {
    return this.ask((request) => ({ kind: "elements", page, request, pin, first, count }));
  }

  async export(page: number, to: Export["to"]): Promise<string> {
    const { text } = await this.ask<{ text: string }>((request) => ({ kind: "export", page, request, to }));
    return text;
  }
}
