import type { ReactElement } from "react";

/** Line icons on a 16-px grid; they take the colour of the text beside them. */
const PATHS = {
  play: "M5 3.5v9l7-4.5z",
  pause: "M5 3.5v9M11 3.5v9",
  stop: "M4 4h8v8H4z",
  step: "M4 3.5v9l6-4.5zM12 3.5v9",
  free: "M8 8C6.500 5.800 5.500 5 4.300 5a3 3 0 0 0 0 6C5.500 11 6.500 10.200 8 8s2.500-3 3.700-3a3 3 0 0 1 0 6C10.500 11 9.500 10.200 8 8",
  reset: "M3 3v4h4M3.4 7A5 5 0 1 1 4 11.2",
  to: "M2.5 8h7M6.5 4.5 10 8l-3.5 3.5M13 3v10",
  save: "M3 3h8l2 2v8H3zM5.5 3v3.5h4V3M5 13V9.5h6V13",
  undo: "M6 3.5 3 6.5l3 3M3 6.5h6a3.5 3.5 0 0 1 0 7H6",
  redo: "M10 3.5l3 3-3 3M13 6.5H7a3.5 3.5 0 0 0 0 7h3",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.5 10.5 14 14",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  fit: "M2.5 6v-3.500h3.5M10 2.500h3.500v3.500M13.500 10v3.500h-3.500M6 13.500h-3.500v-3.500",
  tidy: "M2.5 3h4v4h-4zM9.500 9h4v4h-4zM6.500 5h3a2 2 0 0 1 2 2v2",
  left: "M10 3.5 5.5 8l4.5 4.500",
  right: "M6 3.500 10.500 8 6 12.500",
  down: "M3.500 6 8 10.500 12.500 6",
  up: "M3.500 10 8 5.500 12.500 10",
  warning: "M8 2.500 14 13H2zM8 6.500v3M8 11.300v.01",
  good: "M3 8.500l3.500 3.500 6.500-8",
  gear: "M8 5.700a2.300 2.300 0 1 0 0 4.600 2.300 2.300 0 0 0 0-4.600zM8 1.800v2M8 12.200v2M1.800 8h2M12.200 8h2M3.600 3.600 5 5M11 11l1.400 1.400M3.600 12.400 5 11M11 5l1.400-1.400",
  help: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.300 6.300a1.800 1.800 0 1 1 2.500 1.700c-.500.300-.800.600-.800 1.200M8 11.300v.01",
  file: "M4 2.500h5l3 3v8H4zM9 2.500v3h3",
  folder: "M2 4h4l1.500 1.500H14v7H2z",
  export: "M8 10V2.500M5 5l3-3 3 3M3 9.500v4h10v-4",
  history: "M3 3v3.500h3.500M3.300 6.500A5 5 0 1 1 3 9.500M8 5.500V8l2 1.500",
  note: "M3 3h10v7l-3 3H3zM10 13v-3h3",
  frame: "M2.500 4.500h11v9h-11zM2.500 4.500v-2h5v2",
  monitor: "M2 13.500h12M3 11l3-4 2.500 2L13 3.500",
  map: "M2.500 3h11v10h-11zM6 6h4v3H6z",
  spot: "M8 2v2M8 12v2M2 8h2M12 8h2M8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  outline: "M3 3.500h3M5 8h8M5 12.500h8M8 3.500h5M3.500 3.500v9H5M3.500 8H5",
  gradient: "M8 13 2.500 3.500h11zM5 6.500h6",
  pin: "M6 2.500h4M6.500 2.500v4L4.500 9h7l-2-2.500v-4M8 9v4.500",
  dockRight: "M2.500 3h11v10h-11zM9.500 3v10",
  dockBelow: "M2.500 3h11v10h-11zM2.500 9h11",
  trash: "M3 4.500h10M6 4.500v-2h4v2M4.500 4.500l.500 9h6l.500-9M7 7v4M9 7v4",
  language:
    "M2 4h7M5.500 2.500V4M8 4c-.800 3-3 5-5.500 6M3.500 6c1 2 2.500 3.300 4.500 4M8.500 13.500 11 7l2.500 6.500M9.300 11.500h3.400",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): ReactElement {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill={name === "play" || name === "stop" ? "currentColor" : "none"}
        stroke="currentColor"
        strokeWidth={name === "more" ? 2.2 : 1.4}
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
