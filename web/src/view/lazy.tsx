/** Lazily loaded components: chunks of their own, loaded when first shown or when the browser is idle. */

import { type ComponentType, type ReactElement, useEffect, useState } from "react";
import { retryLoad } from "../net/retry.ts";

const loaders: (() => Promise<unknown>)[] = [];

/**
 * A component that is loaded when it is first shown; `meanwhile` is its fallback. React's `lazy` would show a loaded
 * component a moment late, and keys pressed in between would be lost.
 */
function lazyComponent<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  meanwhile: (props: Props) => ReactElement | null = () => null,
): (props: Props) => ReactElement | null {
  let Part: ComponentType<Props> | null = null;
  let fetching: Promise<void> | null = null;
  const fetched = () => {
    fetching ??= retryLoad(load).then((part) => {
      Part = part;
    });
    return fetching;
  };
  loaders.push(fetched);
  // biome-ignore lint/correctness/noComponentHookFactories: it is made once for each part, when this file is read.
  return function Later(props: Props) {
    const [, setThere] = useState(Part !== null);
    useEffect(() => void fetched().then(() => setThere(true)), []);
    return Part === null ? meanwhile(props) : <Part {...props} />;
  };
}

export const Workbench = lazyComponent(
  async () => (await import("./Workbench.tsx")).Workbench,
  () => <main className="workplace" />,
);
export const Gallery = lazyComponent(
  async () => (await import("./panels/Gallery.tsx")).Gallery,
  () => <main className="workplace" />,
);
export const Explain = lazyComponent(
  async () => (await import("./explain/Explain.tsx")).default,
  () => <main className="workplace" />,
);
export const Dialogs = lazyComponent(async () => (await import("./dialogs/Dialogs.tsx")).Dialogs);
export const Docs = lazyComponent(async () => (await import("./panels/Docs.tsx")).Docs);
export const Runs = lazyComponent(async () => (await import("./panels/Runs.tsx")).Runs);
export const Trend = lazyComponent(async () => (await import("./canvas/Trend.tsx")).Trend);
export const Markdown = lazyComponent(
  async () => (await import("./Markdown.tsx")).Markdown,
  ({ text }) => <div className="markdown">{text}</div>,
);

/** Preloads all lazy components. */
export function preloadAll(): void {
  for (const load of loaders) void load();
}
