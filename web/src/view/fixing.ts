/** Fixes of problems in the view: their texts, and how one is made. */

import { fixAction, type ProblemFix } from "../model/actions.ts";
import { valueText } from "../model/values.ts";
import type { Fix } from "../net/generated.ts";
import { isCheckCurrent, studio } from "../state/store.ts";
import type { ViewStrings } from "../text/view.en.ts";
import { currentPage, dispatch } from "./active-page.ts";
import { strings } from "./strings.ts";

export function fixText(fix: Fix, t: ViewStrings): string {
  const values = fix.values ?? {};
  const texts = Object.entries(values).map(([name, value]) => `${name} = ${text(value)}`);
  const [first = "", second = ""] = fix.args;
  switch (fix.kind) {
    case "set":
      return fix.like ? t.fixes.match(fix.like, texts.join(", ")) : t.fixes.set(texts.join(", "));
    case "insert":
      return t.fixes.insert(fix.op ?? "", first, texts.join(", "));
    case "swap":
      return t.fixes.swap(first, second);
    case "constant":
      return values.dtype === undefined
        ? t.fixes.shape(first, text(values.shape))
        : t.fixes.dtype(first, text(values.dtype));
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : valueText(value as never);
}

/** Makes a fix, as one step that can be undone. While a check is under way its fixes may be those of an older page. */
export function applyFix(which: ProblemFix): void {
  const page = currentPage();
  if (page === undefined || !isCheckCurrent(page)) return;
  const action = fixAction(page.graph, which);
  if (action) dispatch(action);
  else studio.notice("info", strings().fixes.outdated);
}
