import { ReactFlow, ReactFlowProvider, useOnViewportChange, useReactFlow } from "@xyflow/react";
import { type DragEvent, type ReactElement, useEffect, useMemo, useRef, useState } from "react";
import "@xyflow/react/dist/base.css";
import "../style/canvas.css";
import "../style/blocks.css";
import "../style/boxes.css";
import { type Item, namesOf } from "../../model/action.ts";
import { setAttr, setInput, setNote } from "../../model/actions.ts";
import { pictureAxes } from "../../model/axes.ts";
import { connectionError } from "../../model/connections.ts";
import type { InputRef, OutputRef } from "../../model/document.ts";
import { reasonText } from "../../model/format.ts";
import type { Rect } from "../../model/geometry.ts";
import { type Graph, keyOf } from "../../model/graph.ts";
import type { Viewport } from "../../model/viewport.ts";
import { live, type Watched } from "../../state/live.ts";
import { type PageState, studio, useStudio } from "../../state/store.ts";
import { coreStrings } from "../../text/index.ts";
import { dispatch, select } from "../active-page.ts";
import { canvasRef } from "../canvas-ref.ts";
import { openContextMenu } from "../context-menu.ts";
import { dropData } from "../dropped.ts";
import { OP_DRAG_TYPE } from "../panels/Palette.tsx";
import { updateSettings, useSettings } from "../settings.ts";
import { Icon } from "../shell/icons.tsx";
import { useStrings } from "../strings.ts";
import { tabStateChanged } from "../tab-state.ts";
import { ui, useUi } from "../ui.ts";
import { Block } from "./Block.tsx";
import { ConstantPopover } from "./ConstantPopover.tsx";
import { BlockContext, PageNumber } from "./context.ts";
import { canvasControl, centreViewport, MAX_ZOOM, MIN_ZOOM } from "./control.ts";
import { handleCanvasKey } from "./keyboard.ts";
import { MiniMap } from "./MiniMap.tsx";
import { Monitor } from "./Monitor.tsx";
import { Note } from "./Note.tsx";
import { NodeCache, type StageNode } from "./nodes.ts";
import { PointerController } from "./pointer.ts";
import { type Hit, type NearItems, Stage } from "./stage.ts";
import { liveSource } from "./thumbnails.ts";

const NODE_TYPES = { block: Block, note: Note, monitor: Monitor };
const NO_EDGES: never[] = [];
const NOTHING_NEAR: NearItems = { blocks: [], boxes: [] };

export function Canvas({ page }: { page: PageState }): ReactElement {
  return (
    <ReactFlowProvider key={page.page}>
      <Inside page={page} />
    </ReactFlowProvider>
  );
}

