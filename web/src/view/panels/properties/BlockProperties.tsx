import { type ReactElement, useEffect, useRef } from "react";
import { item } from "../../../model/action.ts";
import * as actions from "../../../model/actions.ts";
import { dataFormat } from "../../../model/axes.ts";
import type { Json } from "../../../model/document.ts";
import { specText } from "../../../model/format.ts";
import { type AttrRow, type BlockView, type Graph, keyOf, specOf } from "../../../model/graph.ts";
import { forwardOf } from "../../../model/linked-gradients.ts";
import { nameError } from "../../../model/names.ts";
import { PLACEHOLDER } from "../../../model/ops.ts";
import { dispatch } from "../../active-page.ts";
import { Icon } from "../../shell/icons.tsx";
import { useCoreStrings, useStrings } from "../../strings.ts";
import { ui, useUi } from "../../ui.ts";
import { AttrField } from "../../widgets/AttrField.tsx";
import { ConstantEditor } from "../../widgets/ConstantEditor.tsx";
import { FixButtons } from "../../widgets/FixButtons.tsx";
import { asText, ValidatedField } from "../../widgets/ValidatedField.tsx";
import { Feed } from "./Feed.tsx";
import { InputProperties } from "./InputProperties.tsx";

export function BlockProperties({ graph, view }: { graph: Graph; view: BlockView }): ReactElement {
  const t = useStrings();
  const core = useCoreStrings();
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
    ui.clearField();
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
          <div key={problem.text}>
            <p className="bad small">
              {problem.text} {problem.hint}
            </p>
            <FixButtons problem={problem} />
          </div>
        ))}
        <div className="rows">
          <span className="label">{t.name}</span>
          <span data-field="name">
            <ValidatedField
              label={t.name}
              value={view.name}
              format={asText.format}
              read={(name) => {
                const fault = name === view.name ? undefined : nameError(name, document.blocks ?? {});
                return fault ? { error: core.names[fault] } : { value: name };
              }}
              onChange={(name) => {
                dispatch(actions.renameBlock(document, view.name, name));
                ui.select([item("block", name)]);
              }}
            />
          </span>
          <span className="label">{t.about}</span>
          <ValidatedField
            label={t.about}
            value={view.block.about ?? ""}
            {...asText}
            onChange={(about) => dispatch(actions.setAbout(document, view.name, about))}
          />
        </div>
      </div>
      {view.inputs.length > 0 && (
        <div className="section">
          <h3>{t.inputs}</h3>
          <div className="rows">
            {view.inputs.map((pin) => (
              <InputProperties key={pin.key} graph={graph} pin={pin} />
            ))}
          </div>
        </div>
      )}
      {view.rows.length + view.rest.length > 0 && (
        <div className="section">
          <h3>{t.attributes}</h3>
          <div className="rows">
            {[...view.rows, ...view.rest].map((row) => (
              <AttrLine key={row.name} graph={graph} view={view} row={row} />
            ))}
          </div>
        </div>
      )}
      {view.op === PLACEHOLDER && <Feed graph={graph} view={view} />}
      <Outputs graph={graph} view={view} />
      <div className="section">
        <label className="small">
          <input
            type="checkbox"
            checked={document.run?.targets?.includes(view.name) ?? false}
            onChange={() => dispatch(actions.toggleTarget(document, view.name))}
          />{" "}
          {t.alwaysRun}
        </label>
      </div>
      <div className="section">
        <div className="constant-fill">
          {actions.gradientsFor(view).length > 0 && (
            <button type="button" className="button" onClick={() => ui.run("gradient")}>
              <Icon name="gradient" />
              {core.commands.gradient}
            </button>
          )}
          <button type="button" className="button" onClick={() => ui.run("explain")}>
            <Icon name="spot" />
            {core.commands.explain}
          </button>
          <button type="button" className="button" onClick={() => ui.run("run here")}>
            <Icon name="to" />
            {core.commands["run here"]}
          </button>
        </div>
      </div>
    </div>
  );
}

function AttrLine({ graph, view, row }: { graph: Graph; view: BlockView; row: AttrRow }): ReactElement {
  const t = useStrings();
  const put = (value: Json | undefined) => dispatch(actions.setAttr(graph, view.name, row.name, value));
  const info = row.info ?? { name: row.name, kind: "json", options: [] };
  const forward = row.set ? forwardOf(graph, view, row.name) : undefined;
  return (
    <>
      <span className={row.missing ? "label bad" : "label"} title={row.info?.about}>
        {row.name}
        {row.set && row.info !== undefined && !row.info.required && (
          <button
            type="button"
            className="button icon plain"
            aria-label={t.resetToDefault(row.name)}
            title={t.resetToDefault(row.name)}
            onClick={() => put(undefined)}
          >
            <Icon name="reset" />
          </button>
        )}
      </span>
      <span data-field={row.name} className={info.kind === "tensor" ? "wide" : ""}>
        {info.kind === "tensor" ? (
          <ConstantEditor label={row.name} free={false} value={row.value} onChange={put} />
        ) : (
          <AttrField attr={info} value={row.value} axes={dataFormat(view)} onChange={put} />
        )}
        {forward !== undefined && (
          <span className="soft small linked" title={t.linkedAbout}>
            {t.linkedTo(forward)}
          </span>
        )}
      </span>
    </>
  );
}

function Outputs({ graph, view }: { graph: Graph; view: BlockView }): ReactElement | null {
  const t = useStrings();
  const core = useCoreStrings();
  const { document } = graph;
  if (view.outputs.length === 0) return null;
  const fetched = new Set(document.run?.fetch ?? []);
  return (
    <div className="section">
      <h3>{t.outputs}</h3>
      {view.outputs.map((pin) => {
        const key = keyOf(pin.ref);
        const spec = specOf(graph, key);
        return (
          <div className="wire-line" key={pin.key}>
            <span className="mono">{pin.key}</span>
            {spec && <span className="shape-chip">{specText(spec, core)}</span>}
            <button
              type="button"
              className="button icon plain"
              aria-label={t.connectFrom(pin.key)}
              title={t.connectFrom(pin.key)}
              onClick={() => ui.connectFrom(pin.ref)}
            >
              <Icon name="to" />
            </button>
            <button
              type="button"
              className="button icon plain"
              aria-label={t.addMonitor(pin.key)}
              title={t.addMonitor(pin.key)}
              onClick={() => ui.addMonitor(key)}
            >
              <Icon name="monitor" />
            </button>
            <label className="small">
              <input
                type="checkbox"
                checked={fetched.has(key)}
                onChange={() => dispatch(actions.toggleFetch(document, key))}
              />{" "}
              {t.fetchOutput}
            </label>
          </div>
        );
      })}
    </div>
  );
}
