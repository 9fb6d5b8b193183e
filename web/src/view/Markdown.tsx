import DOMPurify from "dompurify";
import { Marked } from "marked";
import { type ReactElement, useMemo } from "react";
import { escapeXml } from "./canvas/draw-context.ts";

const markdown = new Marked({ gfm: true, renderer: { html: ({ text }) => escapeXml(text) } });

/** Rendered Markdown. HTML in it is shown as text. */
export function Markdown({ text }: { text: string }): ReactElement {
  return <Markup className="markdown" html={markdown.parse(text, { async: false })} />;
}

/** Sanitized HTML, without scripts, styles and images. */
export function Markup({ html, className }: { html: string; className: string }): ReactElement {
  const safe = useMemo(
    () =>
      DOMPurify.sanitize(html, { FORBID_TAGS: ["style", "img", "form", "input"], FORBID_ATTR: ["style"] }),
    [html],
  );
  // biome-ignore lint/security/noDangerouslySetInnerHtml: it has been through DOMPurify.
  return <div className={className} dangerouslySetInnerHTML={{ __html: safe }} />;
}
