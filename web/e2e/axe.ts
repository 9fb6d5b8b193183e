/** Accessibility checks with axe-core. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { expect } from "vitest";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const THEMES = ["light", "dark", "contrast"] as const;

interface Fault {
  id: string;
  impact: string;
  nodes: { html: string; failureSummary: string }[];
}

/** Serious violations, one line each. axe is evaluated, since the page's Content-Security-Policy allows no script tags. */
async function faults(page: Page): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(readFileSync(AXE, "utf8"));
  const found = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then((result) => result.violations)",
  )) as Fault[];
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary.replaceAll("\n", " ")}`),
    );
}

/** Waits for CSS transitions to end. */
async function faded(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    const fading = document.getAnimations().filter((each) => each instanceof CSSTransition);
    await Promise.allSettled(fading.map(({ finished }) => finished));
  });
}

export async function inEveryTheme(page: Page): Promise<void> {
  for (const theme of THEMES) {
    await page.evaluate((name) => {
      document.documentElement.dataset.theme = name;
    }, theme);
    await faded(page);
    expect.soft(await faults(page), theme).toEqual([]);
  }
}
