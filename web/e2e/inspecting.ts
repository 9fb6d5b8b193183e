/** Helpers for tests of the inspector. */

import { writeFileSync } from "node:fs";
import path from "node:path";
import type { Locator, Page } from "playwright-core";
import { type Opened, open, restingBox, toPanel } from "./harness.ts";

export type Shown = "Heatmap" | "Table" | "3-D" | "List";

/** Opens a studio on one page that has run, with the inspector shown. */
export async function openInspector(blocks: Record<string, unknown>): Promise<Opened> {
  const names = Object.keys(blocks);
  const places = names.map((name, i) => [name, [(i % 4) * 320, Math.floor(i / 4) * 240]]);
  const content = { format: 1, title: "inspected", blocks, layout: { blocks: Object.fromEntries(places) } };
  const opened = await open({
    prepare: ({ folder }) => writeFileSync(path.join(folder, "inspected.page.json"), JSON.stringify(content)),
  });
  const { page } = opened;
  await opened.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.locator(".file-list button", { hasText: "inspected" }).click();
  await page.locator(".statusbar", { hasText: `${names.length} blocks` }).waitFor();
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(() => document.querySelector(".run-state")?.textContent?.includes("Done"));
  await page.click("#tab-inspector");
  return opened;
}

/** Actions and queries on the inspector's first pane. */
export function inspecting(page: Page) {
  const line = (): Locator => page.locator(".cell-line [role=status]").first();
  const show = (way: Shown): Promise<void> =>
    page.getByRole("button", { name: way, exact: true }).first().click();
  return {
    line,
    show,
    async select(block: string): Promise<void> {
      await page.locator(".canvas").focus();
      await page.keyboard.press("Control+f");
      await page.keyboard.type(block);
      await page.keyboard.press("Enter");
      await page.waitForSelector(`.pane[aria-label^="${block}:"] .pane-body`);
    },
    /** Moves the focus to the inspector by keys. */
    enter: (): Promise<void> => toPanel(page, "Alt+5", "inspector"),
    async statistic(name: string): Promise<number> {
      const found = page.locator(".statistics div", { has: page.locator(`dt:text-is("${name}")`) }).first();
      return Number((await found.locator("dd").textContent())?.replaceAll(",", ""));
    },
    /** A point of the first heatmap, relative to its corner. */
    async cellAt(x: number, y: number): Promise<{ x: number; y: number }> {
      const box = await restingBox(page.locator(".tensor-map").first());
      return { x: box.x + x, y: box.y + y };
    },
    /** The texts of a constant's elements. */
    async constant(): Promise<string[]> {
      await show("List");
      await page.waitForSelector(".element-table input");
      return page
        .locator(".element-table input")
        .evaluateAll((fields) => fields.map((field) => (field as HTMLInputElement).value));
    },
    async undo(): Promise<void> {
      await page.locator(".canvas").focus();
      await page.keyboard.press("Control+z");
    },
    /** Presses Tab until the focused element has this label. */
    async tabTo(name: RegExp, key = "Tab"): Promise<void> {
      for (let i = 0; i < 80; i++) {
        const label = await page.evaluate(
          () => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent,
        );
        if (name.test(label ?? "")) return;
        await page.keyboard.press(key);
      }
      throw new Error(`${key} never came to ${name}`);
    },
    /** The ends of the colour range of each pane. */
    ranges: (): Promise<string[]> =>
      page
        .locator(".histogram-ends")
        .evaluateAll((all) =>
          all.map((ends) =>
            [...ends.querySelectorAll("input")].map((field) => (field as HTMLInputElement).value).join(" "),
          ),
        ),
    async keep(block: string): Promise<void> {
      await page
        .locator(`.pane[aria-label^="${block}:"]`)
        .getByRole("button", { name: /^Pin this tensor/ })
        .click();
    },
    async letAllGo(): Promise<void> {
      const kept = page.getByRole("button", { name: "Unpin" });
      while (await kept.count()) await kept.first().click();
    },
    /** Unpins the cell. */
    async release(): Promise<void> {
      const pinned = page.locator(".cell-line").getByRole("button", { name: /^Pinned/ });
      while (await pinned.count()) await pinned.first().click();
    },
    /** Chooses an item of the copy menu. */
    async choose(name: string): Promise<void> {
      await page.getByRole("button", { name: "Copy and download" }).first().click();
      await page.locator(".menu-item", { hasText: name }).click();
    },
  };
}