function Inside({ page }: { page: PageState }): ReactElement {
  const t = useStrings();
  const flow = useReactFlow();
  const root = useRef<HTMLDivElement>(null);
  const paper = useRef<HTMLCanvasElement>(null);
  const [stage, setStage] = useState<Stage | null>(null);
  const [near, setNear] = useState(NOTHING_NEAR);
  const [marquee, setMarquee] = useState<Rect | null>(null);
  const [wiring, setWiring] = useState(false);
  const [dropping, setDropping] = useState(false);
  const [zoom, setZoom] = useState(1);
  const editing = useUi((state) => state.editing);
  const { spotlight, minimap, theme, wheel } = useSettings();
  const pointer = useRef<PointerController | null>(null);
  const nodes = useRef(new NodeCache());
  const number = page.page;

  // Stage and pointer controller live as long as the page is shown.
  useEffect(() => {
    const canvas = paper.current as HTMLCanvasElement;
    const holder = root.current as HTMLDivElement;
    const made = new Stage(canvas);
    made.onNear = setNear;
    made.live = liveSource(number);
    made.readTheme();
    const size = new ResizeObserver(() => made.resize(holder.clientWidth, holder.clientHeight));
    size.observe(holder);
    made.resize(holder.clientWidth, holder.clientHeight);
    const now = () => studio.page(number);
    pointer.current = new PointerController(holder, made, {
      graph: () => now()?.graph ?? null,
      selection: () => now()?.selection ?? new Set(),
      select,
      dispatch: dispatch,
      search: (at, place, end) => ui.openSearch({ at, place, end }),
      menu: openContextMenu,
      open: openHit,
      refuse: (from, to) => {
        const graph = now()?.graph;
        if (graph) studio.notice("error", refusalText(graph, from, to));
      },
      marquee: setMarquee,
      wiring: setWiring,
    });
    const stopLive = live(number).onAny(() => {
      if (made.far) made.requestPaint();
    });
    setStage(made);
    return () => {
      size.disconnect();
      pointer.current?.end();
      made.stop();
      stopLive();
    };
  }, [number]);

  useEffect(() => {
    if (stage === null) return;
    const colours = new MutationObserver(() => stage.readTheme());
    colours.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    stage.readTheme();
    return () => colours.disconnect();
  }, [stage]);

  useEffect(() => {
    stage?.setGraph(page.graph, page.places);
  }, [stage, page.graph, page.places]);

  useEffect(() => {
    if (stage === null) return;
    const boxes = new Set([...page.selection].filter((each) => !/^(block|wire)\//.test(each)));
    stage.emphasis = {
      blocks: new Set(namesOf(page.selection, "block")),
      wires: new Set(namesOf(page.selection, "wire")),
      boxes,
      hovered: null,
      spotlight,
    };
    stage.requestPaint();
  }, [stage, page.selection, spotlight]);

  const move = useMemo(() => {
    let ended = 0;
    return (view: Viewport) => {
      const holder = root.current;
      // During a pan, DOM blocks are one compositor layer. During a zoom it would be blurred.
      holder?.classList.toggle("panning", view.zoom === stage?.viewport.zoom);
      clearTimeout(ended);
      ended = window.setTimeout(() => holder?.classList.remove("panning"), 160);
      live(number).viewport = view;
      tabStateChanged();
      stage?.setViewport(view);
      setZoom(view.zoom);
    };
  }, [stage, number]);
  useOnViewportChange({ onChange: move });

  // A page is fitted into the viewport at first, and later shown with its last viewport.
  useEffect(() => {
    if (stage === null) return;
    const control = canvasControl(stage, root.current as HTMLElement, flow);
    canvasRef.current = control;
    if (document.activeElement === document.body) control.focus();
    const before = live(number).viewport;
    if (before) void flow.setViewport(before);
    else control.showInitialView();
    return () => {
      canvasRef.current = null;
    };
  }, [stage, flow, number]);

  useWatchVisiblePins(number, near, page);

  const focus = page.selection.size === 1 ? ([...page.selection][0] as Item) : null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the scene is another one when the graph is.
  const shown = useMemo(() => {
    if (stage?.scene === null || stage === null) return [];
    return nodes.current.of({
      near,
      scene: stage.scene,
      selection: page.selection,
      editing,
      onText: (note, text) =>
        dispatch(setNote(studio.page(number)?.document ?? {}, note, text, useSettings.getState().language)),
      onDone: () => ui.setEditing(null),
    });
  }, [near, stage, stage?.scene, page.graph, page.places, page.selection, editing, number]);

  const actions = useMemo(
    () => ({
      set: {
        input: (to: Parameters<typeof setInput>[1], value: Parameters<typeof setInput>[2]) =>
          dispatch(setInput(studio.page(number)?.document ?? {}, to, value)),
        attr: (block: string, name: string, value: Parameters<typeof setAttr>[3]) => {
          const graph = studio.page(number)?.graph;
          if (graph) dispatch(setAttr(graph, block, name, value));
        },
      },
      openConstant: ui.openConstant,
    }),
    [number],
  );

  function drop(event: DragEvent) {
    event.preventDefault();
    setDropping(false);
    const box = (root.current as HTMLElement).getBoundingClientRect();
    const at = stage?.toPage(event.clientX - box.left, event.clientY - box.top) ?? { x: 0, y: 0 };
    const op = event.dataTransfer.getData(OP_DRAG_TYPE);
    if (op !== "") {
      const hit = stage?.hitTest(at, 14);
      ui.addOp(op, { x: at.x - 100, y: at.y - 14 }, hit?.kind === "wire" ? hit.wire : undefined);
    } else void dropData(event.dataTransfer, at);
  }

  const count = page.graph.blocks.size;
  return (
    <PageNumber.Provider value={number}>
      <BlockContext.Provider value={actions}>
        <div
          ref={root}
          className={wiring ? "canvas wiring" : "canvas"}
          role="application"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the canvas takes keys of its own, and is one stop of Tab.
          tabIndex={0}
          aria-label={t.canvasOf(page.document.title ?? page.path, count)}
          aria-roledescription={t.canvas}
          aria-activedescendant={
            focus?.startsWith("block/") && near.blocks.includes(focus.slice(6))
              ? `block-${focus.slice(6)}`
              : undefined
          }
          onKeyDown={(event) => {
            if (event.target === event.currentTarget) handleCanvasKey(event.nativeEvent, pointer.current);
          }}
          onDragOver={(event) => {
            event.preventDefault();
            setDropping(event.dataTransfer.types.includes("Files"));
          }}
          onDragLeave={() => setDropping(false)}
          onDrop={drop}
        >
          <canvas ref={paper} className="paper" />
          <ReactFlow<StageNode>
            nodes={shown}
            edges={NO_EDGES}
            nodeTypes={NODE_TYPES}
            minZoom={MIN_ZOOM}
            maxZoom={MAX_ZOOM}
            nodesDraggable={false}
            nodesConnectable={false}
            nodesFocusable={false}
            elementsSelectable={false}
            disableKeyboardA11y
            zoomOnDoubleClick={false}
            panOnDrag={PAN_BUTTONS}
            panOnScroll={wheel === "pan"}
            zoomOnScroll={wheel === "zoom"}
            selectionKeyCode={null}
            deleteKeyCode={null}
            multiSelectionKeyCode={null}
            panActivationKeyCode="Space"
            proOptions={PRO}
            ariaLabelConfig={NO_LABELS}
          />
          {marquee && (
            <div
              className="marquee"
              style={{ left: marquee.x, top: marquee.y, width: marquee.width, height: marquee.height }}
            />
          )}
          {count === 0 &&
            page.graph.wires.length === 0 &&
            Object.keys(page.document.notes ?? {}).length === 0 && (
              <div className="canvas-empty">
                <p>{t.emptyPage}</p>
                <p className="small">{t.emptyPageHow}</p>
              </div>
            )}
          {dropping && <div className="drop-here">{t.dropHere}</div>}
          <div className="canvas-tools" role="toolbar" aria-label={t.view}>
            <button
              type="button"
              className="button icon plain"
              tabIndex={-1}
              aria-label={t.zoomOut}
              title={t.zoomOut}
              onClick={() => ui.run("zoom out")}
            >
              <Icon name="minus" />
            </button>
            <button
              type="button"
              className="button plain zoom"
              tabIndex={-1}
              aria-label={`${Math.round(zoom * 100)}%, ${t.zoomOne}`}
              title={t.zoomOne}
              onClick={() => ui.run("zoom one")}
            >
              {Math.round(zoom * 100)}%
            </button>
            <button
              type="button"
              className="button icon plain"
              tabIndex={-1}
              aria-label={t.zoomIn}
              title={t.zoomIn}
              onClick={() => ui.run("zoom in")}
            >
              <Icon name="plus" />
            </button>
            <button
              type="button"
              className="button icon plain"
              tabIndex={-1}
              aria-label={t.zoomAll}
              title={t.zoomAll}
              onClick={() => ui.run("zoom all")}
            >
              <Icon name="fit" />
            </button>
            <button
              type="button"
              className="button icon plain"
              tabIndex={-1}
              aria-label={t.tidy}
              title={t.tidy}
              onClick={() => ui.run("tidy")}
            >
              <Icon name="tidy" />
            </button>
            <button
              type="button"
              className="button icon plain"
              tabIndex={-1}
              aria-pressed={spotlight}
              aria-label={t.spotlight}
              title={t.spotlight}
              onClick={() => updateSettings({ spotlight: !spotlight })}
            >
              <Icon name="spot" />
            </button>
            <button
              type="button"
              className="button icon plain"
              tabIndex={-1}
              aria-pressed={minimap}
              aria-label={t.miniMap}
              title={t.miniMap}
              onClick={() => updateSettings({ minimap: !minimap })}
            >
              <Icon name="map" />
            </button>
          </div>
          {minimap && stage && count > 0 && (
            <MiniMap key={theme} stage={stage} onGo={(at) => void centreViewport(stage, flow, at)} />
          )}
          <ConstantPopover page={page} />
        </div>
      </BlockContext.Provider>
    </PageNumber.Provider>
  );
}

const PAN_BUTTONS = [1];
/** React Flow's descriptions of its own keys, which are not used. */
const NO_LABELS = { "node.a11yDescription.default": "", "edge.a11yDescription.default": "" };
const PRO = { hideAttribution: true };

function openHit(hit: Hit): void {
  if (hit.kind === "block" || hit.kind === "input" || hit.kind === "output") ui.run("inspector");
  else if (hit.kind === "box" && hit.box.kind === "notes") ui.setEditing(hit.box.name);
  else if (hit.kind === "wire" || hit.kind === "bend") ui.insertOn(hit.wire);
  else updateSettings({ rightOpen: true, rightTab: "properties" });
}

function refusalText(graph: Graph, from: OutputRef, to: InputRef): string {
  const error = connectionError(graph, from, to);
  const reason = error ? reasonText(error, coreStrings[useSettings.getState().language]) : "";
  return `${from.block} → ${to.block}.${to.pin}: ${reason}`;
}

/** Tells the server which outputs are visible, debounced. */
function useWatchVisiblePins(page: number, near: NearItems, { graph, selection }: PageState): void {
  const connection = useStudio((state) => state.connection);
  const watched = useMemo(() => {
    const names = new Set([
      ...(near.blocks.length > 0 ? near.blocks : [...graph.blocks.keys()].slice(0, 200)),
      ...namesOf(selection, "block"),
    ]);
    const pins = [...names].flatMap(
      (name) => graph.blocks.get(name)?.outputs.map((pin) => keyOf(pin.ref)) ?? [],
    );
    const images = Object.values(graph.document.monitors ?? {}).filter(({ kind }) => kind === "image");
    const shown = images.flatMap((monitor) => (monitor.shows ?? []).map(({ pin }) => pin));
    const axes = [...pins, ...shown].flatMap((pin) => {
      const found = pictureAxes(graph, pin);
      return found ? [[pin, found] as const] : [];
    });
    return { pins, axes: Object.fromEntries(axes) };
  }, [near, graph, selection]);
  const text = JSON.stringify(watched);
  useEffect(() => {
    if (connection !== "open") return;
    const timer = setTimeout(() => studio.watch(page, JSON.parse(text) as Watched), 120);
    return () => clearTimeout(timer);
  }, [page, text, connection]);
}
