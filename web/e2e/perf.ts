/** Benchmark of the studio on large pages: `npm run bench`. */

import { writeFileSync } from "node:fs";
import path from "node:path";
import type { Page } from "playwright-core";
import { explainedPage, measureExplain } from "./explain-perf.ts";
import { open } from "./harness.ts";
import { hubOf, largePage, tensorPage } from "./pages.ts";

const BLOCKS = 1000;

interface Measured {
  fps: number;
  p95: number;
  worst: number;
}

/** Frame times while a script changes the page at every frame. */
async function frames(page: Page, milliseconds: number, each: string): Promise<Measured> {
  return page.evaluate(
    ({ milliseconds, each }) =>
      new Promise<Measured>((resolve) => {
        const step = new Function("i", each) as (i: number) => void;
        const times: number[] = [];
        const start = performance.now();
        let last = start;
        let i = 0;
        const frame = (now: number) => {
          if (i > 0) times.push(now - last);
          last = now;
          step(i++);
          if (now - start < milliseconds) requestAnimationFrame(frame);
          else {
            times.sort((a, b) => a - b);
            const total = times.reduce((a, b) => a + b, 0);
            resolve({
              fps: (1000 * times.length) / total,
              p95: times[Math.floor(times.length * 0.95)] ?? 0,
              worst: times.at(-1) ?? 0,
            });
          }
        };
        requestAnimationFrame(frame);
      }),
    { milliseconds, each },
  );
}

/** Sets the zoom by one wheel event in the middle of the canvas. */
async function zoomTo(page: Page, zoom: number): Promise<void> {
  await page.keyboard.press("0");
  await page.waitForTimeout(150);
  await page.evaluate((zoom) => {
    const pane = document.querySelector(".react-flow__pane") as HTMLElement;
    const box = pane.getBoundingClientRect();
    pane.dispatchEvent(
      new WheelEvent("wheel", {
        bubbles: true,
        cancelable: true,
        deltaY: -Math.log2(zoom) / 0.002,
        clientX: box.left + box.width / 2,
        clientY: box.top + box.height / 2,
      }),
    );
  }, zoom);
  await page.waitForTimeout(400);
}

const PAN = `
  const pane = document.querySelector(".react-flow__pane");
  const at = { bubbles: true, cancelable: true, button: 1, buttons: 4, view: window };
  const x = 700 + 160 * Math.sin(i / 20), y = 400 + 100 * Math.cos(i / 25);
  if (i === 0) pane.dispatchEvent(new MouseEvent("mousedown", { ...at, clientX: x, clientY: y }));
  else window.dispatchEvent(new MouseEvent("mousemove", { ...at, clientX: x, clientY: y }));
`;
const PAN_END = `window.dispatchEvent(new MouseEvent("mouseup", { bubbles: true, button: 1, view: window, clientX: 700, clientY: 400 }));`;

const SWEEP = `
  const pane = document.querySelector(".react-flow__pane");
  const way = Math.floor(i / 40) % 2 === 0 ? 1 : -1;
  pane.dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true, deltaY: way * 50, clientX: 700, clientY: 400 }));
`;

function show(what: string, { fps, p95, worst }: Measured): void {
  console.log(
    `${what.padEnd(34)} ${fps.toFixed(0).padStart(4)} fps   p95 ${p95.toFixed(0).padStart(4)} ms   worst ${worst.toFixed(0).padStart(4)} ms`,
  );
}

function say(what: string, value: string): void {
  console.log(`${what.padEnd(34)} ${value}`);
}

