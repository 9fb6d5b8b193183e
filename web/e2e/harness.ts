/** Test harness: a real studio on a temporary folder, and a real browser. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";

const ROOT = path.resolve(import.meta.dirname, "../..");

/** The command that starts the studio. */
const COMMAND = (process.env.STUDIO ?? `${path.join(ROOT, ".venv/bin/backblocks")} studio`).split(" ");

/** The path of an installed browser; none is downloaded. */
function browserPath(): string {
  const known = [
    process.env.CHROMIUM,
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
  ];
  const found = known.find((each) => each !== undefined && existsSync(each));
  if (found === undefined)
    throw new Error("No Chromium was found. Install it (apt-get install chromium), or name one in CHROMIUM.");
  return found;
}

async function freePort(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return String(port);
}

export class Studio {
  readonly folder = mkdtempSync(path.join(tmpdir(), "studio-folder-"));
  readonly state = mkdtempSync(path.join(tmpdir(), "studio-state-"));
  private process: ChildProcess | null = null;
  address = "";

  /** Starts it at a port that no other test takes while it is started again; `args` may have another. */
  async start(...args: string[]): Promise<string> {
    const [command, ...first] = COMMAND as [string, ...string[]];
    const child = spawn(command, [...first, ".", "--no-browser", "--port", await freePort(), ...args], {
      cwd: this.folder,
      env: { ...process.env, XDG_STATE_HOME: this.state },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.process = child;
    this.address = await new Promise<string>((resolve, reject) => {
      let text = "";
      child.stdout?.on("data", (part: Buffer) => {
        text += part.toString();
        const found = /http:\/\/\S+/.exec(text);
        if (found) resolve(found[0]);
      });
      child.on("exit", (code) => reject(new Error(`The studio ended with ${code}: ${text}`)));
    });
    return this.address;
  }

  /** The ids of child processes of the studio that run a module. */
  children(module: string): number[] {
    const pid = this.process?.pid;
    const all = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
    return all.filter((each) => readFileSync(`/proc/${each}/cmdline`, "utf8").includes(module)).map(Number);
  }

  kill(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = this.process;
    this.process = null;
    if (child === null || child.exitCode !== null) return Promise.resolve();
    return new Promise((resolve) => {
      child.once("exit", () => resolve());
      child.kill(signal);
    });
  }

  async end(): Promise<void> {
    await this.kill();
    for (const folder of [this.folder, this.state]) rmSync(folder, { recursive: true, force: true });
  }
}

export interface Opened {
  studio: Studio;
  browser: Browser;
  context: BrowserContext;
  page: Page;
  /** Errors of the page, which tests expect to be empty. */
  errors: string[];
  end(): Promise<void>;
}

export async function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: browserPath(),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

export async function open(
  options: {
    width?: number;
    height?: number;
    language?: string;
    args?: string[];
    /** Whether panels are as for a first visit; else all are open, whatever the size of the screen. */
    firstVisit?: boolean;
    /** One that is running already: the page gets a profile of its own in it. */
    browser?: Browser;
    prepare?(studio: Studio): void;
  } = {},
): Promise<Opened> {
  const studio = new Studio();
  options.prepare?.(studio);
  const [address, browser] = await Promise.all([
    studio.start(...(options.args ?? [])),
    options.browser ?? launch(),
  ]);
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1440, height: options.height ?? 900 },
    locale: options.language ?? "en",
    acceptDownloads: true,
  });
  if (!options.firstVisit)
    await context.addInitScript(() => {
      const open = { leftOpen: true, rightOpen: true, bottomOpen: true };
      if (localStorage.getItem("backblocks settings") === null)
        localStorage.setItem("backblocks settings", JSON.stringify(open));
    });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  await page.goto(address);
  return {
    studio,
    browser,
    context,
    page,
    errors,
    async end() {
      await (options.browser ? context : browser).close();
      await studio.end();
    },
  };
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The bounding box of an element, once it has not moved for some frames. */
export async function restingBox(target: Locator): Promise<Box> {
  return target.evaluate(
    (element) =>
      new Promise<Box>((resolve, reject) => {
        let before = "";
        let same = 0;
        let looks = 0;
        const look = () => {
          if (!element.isConnected) return reject(new Error("The element is gone."));
          if (++looks > 600)
            return reject(new Error(`The element never rests: ${element.outerHTML.slice(0, 80)}`));
          const { x, y, width, height } = element.getBoundingClientRect();
          const now = [x, y, width, height].join();
          same = now === before && width > 0 ? same + 1 : 0;
          before = now;
          if (same === 6) resolve({ x, y, width, height });
          else requestAnimationFrame(look);
        };
        look();
      }),
  );
}

