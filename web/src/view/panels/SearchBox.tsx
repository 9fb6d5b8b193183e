import {
  type KeyboardEvent,
  type ReactElement,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { addConnected, item, replaceOp } from "../../model/actions.ts";
import { type ConnectionError, matchInput, matchOutput, outputType } from "../../model/connections.ts";
import { reasonText } from "../../model/format.ts";
import type { Graph } from "../../model/graph.ts";
import type { OpInfo, Ops } from "../../model/ops.ts";
import { OpSearch, type SearchOptions, searchBlocks } from "../../model/search.ts";
import { commands, isEnabled } from "../../state/commands.ts";
import { chordText } from "../../state/keybindings.ts";
import { studio, useStudio } from "../../state/store.ts";
import { currentPage, dispatch, useGraph, useOps } from "../active-page.ts";
import type { WireEnd } from "../canvas/pointer-host.ts";
import { useCoreStrings, useStrings } from "../strings.ts";
import { type SearchState, ui, useUi } from "../ui.ts";

interface Entry {
  id: string;
  name: string;
  about: string;
  group: string;
  /** Why it is disabled. */
  why?: string | undefined;
  choose(): void;
}

/** Quick search: ops to add, blocks of the page, or commands (the command palette). */
export function SearchBox(): ReactElement | null {
  const search = useUi((state) => state.search);
  return search && <Box key={`${search.mode} ${search.place.x} ${search.place.y}`} search={search} />;
}

function Box({ search }: { search: SearchState }): ReactElement {
  const t = useStrings();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const box = useRef<HTMLDivElement>(null);
  const entries = useEntries(search, typed);
  const awaited = useStudio((state) => search.mode === "blocks" && !state.ready);
  const current = entries[Math.min(at, entries.length - 1)];

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const { width } = element.getBoundingClientRect();
    const x = search.at?.x ?? (innerWidth - width) / 2;
    const y = search.at?.y ?? innerHeight * 0.16;
    element.style.left = `${Math.max(8, Math.min(x, innerWidth - width - 8))}px`;
    element.style.top = `${Math.max(8, Math.min(y, innerHeight - 420))}px`;
  }, [search]);
  useEffect(() => {
    const outside = (event: PointerEvent) => {
      if (!box.current?.contains(event.target as Node)) ui.closeSearch();
    };
    document.addEventListener("pointerdown", outside, true);
    return () => document.removeEventListener("pointerdown", outside, true);
  }, []);
  useEffect(() => {
    document.getElementById(`${list}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [list, at]);

  function choose(entry: Entry | undefined) {
    if (entry === undefined || entry.why !== undefined) return;
    ui.closeSearch();
    entry.choose();
  }
  function key(event: KeyboardEvent) {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    const step = steps[event.key];
    if (step !== undefined) setAt(Math.max(0, Math.min(entries.length - 1, at + step)));
    else if (event.key === "Enter") choose(current);
    else if (event.key === "Escape" || event.key === "Tab") ui.closeSearch();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  const label = { blocks: t.findBlock, commands: t.findCommand, page: t.findOnPage }[search.mode];
  return (
    <div className="search" ref={box} role="dialog" aria-label={label}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={current ? `${list}-${Math.min(at, entries.length - 1)}` : undefined}
        aria-label={label}
        placeholder={label}
        autoComplete="off"
        spellCheck={false}
        // biome-ignore lint/a11y/noAutofocus: the box is opened to type in it.
        autoFocus
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
        onKeyDown={key}
      />
      {search.end && (
        <div className="search-about">
          {"from" in search.end
            ? t.thatTake(search.end.from.block)
            : t.thatGive(`${search.end.to.block}.${search.end.to.pin}`)}
        </div>
      )}
      {search.wire && <div className="search-about">{t.onWire(search.wire)}</div>}
      {search.replace && <div className="search-about">{t.replaceBy(search.replace)}</div>}
      <div className="found" id={list} role="listbox" aria-label={label} tabIndex={-1}>
        {entries.map((entry, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys are taken by the field above.
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field above.
          <div
            key={entry.id}
            id={`${list}-${i}`}
            role="option"
            aria-selected={entry === current}
            aria-disabled={entry.why !== undefined}
            onPointerMove={() => setAt(i)}
            onClick={() => choose(entry)}
          >
            <span className="name">{entry.name}</span>
            <span className="group">{entry.group}</span>
            <span className="about">{entry.why ?? entry.about}</span>
          </div>
        ))}
      </div>
      {entries.length === 0 && <p className="empty">{awaited ? t.loading : t.nothingFound}</p>}
    </div>
  );
}

let index: { ops: Ops; search: OpSearch } | null = null;

/** The search index, built at the first search. */
function searchOf(ops: Ops): OpSearch {
  if (index?.ops !== ops) index = { ops, search: new OpSearch(ops) };
  return index.search;
}

function useEntries(search: SearchState, typed: string): Entry[] {
  const t = useStrings();
  const core = useCoreStrings();
  const ops = useOps();
  const graph = useGraph();
  const recent = useStudio((state) => state.recent);
  return useMemo(() => {
    if (search.mode === "commands") return commandEntries(typed, core.commands);
    if (search.mode === "page") {
      if (graph === null) return [];
      return searchBlocks(graph, typed).map((name) => ({
        id: name,
        name,
        about: graph.blocks.get(name)?.block.about ?? "",
        group: graph.blocks.get(name)?.op ?? "",
        choose: () => ui.reveal(item("block", name)),
      }));
    }
    const fitOf = graph === null ? undefined : matcherFor(graph, search.end);
    const wanted: SearchOptions = fitOf ? { recent, fitOf, most: 60 } : { recent, most: 60 };
    const found = searchOf(ops).search(typed, wanted);
    return found.map(({ op, pin, reason }) => ({
      id: op.name,
      name: pin === undefined ? op.name : `${op.name} · ${pin}`,
      about: op.summary.replaceAll("`", ""),
      group: t.groupName(op.group, op.group_title),
      why: reason && reasonText(reason as ConnectionError, core),
      choose: () => add(search, op, pin),
    }));
  }, [search, typed, ops, graph, recent, t, core]);
}

