/** Pages embedded in files: a PNG has an iTXt chunk, an SVG metadata, an HTML file a data script. */

const KEYWORD = "backblocks page";
const SIGNATURE = [137, 80, 78, 71, 13, 10, 26, 10];

const TABLE = Uint32Array.from({ length: 256 }, (_, i) => {
  let c = i;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

function crc(bytes: Uint8Array): number {
  let c = 0xffffffff;
  for (const byte of bytes) c = (TABLE[(c ^ byte) & 255] as number) ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

/** Embeds a page in a PNG. */
export function embedInPng(png: Uint8Array, page: string): Uint8Array<ArrayBuffer> {
  // Keyword, end, not compressed, no language, no translated keyword, text.
  const body = new TextEncoder().encode(`iTXt${KEYWORD}\0\0\0\0\0${page}`);
  const chunk = new Uint8Array(body.length + 8);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, body.length - 4);
  chunk.set(body, 4);
  view.setUint32(body.length + 4, crc(body));
  const end = png.length - 12;
  const out = new Uint8Array(png.length + chunk.length);
  out.set(png.subarray(0, end));
  out.set(chunk, end);
  out.set(png.subarray(end), end + chunk.length);
  return out;
}

/** The text of the page in a PNG, or null if it has none. */
export function pageInPng(png: Uint8Array): string | null {
  if (SIGNATURE.some((byte, i) => png[i] !== byte)) return null;
  const view = new DataView(png.buffer, png.byteOffset, png.byteLength);
  for (let at = 8; at + 12 <= png.length; ) {
    const length = view.getUint32(at);
    if (at + 12 + length > png.length) return null;
    const text = new TextDecoder("latin1").decode(png.subarray(at + 4, at + 8 + KEYWORD.length));
    if (text === `iTXt${KEYWORD}`) {
      return new TextDecoder().decode(png.subarray(at + 8 + KEYWORD.length + 5, at + 8 + length));
    }
    at += 12 + length;
  }
  return null;
}

/** The text of the page in an SVG, or null. It is not parsed as XML, which would apply the styles of a foreign file. */
export function pageInSvg(svg: string): string | null {
  const found = /<metadata id="backblocks-page">([^<]*)<\/metadata>/.exec(svg)?.[1];
  return found?.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code))) ?? null;
}

/** The text of the page in an HTML file, or null. */
export function pageInHtml(html: string): string | null {
  return /<script type="application\/json" id="backblocks-page">([^<]*)<\/script>/.exec(html)?.[1] ?? null;
}
