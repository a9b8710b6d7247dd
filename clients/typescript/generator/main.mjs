// Makes src/generated from ../documents, and sets the package's version: `make clients-generate`.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { errorsModule } from "./errors.mjs";
import { managementModule, sentBodies } from "./management.mjs";
import { methodsModule, sentSchemas } from "./methods.mjs";
import { numberNames, reached, typesModule } from "./types.mjs";

const HERE = fileURLToPath(new URL("..", import.meta.url));
const read = async (name) => JSON.parse(await readFile(join(HERE, "../documents", name), "utf8"));
const [rpc, http, errors] = await Promise.all(
  ["openrpc.json", "openapi.json", "errors.json"].map(read),
);
const service = await readFile(join(HERE, "../../platform/config/version.py"), "utf8");
const version = /VERSION = "(.+)"/.exec(service)[1];

const schemas = { ...rpc.components.schemas, ...http.components.schemas };
const numbers = numberNames(schemas);
const asked = reached(schemas, [sentSchemas(rpc), sentBodies(http)]);
const written = {
  "types.ts": await typesModule(schemas, asked, numbers),
  "methods.ts": methodsModule(rpc, http),
  "management.ts": managementModule(http),
  "errors.ts": errorsModule(errors),
  "facts.ts":
    `// Generated: the version, and the members that are numbers where all others are integers.\n` +
    `export const VERSION = "${version}";\n\n` +
    `export const NUMBERS: ReadonlySet<string> = new Set(${JSON.stringify(numbers, null, 2)});\n`,
};
const folder = join(HERE, "src/generated");
await mkdir(folder, { recursive: true });
for (const [name, text] of Object.entries(written)) await writeFile(join(folder, name), text);
for (const name of ["package.json", "package-lock.json"]) {
  const described = JSON.parse(await readFile(join(HERE, name), "utf8"));
  described.version = version;
  if (described.packages) described.packages[""].version = version;
  await writeFile(join(HERE, name), `${JSON.stringify(described, null, 2)}\n`);
}
