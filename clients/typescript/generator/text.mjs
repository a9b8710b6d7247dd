// How generated text is written.

/** A comment of TypeScript for these sentences. */
export function comment(indent, ...sentences) {
  const width = 97 - indent.length;
  const lines = [];
  for (const word of sentences.filter(Boolean).map(ended).join(" ").split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] += ` ${word}`;
    else lines.push(word);
  }
  const text = lines.join(`\n${indent} * `).replaceAll("*/", "* /");
  return `${indent}/** ${text} */\n`;
}

/** `archive_gap` or `ttl-classes` → `ArchiveGap`, `TtlClasses`. */
export const pascal = (name) =>
  name.split(/[_-]/).map((each) => each.charAt(0).toUpperCase() + each.slice(1)).join("");

export const camel = (name) => name.charAt(0).toLowerCase() + pascal(name).slice(1);

const ended = (sentence) => (/[.!?:]$/.test(sentence) ? sentence : `${sentence}.`);
