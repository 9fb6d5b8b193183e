import { type ReactElement, useEffect, useRef } from "react";
import { item, namesOf } from "../../model/action.ts";
import * as actions from "../../model/actions.ts";
import { type Json, readWire } from "../../model/document.ts";
import { type AttrRow, type BlockView, type Graph, type InputPin, keyOf, specOf } from "../../model/graph.ts";
import { nameFault } from "../../model/names.ts";
import { PLACEHOLDER } from "../../model/ops.ts";
import { shortSpec, specText } from "../../model/words.ts";
import { axesOf } from "../canvas/Block.tsx";
import { labelOf } from "../canvas/monitored.ts";
import { act, useGraph, useSelection } from "../page.ts";
import { Icon } from "../shell/icons.tsx";
import { ui, useUi } from "../ui.ts";
import { AttrField } from "../widgets/AttrField.tsx";
import { Entry } from "../widgets/Entry.tsx";
import { MatrixGrid } from "../widgets/MatrixGrid.tsx";
import { useTexts, useWords } from "../words.ts";

/** What can be said of the selection: of one block everything, of several what they share, of none the page. */
export function Properties(): ReactElement {
  const w = useWords();
  const graph = useGraph();
  const selection = useSelection();
  if (graph === null) return <p className="empty">{w.noPage}</p>;
  if (selection.size === 0) return <PageProperties graph={graph} />;
  if (selection.size > 1) return <Several />;
  const [block] = namesOf(selection, "block");
  const view = block === undefined ? undefined : graph.blocks.get(block);
  if (view) return <BlockProperties key={view.name} graph={graph} view={view} />;
  const [wire] = namesOf(selection, "wire");
  if (wire !== undefined) return <WireProperties graph={graph} id={wire} />;
  const [note] = namesOf(selection, "note");
  if (note !== undefined) return <NoteProperties graph={graph} name={note} />;
  const [frame] = namesOf(selection, "frame");
  if (frame !== undefined) return <FrameProperties graph={graph} name={frame} />;
  const [monitor] = namesOf(selection, "monitor");
  if (monitor !== undefined) return <MonitorProperties graph={graph} name={monitor} />;
  return <p className="empty">{w.noPage}</p>;
}

const text = { format: (value: string) => value, read: (value: string) => ({ value }) };

function BlockProperties({ graph, view }: { graph: Graph; view: BlockView }): ReactElement {
  const w = useWords();
  const texts = useTexts();
  const root = useRef<HTMLDivElement>(null);
  const field = useUi((state) => state.field);
  const { document } = graph;
  useEffect(() => {
    if (field === null || field.block !== view.name) return;
    const row = root.current?.querySelector(
      field.name ? `[data-field="${CSS.escape(field.name)}"]` : "[data-field]",
    );
    const target = row?.querySelector<HTMLElement>(".cell, input, select, button") ?? row;
    if (target instanceof HTMLElement) target.focus();
    ui.fieldShown();
  }, [field, view.name]);
  const problems = graph.problems.get(view.name) ?? [];
  return (
    <div ref={root}>
      <div className="section">
        <div className="section-title">
          <h2>{view.name}</h2>
          <span className="soft">{view.op}</span>
        </div>
        {problems.map((problem) => (
          <p className="bad small" key={problem.text}>
            {problem.text} {problem.hint}
          </p>
        ))}
        <div className="rows">
          <span className="label">{w.name}</span>
          <span data-field="name">
            <Entry
              label={w.name}
              value={view.name}
              format={text.format}
              read={(name) => {
                const fault = name === view.name ? undefined : nameFault(name, document.blocks ?? {});
                return fault ? { error: texts.names[fault] } : { value: name };
              }}
              onChange={(name) => {
                act(actions.renameBlock(document, view.name, name));
                ui.select([item("block", name)]);
              }}
            />
          </span>
          <span className="label">{w.about}</span>
          <Entry
            label={w.about}
            value={view.block.about ?? ""}
            {...text}
            onChange={(about) => act(actions.setAbout(document, view.name, about))}
          />
        </div>
      </div>
      {view.inputs.length > 0 && (
        <div className="section">
          <h3>{w.inputs}</h3>
          <div className="rows">
            {view.inputs.map((pin) => (
              <InputRow key={pin.key} graph={graph} pin={pin} />
            ))}
          </div>
        </div>
      )}
      {view.rows.length + view.rest.length > 0 && (
        <div className="section">
          <h3>{w.attributes}</h3>
          <div className="rows">
            {[...view.rows, ...view.rest].map((row) => (
              <AttrLine key={row.name} graph={graph} view={view} row={row} />
            ))}
          </div>
        </div>
      )}
      {view.op === PLACEHOLDER && (
        <div className="section">
          <h3>{w.fed}</h3>
          <MatrixGrid
            label={w.fed}
            free={false}
            value={graph.document.run?.feeds?.[view.name]}
            onChange={(value) => act(actions.setFeed(document, view.name, value))}
          />
        </div>
      )}
      <Outputs graph={graph} view={view} />
      <div className="section">
        <div className="constant-fill">
          {actions.gradientsFor(view).length > 0 && (
            <button type="button" className="button" onClick={() => ui.run("gradient")}>
              <Icon name="gradient" />
              {texts.commands.gradient}
            </button>
          )}
          <button type="button" className="button" onClick={() => ui.run("run here")}>
            <Icon name="to" />
            {texts.commands["run here"]}
          </button>
        </div>
      </div>
    </div>
  );
}

