import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeSocket } from "../testing/fake-socket.ts";
import { Client, type Connection } from "./client.ts";
import type { Frame } from "./frames.ts";
import type { ServerMessage } from "./generated.ts";

let sockets: FakeSocket[];
let states: Connection[];
let messages: ServerMessage[];
let frames: Frame[];
let client: Client;

beforeEach(() => {
  vi.useFakeTimers();
  [sockets, states, messages, frames] = [[], [], [], []];
  client = new Client(
    {
      onConnection: (state) => states.push(state),
      onMessage: (message) => messages.push(message),
      onFrame: (frame) => frames.push(frame),
    },
    () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    },
  );
  client.start();
});

afterEach(() => {
  client.stop();
  vi.useRealTimers();
});

test("it tells when it is connected, and only then sends", () => {
  expect(client.send({ kind: "list files" })).toBe(false);
  sockets[0]?.open();
  expect(client.send({ kind: "list files" })).toBe(true);
  expect(sockets[0]?.sent).toEqual(['{"kind":"list files"}']);
  expect(states).toEqual(["connecting", "open"]);
});

test("it comes back after it was lost, waiting longer each time but never for ever", () => {
  const waits: number[] = [];
  for (let i = 0; i < 12; i++) {
    sockets.at(-1)?.close();
    const start = Date.now();
    while (sockets.length === i + 1) vi.advanceTimersByTime(10);
    waits.push(Date.now() - start);
  }
  expect(waits[0]).toBeLessThan(400);
  expect(waits[3]).toBeGreaterThan(waits[0] as number);
  expect(Math.max(...waits)).toBeLessThan(6500);
  sockets.at(-1)?.open();
  sockets.at(-1)?.close();
  vi.advanceTimersByTime(400);
  expect(sockets).toHaveLength(14);
});

test("it does not come back after it was stopped", () => {
  sockets[0]?.open();
  client.stop();
  vi.advanceTimersByTime(60_000);
  expect(sockets).toHaveLength(1);
});

test("it tries again at once when told to", () => {
  sockets[0]?.close();
  client.retry();
  expect(sockets).toHaveLength(2);
  vi.advanceTimersByTime(60_000);
  expect(sockets).toHaveLength(2);
});

test("floats are sent as floats", () => {
  sockets[0]?.open();
  const edits = [{ path: ["blocks", "a", "in", "x"], value: { $number: "1.0" } }];
  client.send({ kind: "change", page: 1, client: "one", number: 1, edits });
  expect(sockets[0]?.sent[0]).toContain('"value":1.0');
});

test("messages and frames are read", () => {
  sockets[0]?.say('{"kind":"journaled","page":1,"revision":4}');
  expect(messages).toEqual([{ kind: "journaled", page: 1, revision: 4 }]);
  const header = '{"request":1,"pin":"a:b","dtype":"uint8","shape":[1],"step":0}  ';
  const bytes = new Uint8Array([64, 0, 0, 0, ...new TextEncoder().encode(header), 0, 0, 0, 0, 9]);
  sockets[0]?.onmessage?.({ data: bytes.buffer });
  expect(frames[0]?.elements[0]).toBe(9);
});
