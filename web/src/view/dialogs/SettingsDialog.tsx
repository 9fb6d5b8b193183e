import type { ReactElement } from "react";
import { type Settings, updateSettings, useSettings } from "../settings.ts";
import { useStrings } from "../strings.ts";
import { ui } from "../ui.ts";
import { CloseButton, Dialog } from "./Dialog.tsx";

export function SettingsDialog(): ReactElement {
  const t = useStrings();
  const settings = useSettings();
  const choose = <Name extends "theme" | "language" | "wheel">(
    name: Name,
    label: string,
    options: readonly (readonly [Settings[Name], string])[],
  ) => (
    <>
      <label htmlFor={`setting-${name}`}>{label}</label>
      <select
        id={`setting-${name}`}
        className="field"
        value={settings[name]}
        onChange={(event) => updateSettings({ [name]: event.target.value })}
      >
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </>
  );
  const flag = (name: "spotlight" | "minimap" | "rerun", label: string) => (
    <>
      <label htmlFor={`setting-${name}`}>{label}</label>
      <input
        id={`setting-${name}`}
        type="checkbox"
        className="check"
        checked={settings[name]}
        onChange={(event) => updateSettings({ [name]: event.target.checked })}
      />
    </>
  );
  return (
    <Dialog title={t.settings} onClose={ui.closeDialog} actions={<CloseButton />}>
      <div className="rows">
        {choose("language", t.language, [
          ["en", "English"],
          ["ko", "한국어"],
        ])}
        {choose("theme", t.theme, [
          ["system", t.themes.system],
          ["light", t.themes.light],
          ["dark", t.themes.dark],
          ["contrast", t.themes.contrast],
        ])}
        {choose("wheel", t.wheel, [
          ["zoom", t.wheels.zoom],
          ["pan", t.wheels.pan],
        ])}
        {flag("spotlight", t.spotlight)}
        {flag("minimap", t.miniMap)}
        {flag("rerun", t.rerun)}
      </div>
    </Dialog>
  );
}
