import { create } from "zustand";

/** Settings of the user, kept in localStorage and never in a page. */
export interface Settings {
  theme: "system" | "light" | "dark" | "contrast";
  language: "en" | "ko";
  wheel: "zoom" | "pan";
  spotlight: boolean;
  minimap: boolean;
  rerun: boolean;
  left: number;
  right: number;
  bottom: number;
  leftOpen: boolean;
  rightOpen: boolean;
  bottomOpen: boolean;
  leftTab: "palette" | "outline";
  rightTab: "properties" | "docs" | "inspector";
  bottomTab: "problems" | "inspector" | "monitors" | "console" | "runs";
  inspectorDock: "bottom" | "right";
}

const KEY = "backblocks settings";

/**
 * Panels are open by default where the canvas beside them still shows a small page with text that can be read; each opens
 * from the status bar, by its keys, and when a command needs it.
 */
const ROOM = { left: innerWidth >= 1400, right: innerWidth >= 1800, bottom: innerHeight >= 1200 };

const DEFAULTS: Settings = {
  theme: "system",
  language: navigator.language.startsWith("ko") ? "ko" : "en",
  wheel: "zoom",
  spotlight: true,
  minimap: true,
  rerun: true,
  left: 232,
  right: 344,
  bottom: Math.min(300, Math.round(innerHeight / 3)),
  leftOpen: ROOM.left,
  rightOpen: ROOM.right,
  bottomOpen: ROOM.bottom,
  leftTab: "palette",
  rightTab: "properties",
  bottomTab: "problems",
  inspectorDock: "bottom",
};

function storedSettings(): Partial<Settings> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Settings>;
  } catch {
    return {};
  }
}

/** In a narrow window side panels overlay the canvas, one at a time, and start closed. */
const narrow = matchMedia("(max-width: 1000px)");
const PANELS_CLOSED: Partial<Settings> = { leftOpen: false, rightOpen: false };

const initialSettings = (): Settings => ({
  ...DEFAULTS,
  ...storedSettings(),
  ...(narrow.matches && PANELS_CLOSED),
});

export const useSettings = create<Settings>()(initialSettings);

narrow.addEventListener("change", () => useSettings.setState(initialSettings()));

export function updateSettings(settings: Partial<Settings>): void {
  const opened = settings.leftOpen || settings.rightOpen;
  useSettings.setState({ ...(narrow.matches && opened && PANELS_CLOSED), ...settings });
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...storedSettings(), ...settings }));
  } catch {
    // The studio works without localStorage.
  }
}

/** The theme of the user or, by default, of the system. */
export function resolvedTheme(theme: Settings["theme"]): "light" | "dark" | "contrast" {
  if (theme !== "system") return theme;
  if (matchMedia("(prefers-contrast: more)").matches) return "contrast";
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Applies theme and language to the document, now and after each change. */
export function applySettings(): () => void {
  const show = () => {
    const { theme, language } = useSettings.getState();
    document.documentElement.dataset.theme = resolvedTheme(theme);
    document.documentElement.lang = language;
  };
  show();
  const queries = ["(prefers-contrast: more)", "(prefers-color-scheme: dark)"].map((query) =>
    matchMedia(query),
  );
  for (const query of queries) query.addEventListener("change", show);
  const stop = useSettings.subscribe(show);
  return () => {
    stop();
    for (const query of queries) query.removeEventListener("change", show);
  };
}