function matcherFor(
  graph: Graph,
  end: WireEnd | null,
): ((op: OpInfo) => ReturnType<typeof matchInput>) | undefined {
  if (end === null) return undefined;
  if ("to" in end) return (op) => matchOutput(graph, end.to, op);
  const offer = outputType(graph, end.from);
  return (op) => matchInput(offer, op);
}

function add(search: SearchState, op: OpInfo, pin: string | undefined): void {
  const page = currentPage();
  if (page === undefined) return;
  if (search.replace !== null) {
    dispatch(replaceOp(page.graph, search.replace, op));
    return;
  }
  if (search.end === null) {
    const { x, y } = search.place;
    ui.addOp(
      op.name,
      search.at === null && search.wire === null ? undefined : { x, y: y - 14 },
      search.wire ?? undefined,
    );
    return;
  }
  const { x, y } = search.place;
  const place = "from" in search.end ? { x, y: y - 39 } : { x: x - 200, y: y - 39 };
  dispatch(addConnected(page.graph, op, place, search.end, pin));
  studio.noteUsedOp(op.name);
  ui.showDocs(op.name);
}

function commandEntries(typed: string, names: Record<string, string>): Entry[] {
  const wanted = typed.trim().toLowerCase();
  return [...commands.values()]
    .filter(({ id }) => id !== "palette" && isEnabled(id) && (names[id] ?? id).toLowerCase().includes(wanted))
    .map(({ id, keys }) => ({
      id,
      name: names[id] ?? id,
      about: "",
      group: keys[0] === undefined ? "" : chordText(keys[0]),
      choose: () => ui.run(id),
    }));
}