/** Presses the keys of a panel, and waits until its tab has the focus. */
export async function toPanel(page: Page, keys: string, tab: string): Promise<void> {
  await page.keyboard.press(keys);
  await page.waitForSelector(`#tab-${tab}:focus`);
}

/** Opens a new page with these blocks, and other fields of a page. */
export async function newPage(page: Page, blocks: Record<string, unknown>, more: object = {}): Promise<void> {
  const tabs = await page.locator(".page-tab").count();
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  await page.keyboard.press("Alt+n");
  await page.waitForFunction((before) => document.querySelectorAll(".page-tab").length > before, tabs);
  await page.locator(".canvas").focus();
  await pasteText(page, JSON.stringify({ format: 1, blocks, ...more }));
  await page.waitForSelector(`[id="block-${Object.keys(blocks).at(-1)}"]`);
  await page.keyboard.press("Escape");
}

/** Pastes a text into an element. */
export async function pasteText(page: Page, text: string, into = ".canvas"): Promise<void> {
  await page.evaluate(
    ([selector, pasted]) => {
      const data = new DataTransfer();
      data.setData("text/plain", pasted);
      document
        .querySelector(selector)
        ?.dispatchEvent(
          new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }),
        );
    },
    [into, text] as const,
  );
}

/** The clipboard text of a copy event at an element. */
export async function copiedText(page: Page, from = ".canvas"): Promise<string> {
  return page.evaluate((selector) => {
    const data = new DataTransfer();
    document
      .querySelector(selector)
      ?.dispatchEvent(new ClipboardEvent("copy", { clipboardData: data, bubbles: true, cancelable: true }));
    return data.getData("text/plain");
  }, from);
}

/** Drops a file on the canvas. */
export async function dropFile(page: Page, name: string, bytes: Buffer): Promise<void> {
  await page.evaluate(
    ([file, text]) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0))], file));
      const canvas = document.querySelector(".canvas") as HTMLElement;
      const { left, top } = canvas.getBoundingClientRect();
      const at = { clientX: left + 300, clientY: top + 300, bubbles: true, cancelable: true };
      canvas.dispatchEvent(new DragEvent("drop", { dataTransfer: data, ...at }));
    },
    [name, bytes.toString("base64")] as const,
  );
}

/** Runs each line of code that it reads, and writes what that printed and how it failed. */
const RUN_LINES = `
import contextlib, io, json, sys, traceback
for line in sys.stdin:
    printed, failed = io.StringIO(), ""
    try:
        with contextlib.redirect_stdout(printed):
            exec(json.loads(line), {})
    except Exception:
        failed = traceback.format_exc()
    print(json.dumps([printed.getvalue(), failed]), flush=True)
`;

/** One Python process for all code of a test file: importing takes longer than most of it. Ends with its input. */
function startPython(): (code: string) => Promise<[printed: string, failed: string]> {
  const python = path.join(path.dirname(COMMAND[0] as string), "python");
  const child = spawn(python, ["-c", RUN_LINES], { stdio: ["pipe", "pipe", "inherit"] });
  for (const each of [child, child.stdin as Socket, child.stdout as Socket]) each.unref();
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return async (code) => {
    child.stdin.write(`${JSON.stringify(code)}\n`);
    const { value, done } = await lines.next();
    if (done) throw new Error("The Python process has ended.");
    return JSON.parse(value);
  };
}

let python: ReturnType<typeof startPython> | null = null;

/** Runs Python code with the library of the studio, and parses the JSON that it prints. */
export async function library(code: string): Promise<unknown> {
  python ??= startPython();
  const [printed, failed] = await python(code);
  if (failed) throw new Error(failed);
  return JSON.parse(printed);
}

/** The elements in the list of the inspector, by name. */
export async function listedValues(page: Page): Promise<Record<string, string>> {
  return page.locator(".element-table tr").evaluateAll((rows) =>
    Object.fromEntries(
      rows.map((row) => {
        const [name, value] = row.querySelectorAll("td");
        return [name?.textContent ?? "", value?.querySelector("input")?.value ?? value?.textContent ?? ""];
      }),
    ),
  );
}

/** Writes an example as a page whose monitors have no place on it, and so stand in the panel. */
export function writeWithMonitorsInPanel(folder: string, example: string): void {
  const file = path.join(ROOT, "src/backblocks/examples", `${example}.page.json`);
  const document = JSON.parse(readFileSync(file, "utf8"));
  document.layout.monitors = undefined;
  writeFileSync(path.join(folder, "in_panel.page.json"), JSON.stringify(document));
}

/** A screen on which all panels but the one below are open on a first visit. */
export const SCREEN = { viewport: { width: 1920, height: 1080 } };