/** The time from selecting a block to its heatmap, and the bytes received for it. */
async function timeToSee(page: Page, block: string): Promise<{ milliseconds: number; bytes: number }> {
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  let bytes = 0;
  session.on("Network.webSocketFrameReceived", ({ response }) => {
    // Binary frames come as base64.
    bytes += response.opcode === 2 ? (response.payloadData.length * 3) / 4 : response.payloadData.length;
  });
  const milliseconds = await page.evaluate(
    (name) =>
      new Promise<number>((resolve) => {
        const start = performance.now();
        const at = document.querySelector(`#block-${name} .block-title`) as HTMLElement;
        const box = at.getBoundingClientRect();
        const where = {
          bubbles: true,
          clientX: box.x + 20,
          clientY: box.y + 8,
          pointerId: 1,
          isPrimary: true,
        };
        for (const kind of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"])
          at.dispatchEvent(
            kind.startsWith("pointer") ? new PointerEvent(kind, where) : new MouseEvent(kind, where),
          );
        const drawn = () => {
          const map = document.querySelector(`.pane[aria-label^="${name}:"] .tensor-map[aria-busy=false]`);
          if (map) resolve(performance.now() - start);
          else requestAnimationFrame(drawn);
        };
        drawn();
      }),
    block,
  );
  await page.waitForTimeout(500);
  await session.detach();
  return { milliseconds, bytes };
}

/** Redraws all heatmaps at every frame, by setting the same theme again. */
const REDRAW = `document.documentElement.dataset.theme = document.documentElement.dataset.theme;`;

/** The tensor page after a run, with the inspector at this height. */
async function openTensors(page: Page, bottom: number): Promise<void> {
  await page.evaluate((height) => {
    const settings = {
      bottom: height,
      bottomTab: "inspector",
      leftOpen: false,
      rightOpen: false,
      theme: "light",
    };
    localStorage.setItem("backblocks settings", JSON.stringify(settings));
  }, bottom);
  await page.reload();
  await page.locator(".file-list button", { hasText: "tensors" }).click();
  await page.waitForSelector("#block-million");
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(() => document.querySelector(".run-state")?.textContent?.includes("Done"));
  await page.waitForTimeout(500);
}

async function inspect(page: Page): Promise<void> {
  await openTensors(page, 440);
  await timeToSee(page, "small");
  for (const [what, block] of [
    ["a million cells are seen", "million"],
    ["100 million cells are seen", "large"],
  ] as const) {
    const { milliseconds, bytes } = await timeToSee(page, block);
    say(what, `${milliseconds.toFixed(0)} ms   ${(bytes / 1e6).toFixed(2)} MB moved`);
  }
  await page.setViewportSize({ width: 1440, height: 1640 });
  await openTensors(page, 1250);
  await timeToSee(page, "million");
  show("1,000 x 1,000 cells redrawn", await frames(page, 2500, REDRAW));
}

const { page, studio, errors, end } = await open({
  prepare: ({ folder }) => {
    writeFileSync(path.join(folder, "large.page.json"), largePage(BLOCKS));
    writeFileSync(path.join(folder, "tensors.page.json"), tensorPage());
    writeFileSync(path.join(folder, "explained.page.json"), explainedPage());
  },
});
try {
  await page.waitForSelector(".file-list button");
  // The palette must be loaded first.
  await page.waitForTimeout(1500);
  const opening = await page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        const start = performance.now();
        const button = [...document.querySelectorAll<HTMLElement>(".file-list button")].find((each) =>
          each.textContent?.includes("large"),
        );
        button?.click();
        const wait = () => {
          if (document.querySelector(".canvas"))
            requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - start)));
          else requestAnimationFrame(wait);
        };
        wait();
      }),
  );
  say(`open ${BLOCKS} blocks`, `${(opening / 1000).toFixed(2)} s`);
  await page.waitForTimeout(1500);
  await page.focus(".canvas");
  for (const zoom of [1, 0.35, 0.15]) {
    await zoomTo(page, zoom);
    show(`pan, zoom ${zoom}`, await frames(page, 2500, PAN));
    await frames(page, 50, PAN_END);
  }
  await zoomTo(page, 0.5);
  show("zoom sweep", await frames(page, 2500, SWEEP));
  await page.keyboard.press("0");
  await page.keyboard.press("Control+f");
  await page.keyboard.type(hubOf(BLOCKS));
  await page.keyboard.press("Enter");
  await page.waitForTimeout(500);
  const box = await page.locator(`[id="block-${hubOf(BLOCKS)}"]`).boundingBox();
  if (box === null) throw new Error("The block to drag is not seen.");
  await page.mouse.move(box.x + 60, box.y + 14);
  await page.mouse.down();
  const dragged = frames(page, 2500, "");
  for (let i = 0; i < 150; i++)
    await page.mouse.move(box.x + 60 + 90 * Math.sin(i / 8), box.y + 14 + 60 * Math.cos(i / 9));
  show("drag a block with 20 wires", await dragged);
  await page.mouse.up();
  await page.click(".brand");
  await measureExplain(page, say);
  await inspect(page);
  if (errors.length > 0) console.log(errors.join("\n"));
} finally {
  await end();
  void studio;
}
