import type { ReactElement } from "react";
import { type Settings, updateSettings, useSettings } from "../settings.ts";
import { ui } from "../ui.ts";
import { useWords } from "../words.ts";
import { CloseButton, Dialog } from "./Dialog.tsx";

export function SettingsDialog(): ReactElement {
  const w = useWords();
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
    <Dialog title={w.settings} onClose={ui.closeDialog} actions={<CloseButton />}>
      <div className="rows">
        {choose("language", w.language, [
          ["en", "English"],
          ["ko", "한국어"],
        ])}
        {choose("theme", w.theme, [
          ["system", w.themes.system],
          ["light", w.themes.light],
          ["dark", w.themes.dark],
          ["contrast", w.themes.contrast],
        ])}
        {choose("wheel", w.wheel, [
          ["zoom", w.wheels.zoom],
          ["pan", w.wheels.pan],
        ])}
        {flag("spotlight", w.spotlight)}
        {flag("minimap", w.miniMap)}
        {flag("rerun", w.rerun)}
      </div>
    </Dialog>
  );
}