function InputRow({ graph, pin }: { graph: Graph; pin: InputPin }): ReactElement {
  const w = useWords();
  const { document } = graph;
  const wire = typeof pin.value === "string" ? readWire(pin.value) : undefined;
  const spec =
    typeof pin.value === "string"
      ? specOf(graph, graph.byId.get(`${pin.ref.block}:${pin.key}`)?.source ?? pin.value)
      : undefined;
  return (
    <>
      <span className="label">{pin.key}</span>
      <span data-field={pin.key}>
        {wire !== undefined ? (
          <span className="wire-line">
            <button
              type="button"
              className="button plain mono"
              onClick={() => ui.reveal(item("block", wire.block))}
            >
              {String(pin.value)}
            </button>
            {spec && <span className="shape-chip">{shortSpec(spec)}</span>}
            <button
              type="button"
              className="button icon plain"
              aria-label={w.disconnect(pin.key)}
              title={w.disconnect(pin.key)}
              onClick={() => act(actions.setInput(document, pin.ref, undefined))}
            >
              <Icon name="close" />
            </button>
          </span>
        ) : (
          <>
            {pin.state === "constant" && !pin.more && (
              <MatrixGrid
                label={pin.key}
                free
                value={pin.value}
                onChange={(value) => act(actions.setInput(document, pin.ref, value))}
              />
            )}
            <span className="wire-line">
              {pin.state !== "constant" && !pin.more && (
                <button
                  type="button"
                  className="button"
                  onClick={() => act(actions.setInput(document, pin.ref, 0))}
                >
                  {w.typeConstant}
                </button>
              )}
              <button type="button" className="button" onClick={() => ui.connectTo(pin.ref)}>
                {w.connect}
              </button>
              {pin.state === "constant" && (
                <button
                  type="button"
                  className="button icon plain"
                  aria-label={w.clear(pin.key)}
                  title={w.clear(pin.key)}
                  onClick={() => act(actions.setInput(document, pin.ref, undefined))}
                >
                  <Icon name="close" />
                </button>
              )}
            </span>
          </>
        )}
      </span>
    </>
  );
}

