import type { Socket } from "../net/client.ts";

/** A fake WebSocket that tests drive. */
export class FakeSocket implements Socket {
  binaryType = "";
  readyState = 0;
  onopen: (() => void) | null = null;
  onclose: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  readonly sent: string[] = [];

  send(text: string): void {
    this.sent.push(text);
  }

  open(): void {
    this.readyState = 1;
    this.onopen?.();
  }

  close(): void {
    this.readyState = 3;
    this.onclose?.();
  }

  say(text: string): void {
    this.onmessage?.({ data: text });
  }
}
