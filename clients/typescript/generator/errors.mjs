// The classes of errors, by their reasons.
import { comment, pascal } from "./text.mjs";

export function errorsModule(errors) {
  const classes = errors.map(
    ({ reason, meaning, advice }) =>
      `${comment("", meaning, advice)}export class ${pascal(reason)} extends TidemarkError {}\n`,
  );
  const entries = errors.map(({ reason }) => `  ${reason}: ${pascal(reason)},\n`).join("");
  return [
    "// Generated: a class for each reason of the service's errors.\n" +
      'import { TidemarkError } from "../failures.js";\n',
    ...classes,
    `export const BY_REASON: Readonly<Record<string, typeof TidemarkError>> = {\n${entries}};\n`,
  ].join("\n");
}