function AttrLine({ graph, view, row }: { graph: Graph; view: BlockView; row: AttrRow }): ReactElement {
  const w = useWords();
  const put = (value: Json | undefined) => act(actions.setAttr(graph.document, view.name, row.name, value));
  const info = row.info ?? { name: row.name, kind: "json", options: [] };
  return (
    <>
      <span className={row.missing ? "label bad" : "label"} title={row.info?.about}>
        {row.name}
        {row.set && row.info !== undefined && !row.info.required && (
          <button
            type="button"
            className="button icon plain"
            aria-label={w.asBefore(row.name)}
            title={w.asBefore(row.name)}
            onClick={() => put(undefined)}
          >
            <Icon name="reset" />
          </button>
        )}
      </span>
      <span data-field={row.name} className={info.kind === "tensor" ? "wide" : ""}>
        {info.kind === "tensor" ? (
          <MatrixGrid label={row.name} free={false} value={row.value} onChange={put} />
        ) : (
          <AttrField attr={info} value={row.value} axes={axesOf(view)} onChange={put} />
        )}
      </span>
    </>
  );
}

function Outputs({ graph, view }: { graph: Graph; view: BlockView }): ReactElement | null {
  const w = useWords();
  const texts = useTexts();
  const { document } = graph;
  if (view.outputs.length === 0) return null;
  const fetched = new Set(document.run?.fetch ?? []);
  return (
    <div className="section">
      <h3>{w.outputs}</h3>
      {view.outputs.map((pin) => {
        const key = keyOf(pin.ref);
        const spec = specOf(graph, key);
        return (
          <div className="wire-line" key={pin.key}>
            <span className="mono">{pin.key}</span>
            {spec && <span className="shape-chip">{specText(spec, texts)}</span>}
            <button
              type="button"
              className="button icon plain"
              aria-label={w.connectFrom(pin.key)}
              title={w.connectFrom(pin.key)}
              onClick={() => ui.connectFrom(pin.ref)}
            >
              <Icon name="to" />
            </button>
            <button
              type="button"
              className="button icon plain"
              aria-label={w.watch(pin.key)}
              title={w.watch(pin.key)}
              onClick={() => ui.addMonitor(key)}
            >
              <Icon name="monitor" />
            </button>
            <label className="small">
              <input
                type="checkbox"
                checked={fetched.has(key)}
                onChange={() => act(actions.toggleFetch(document, key))}
              />{" "}
              {w.wanted}
            </label>
          </div>
        );
      })}
    </div>
  );
}

function WireProperties({ graph, id }: { graph: Graph; id: string }): ReactElement {
  const w = useWords();
  const texts = useTexts();
  const wire = graph.byId.get(id);
  if (wire === undefined) return <p className="empty">{w.noPage}</p>;
  const spec = specOf(graph, wire.source);
  return (
    <div className="section">
      <div className="section-title">
        <h2>{w.wire}</h2>
      </div>
      <div className="rows">
        <span className="label">{w.from}</span>
        <button
          type="button"
          className="button plain mono"
          onClick={() => ui.reveal(item("block", wire.from.block))}
        >
          {wire.source}
        </button>
        <span className="label">{w.to}</span>
        <button
          type="button"
          className="button plain mono"
          onClick={() => ui.reveal(item("block", wire.to.block))}
        >
          {wire.id}
        </button>
        {spec && (
          <>
            <span className="label">{w.carries}</span>
            <span className="shape-chip">{specText(spec, texts)}</span>
          </>
        )}
      </div>
      <div className="constant-fill">
        <button type="button" className="button" onClick={() => ui.insertOn(id)}>
          <Icon name="plus" />
          {w.insertBlock}
        </button>
        <button
          type="button"
          className="button"
          onClick={() => act(actions.disconnect(graph.document, [wire]))}
        >
          <Icon name="trash" />
          {w.removeWire}
        </button>
      </div>
    </div>
  );
}

function NoteProperties({ graph, name }: { graph: Graph; name: string }): ReactElement {
  const w = useWords();
  return (
    <div className="section">
      <div className="section-title">
        <h2>{w.note}</h2>
      </div>
      <textarea
        className="field"
        rows={12}
        aria-label={w.noteText}
        key={graph.document.notes?.[name]?.text}
        defaultValue={graph.document.notes?.[name]?.text ?? ""}
        onBlur={(event) => {
          if (event.target.value !== graph.document.notes?.[name]?.text)
            act(actions.setNote(graph.document, name, event.target.value));
        }}
      />
    </div>
  );
}

