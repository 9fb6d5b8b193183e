/** The one connection to the server. It comes back by itself when it is lost. */

import { parseMessage, stringifyExact } from "../model/exact-json.ts";
import { type Frame, readFrame } from "./frames.ts";
import type { Command, Message } from "./generated.ts";

export type Connection = "connecting" | "open" | "lost";

export interface Listener {
  onConnection(state: Connection): void;
  onMessage(message: Message): void;
  onFrame(frame: Frame): void;
}

/** What of a WebSocket is used, so that tests can stand in for one. */
export interface Socket {
  binaryType: string;
  readyState: number;
  onopen: (() => void) | null;
  onclose: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  send(text: string): void;
  close(): void;
}

export const FIRST_WAIT = 250;
export const LONGEST_WAIT = 5000;
const OPEN = 1;

export class Client {
  private socket: Socket | undefined;
  private wait = FIRST_WAIT;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private ended = false;

  constructor(
    private readonly listener: Listener,
    private readonly connectSocket: () => Socket = connectHere,
  ) {}

  start(): void {
    this.ended = false;
    this.listener.onConnection("connecting");
    const socket = this.connectSocket();
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.wait = FIRST_WAIT;
      this.listener.onConnection("open");
    };
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") this.listener.onMessage(parseMessage(data) as unknown as Message);
      else this.listener.onFrame(readFrame(data as ArrayBuffer));
    };
    socket.onclose = () => this.lost(socket);
    this.socket = socket;
  }

  /** Waits twice as long each time, and not exactly: tabs must not all come back at once. */
  private lost(socket: Socket): void {
    if (socket !== this.socket || this.ended) return;
    this.socket = undefined;
    this.listener.onConnection("lost");
    this.timer = setTimeout(() => this.start(), this.wait * (0.75 + Math.random() / 2));
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
  }

  /** Tries again now. */
  retry(): void {
    if (this.socket) return;
    clearTimeout(this.timer);
    this.start();
  }

  stop(): void {
    this.ended = true;
    clearTimeout(this.timer);
    this.socket?.close();
    this.socket = undefined;
  }

  /** Sends if there is a connection. What must not get lost is sent again by who sent it: see `sync.ts`. */
  send(command: Command): boolean {
    if (this.socket?.readyState !== OPEN) return false;
    this.socket.send(stringifyExact(command));
    return true;
  }
}

function connectHere(): Socket {
  const url = new URL("./socket", window.location.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.hash = "";
  return new WebSocket(url) as unknown as Socket;
}

/** Exchanges the token of the address that `backblocks studio` printed for a cookie, and takes it off the address. */
export async function enter(): Promise<"entered" | "refused"> {
  const token = new URLSearchParams(window.location.hash.slice(1)).get("token");
  if (!token) return "entered";
  history.replaceState(null, "", window.location.pathname + window.location.search);
  return (await present({ token })) ? "entered" : "refused";
}

/** Shows the server a token or a password. */
export async function present(key: { token: string } | { password: string }): Promise<boolean> {
  const answer = await fetch("./enter", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(key),
  });
  return answer.ok;
}
