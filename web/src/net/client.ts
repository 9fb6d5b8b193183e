/** The WebSocket connection to the server, which reconnects with exponential backoff. */

import { parseMessage, stringifyExact } from "../model/exact-json.ts";
import { type Frame, parseFrame } from "./frames.ts";
import type { ClientMessage, ServerMessage } from "./generated.ts";
import { newClient } from "./sync.ts";

export type Connection = "connecting" | "open" | "lost";

export interface Listener {
  onConnection(state: Connection): void;
  onMessage(message: ServerMessage): void;
  onFrame(frame: Frame): void;
}

/** The part of the WebSocket interface that is used, which tests fake. */
export interface Socket {
  binaryType: string;
  readyState: number;
  onopen: (() => void) | null;
  onclose: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  send(text: string): void;
  close(): void;
}

export const MIN_BACKOFF = 250;
export const MAX_BACKOFF = 5000;
const OPEN = 1;

export class Client {
  private socket: Socket | undefined;
  private backoff = MIN_BACKOFF;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private stopped = false;

  constructor(
    private readonly listener: Listener,
    private readonly connectSocket: () => Socket = connectHere,
  ) {}

  start(): void {
    this.stopped = false;
    this.listener.onConnection("connecting");
    const socket = this.connectSocket();
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.backoff = MIN_BACKOFF;
      this.listener.onConnection("open");
    };
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") this.listener.onMessage(parseMessage(data) as unknown as ServerMessage);
      else this.listener.onFrame(parseFrame(data as ArrayBuffer));
    };
    socket.onclose = () => this.lost(socket);
    this.socket = socket;
  }

  /** Reconnects with exponential backoff and jitter, so that tabs do not all come back at once. */
  private lost(socket: Socket): void {
    if (socket !== this.socket || this.stopped) return;
    this.socket = undefined;
    this.listener.onConnection("lost");
    this.timer = setTimeout(() => this.start(), this.backoff * (0.75 + Math.random() / 2));
    this.backoff = Math.min(this.backoff * 2, MAX_BACKOFF);
  }

  /** Reconnects at once. */
  retry(): void {
    if (this.socket) return;
    clearTimeout(this.timer);
    this.start();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.socket?.close();
    this.socket = undefined;
  }

  /** Sends a command; false without a connection. Changes are sent again after a reconnect: see `sync.ts`. */
  send(command: ClientMessage): boolean {
    if (this.socket?.readyState !== OPEN) return false;
    this.socket.send(stringifyExact(command));
    return true;
  }
}

function connectHere(): Socket {
  const url = new URL("./socket", window.location.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.hash = "";
  url.searchParams.set("tab", tabName());
  return new WebSocket(url) as unknown as Socket;
}

/** The name of this browser tab, which it keeps when it is reloaded. */
function tabName(): string {
  try {
    const name = sessionStorage.getItem(TAB_KEY) ?? newClient();
    sessionStorage.setItem(TAB_KEY, name);
    return name;
  } catch {
    return newClient(); // Without sessionStorage, a tab that is reloaded is a new one.
  }
}

const TAB_KEY = "backblocks tab";

/** Exchanges the token in the URL that `backblocks studio` printed for a cookie, and removes it from the URL. */
export async function authenticate(): Promise<"entered" | "refused"> {
  const token = new URLSearchParams(window.location.hash.slice(1)).get("token");
  if (!token) return "entered";
  history.replaceState(null, "", window.location.pathname + window.location.search);
  return (await sendCredentials({ token })) ? "entered" : "refused";
}

/** Sends a token or a password to the server; false if it is refused. */
export async function sendCredentials(key: { token: string } | { password: string }): Promise<boolean> {
  const answer = await fetch("./enter", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(key),
  });
  return answer.ok;
}