function FrameProperties({ graph, name }: { graph: Graph; name: string }): ReactElement {
  const w = useWords();
  const frame = graph.document.frames?.[name];
  return (
    <div className="section">
      <div className="section-title">
        <h2>{w.frame}</h2>
      </div>
      <div className="rows">
        <span className="label">{w.title}</span>
        <Entry
          label={w.title}
          value={frame?.title ?? ""}
          {...text}
          onChange={(title) => act(actions.setFrame(graph.document, name, { title }))}
        />
        <span className="label">{w.blocks}</span>
        <Entry<readonly string[]>
          label={w.blocks}
          value={frame?.blocks ?? []}
          format={(blocks) => blocks.join(", ")}
          read={(typed) => {
            const blocks = typed.split(/[\s,]+/).filter((each) => each !== "");
            const unknown = blocks.find((each) => !graph.blocks.has(each));
            return unknown === undefined ? { value: blocks } : { error: w.noSuchBlock(unknown) };
          }}
          onChange={(blocks) => act(actions.setFrame(graph.document, name, { blocks }))}
        />
      </div>
    </div>
  );
}

const KINDS = ["number", "trend", "image", "histogram"] as const;

function MonitorProperties({ graph, name }: { graph: Graph; name: string }): ReactElement {
  const w = useWords();
  const { document } = graph;
  const monitor = document.monitors?.[name];
  const outputs = [...graph.blocks.values()].flatMap((view) => view.outputs.map((pin) => keyOf(pin.ref)));
  if (monitor === undefined) return <p className="empty">{w.noPage}</p>;
  const limit = (field: "low" | "high" | "steps") => (
    <Entry<number | null>
      label={w.limits[field]}
      value={monitor[field] ?? null}
      format={(value) => (value === null ? "" : String(value))}
      hint={w.found}
      read={(typed) => {
        if (typed.trim() === "") return { value: null };
        const number = Number(typed);
        return Number.isFinite(number) ? { value: number } : { error: w.aNumber };
      }}
      onChange={(value) => act(actions.setMonitor(document, name, { [field]: value ?? undefined }))}
    />
  );
  return (
    <div className="section">
      <div className="section-title">
        <h2>{w.monitor}</h2>
      </div>
      <div className="rows">
        <label htmlFor="monitor-kind">{w.kind}</label>
        <select
          id="monitor-kind"
          className="field"
          value={monitor.kind}
          onChange={(event) => act(actions.setMonitor(document, name, { kind: event.target.value }))}
        >
          {KINDS.map((kind) => (
            <option key={kind} value={kind}>
              {w.monitorKinds[kind]}
            </option>
          ))}
        </select>
        <span className="label">{w.title}</span>
        <Entry
          label={w.title}
          value={monitor.title ?? ""}
          {...text}
          onChange={(title) => act(actions.setMonitor(document, name, { title }))}
        />
        <span className="label">{w.limits.low}</span>
        {limit("low")}
        <span className="label">{w.limits.high}</span>
        {limit("high")}
        {monitor.kind === "trend" && (
          <>
            <span className="label">{w.limits.steps}</span>
            {limit("steps")}
          </>
        )}
        <span className="label">{w.shows}</span>
        <span>
          {(monitor.shows ?? []).map((shown, i) => (
            <span className="wire-line" key={`${shown.pin} ${String(shown.element)}`}>
              <span className="mono">{labelOf(shown)}</span>
              <button
                type="button"
                className="button icon plain"
                aria-label={w.clear(labelOf(shown))}
                onClick={() =>
                  act(
                    actions.setMonitor(document, name, {
                      shows: (monitor.shows ?? []).filter((_, at) => at !== i),
                    }),
                  )
                }
              >
                <Icon name="close" />
              </button>
            </span>
          ))}
          <select
            className="field"
            aria-label={w.showMore}
            value=""
            onChange={(event) => act(actions.toggleShown(document, name, event.target.value))}
          >
            <option value="">{w.showMore}</option>
            {outputs.map((pin) => (
              <option key={pin}>{pin}</option>
            ))}
          </select>
        </span>
      </div>
    </div>
  );
}

