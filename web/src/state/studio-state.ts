/** The state of the studio: connection, ops, open pages, tabs, notices. */

import { create } from "zustand";
import { Ops } from "../model/ops.ts";
import type { Connection } from "../net/client.ts";
import type { File, PageView, Unsaved, Welcome } from "../net/generated.ts";
import type { PageState } from "./page-state.ts";

export interface Notice {
  readonly id: number;
  readonly kind: "info" | "error";
  readonly text: string;
  /** The page that it is about; null if it is about none. */
  readonly page: number | null;
  /** A command that goes with it, such as one that undoes what it tells of. */
  readonly command?: "reopen";
}

export interface StudioState {
  readonly connection: Connection;
  readonly welcome: Welcome | null;
  readonly ops: Ops;
  /** Whether ops.json is loaded. */
  readonly ready: boolean;
  readonly pages: Readonly<Record<number, PageState>>;
  /** The open pages, in tab order. */
  readonly tabs: readonly number[];
  readonly active: number | null;
  /** Whether the pages of an earlier session are being opened. */
  readonly restoring: boolean;
  /** Closed pages, the last one last. */
  readonly closed: readonly PageView[];
  readonly drafts: readonly Unsaved[];
  readonly files: readonly File[];
  readonly notices: readonly Notice[];
  /** Recently used ops, the last one first. */
  readonly recent: readonly string[];
}

export const useStudio = create<StudioState>()(() => ({
  connection: "connecting",
  welcome: null,
  ops: new Ops([]),
  ready: false,
  pages: {},
  tabs: [],
  active: null,
  restoring: false,
  closed: [],
  drafts: [],
  files: [],
  notices: [],
  recent: [],
}));

/** The pages, their tabs and the active one. */
type Pages = Pick<StudioState, "pages" | "tabs" | "active">;

export function withoutPage({ pages, tabs, active }: Pages, page: number): Pages {
  const { [page]: _, ...others } = pages;
  const left = tabs.filter((each) => each !== page);
  const next = left[Math.min(tabs.indexOf(page), left.length - 1)] ?? null;
  return { pages: others, tabs: left, active: active === page ? next : active };
}

export function renumbered({ pages, tabs, active }: Pages, old: number, page: number): Pages {
  const { [old]: now, ...others } = pages;
  return {
    pages: { ...others, [page]: { ...(now as PageState), page } },
    tabs: tabs.map((each) => (each === old ? page : each)),
    active: active === old ? page : active,
  };
}
