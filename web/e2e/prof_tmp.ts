import { writeFileSync } from "node:fs";
import path from "node:path";
import { open } from "./harness.ts";
import { largePage } from "./pages.ts";
const { page, end, context } = await open({ prepare: (each) => writeFileSync(path.join(each.folder, "large.page.json"), largePage(1000)) });
try {
  await page.waitForSelector(".file-list button");
  await page.waitForTimeout(1000);
  await page.click(".file-list button");
  await page.waitForSelector(".canvas");
  await page.waitForTimeout(1500);
  await page.focus(".canvas");
  await page.keyboard.press("0");
  await page.waitForTimeout(500);
  const cdp = await context.newCDPSession(page);
  (cdp as any).on("LayerTree.layerTreeDidChange", (e: any) => { if (e.layers) (globalThis as any).layers = e.layers; });
  await cdp.send("LayerTree.enable"); await page.waitForTimeout(300);
  console.log("layers", (globalThis as any).layers?.length, "blocks", await page.locator(".block").count(), "dom", await page.evaluate(() => document.querySelectorAll("*").length));
  for (const l of ((globalThis as any).layers ?? []).slice(0, 40)) { const r = await cdp.send("LayerTree.compositingReasons", { layerId: l.layerId }).catch(() => ({ compositingReasonIds: [] })); console.log(l.width, l.height, JSON.stringify((r as any).compositingReasonIds)); }
  await cdp.send("LayerTree.disable");
  await cdp.send("Tracing.start" as never, { categories: "devtools.timeline,disabled-by-default-devtools.timeline,v8", transferMode: "ReportEvents" } as never).catch(()=>{});
  await cdp.send("Profiler.enable"); await cdp.send("Profiler.start");
  const events: any[] = []; (cdp as any).on("Tracing.dataCollected", (e: any) => events.push(...e.value));
  await page.evaluate(() => new Promise<void>((resolve) => {
    const pane = document.querySelector(".react-flow__pane") as HTMLElement; let i = 0; const start = performance.now();
    const at = { bubbles: true, cancelable: true, button: 1, buttons: 4, view: window };
    const frame = () => {
      const x = 700 + 160 * Math.sin(i / 20), y = 400 + 100 * Math.cos(i / 25);
      if (i++ === 0) pane.dispatchEvent(new MouseEvent("mousedown", { ...at, clientX: x, clientY: y }));
      else window.dispatchEvent(new MouseEvent("mousemove", { ...at, clientX: x, clientY: y }));
      if (performance.now() - start < 3000) requestAnimationFrame(frame); else resolve();
    }; requestAnimationFrame(frame); }));
  const { profile } = (await cdp.send("Profiler.stop")) as any;
  const done = new Promise((r) => (cdp as any).on("Tracing.tracingComplete", r));
  await cdp.send("Tracing.end" as never); await done;
  const self = new Map<string, number>(); const dt = profile.timeDeltas; const byId = new Map(profile.nodes.map((n: any) => [n.id, n]));
  profile.samples.forEach((id: number, i: number) => { const n: any = byId.get(id); const k = n.callFrame.functionName + ":" + n.callFrame.lineNumber + ":" + n.callFrame.columnNumber; self.set(k, (self.get(k) ?? 0) + dt[i]); });
  console.log([...self].sort((a, b) => b[1] - a[1]).slice(0, 18).map(([k, v]) => `${(v / 1000).toFixed(0)} ms ${k}`).join("\n"));
  const t = new Map<string, number>(); for (const e of events) if (e.dur) t.set(e.name, (t.get(e.name) ?? 0) + e.dur);
  console.log("frames", events.filter((e: any) => e.name === "FireAnimationFrame").length); console.log([...t].sort((a, b) => b[1] - a[1]).slice(0, 22).map(([k, v]) => `${(v / 1000).toFixed(0)} ms ${k}`).join("\n"));
} finally { await end(); }