function Several(): ReactElement {
  const w = useWords();
  const texts = useTexts();
  const selection = useSelection();
  const blocks = namesOf(selection, "block");
  return (
    <div className="section">
      <div className="section-title">
        <h2>{w.selected(selection.size)}</h2>
      </div>
      <p className="soft small">{blocks.slice(0, 12).join(", ")}</p>
      <div className="constant-fill">
        {(
          [
            "align left",
            "align top",
            "distribute across",
            "distribute down",
            "frame",
            "extract",
            "gradients",
          ] as const
        ).map((command) => (
          <button
            key={command}
            type="button"
            className="button"
            disabled={blocks.length < 2}
            onClick={() => ui.run(command)}
          >
            {texts.commands[command]}
          </button>
        ))}
      </div>
    </div>
  );
}

function PageProperties({ graph }: { graph: Graph }): ReactElement {
  const w = useWords();
  const { document } = graph;
  const run = document.run ?? {};
  const wholeOrNothing = (least: number) => (typed: string) => {
    if (typed.trim() === "") return { value: null };
    const number = Number(typed);
    return Number.isInteger(number) && number >= least ? { value: number } : { error: w.wholeAtLeast(least) };
  };
  const shown = (value: number | null) => (value === null ? "" : String(value));
  return (
    <>
      <div className="section">
        <div className="section-title">
          <h2>{w.page}</h2>
        </div>
        <div className="rows">
          <span className="label">{w.title}</span>
          <Entry
            label={w.title}
            value={document.title ?? ""}
            {...text}
            onChange={(title) => act(actions.setTitle(document, "title", title))}
          />
          <span className="label">{w.about}</span>
          <Entry
            label={w.about}
            value={document.about ?? ""}
            {...text}
            onChange={(about) => act(actions.setTitle(document, "about", about))}
          />
        </div>
      </div>
      <div className="section">
        <h3>{w.howItRuns}</h3>
        <div className="rows">
          <span className="label">{w.wantedValues}</span>
          <Pins
            graph={graph}
            label={w.wantedValues}
            value={run.fetch ?? []}
            onChange={(fetch) => act(actions.setRun(document, { fetch }))}
          />
          <span className="label">{w.targets}</span>
          <Pins
            graph={graph}
            label={w.targets}
            value={run.targets ?? []}
            onChange={(targets) => act(actions.setRun(document, { targets }))}
          />
          <span className="label">{w.steps}</span>
          <Entry<number | null>
            label={w.steps}
            value={run.steps ?? null}
            format={shown}
            hint="1"
            read={wholeOrNothing(1)}
            onChange={(steps) => act(actions.setRun(document, { steps }))}
          />
          <span className="label">{w.until}</span>
          <Entry
            label={w.until}
            value={run.until ?? ""}
            hint={w.anOutput}
            {...text}
            onChange={(until) => act(actions.setRun(document, { until }))}
          />
          <span className="label">{w.seed}</span>
          <Entry<number | null>
            label={w.seed}
            value={run.seed ?? null}
            format={shown}
            read={wholeOrNothing(0)}
            onChange={(seed) => act(actions.setRun(document, { seed }))}
          />
        </div>
      </div>
      <div className="section small soft">{w.counted(graph.blocks.size, graph.wires.length)}</div>
    </>
  );
}

function Pins({
  graph,
  label,
  value,
  onChange,
}: {
  graph: Graph;
  label: string;
  value: readonly string[];
  onChange(value: readonly string[]): void;
}): ReactElement {
  const w = useWords();
  return (
    <Entry<readonly string[]>
      label={label}
      value={value}
      format={(names) => names.join(", ")}
      read={(typed) => {
        const names = typed.split(/[\s,]+/).filter((each) => each !== "");
        const unknown = names.find((each) => !graph.blocks.has(readWire(each).block));
        return unknown === undefined ? { value: names } : { error: w.noSuchBlock(unknown) };
      }}
      onChange={onChange}
    />
  );
}
